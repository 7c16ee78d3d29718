/** The keys that sign for the instance, and those that this browser trusts. */

import { CopyButton } from "../parts/copy_button.tsx";
import { DataTable } from "../parts/data_table.tsx";
import { ShortText } from "../parts/short_text.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { pinKey, pinnedKeys } from "../shell/pinned_keys.ts";
import type { Pin, PinScope } from "../shell/pins.ts";
import { isTrustworthyKey } from "./evidence.ts";
import { type KeyRow, keyRows, type SigningKeys } from "./key_rows.ts";
import { PinForm, PinnedAt, Unpin, WhatPinningIs } from "./pin_form.tsx";

export interface SigningKeyViewProps {
  /** What the server says. */
  readonly signing: SigningKeys;
  readonly scope: PinScope;
}

export function SigningKeyView({ signing, scope }: SigningKeyViewProps) {
  const pins = pinnedKeys(scope);
  const rows = keyRows(signing, pins);
  return (
    <section class="card" aria-label="Signing keys">
      <h2>Signing keys</h2>
      <p class="quiet">
        Of the instance <code class="wrap">{scope.instanceId}</code>, environment{" "}
        {scope.environment}. A pinned key vouches for nothing else. Pins stay in this browser after
        you sign out.
      </p>
      <WhatPinningIs />
      <Advice signing={signing} pins={pins} />
      <DataTable<KeyRow>
        caption="Keys"
        rows={rows}
        keyOf={({ public_key }) => public_key}
        columns={[
          {
            title: "Key",
            cell: ({ public_key }) => <ShortText text={public_key} what="the key" />,
          },
          { title: "Signs", cell: ({ signs }) => signs },
          { title: "Made", cell: ({ created_at }) => created_at && <TimeText at={created_at} /> },
          {
            title: "Pinned",
            cell: ({ pinned_at, isFromServer = false }) =>
              pinned_at ? <PinnedAt at={pinned_at} isFromServer={isFromServer} /> : "not pinned",
          },
          { title: "", cell: (row) => <Actions row={row} scope={scope} /> },
        ]}
      />
      <PinForm scope={scope} />
    </section>
  );
}

function Actions({ row: { public_key, pinned_at }, scope }: { row: KeyRow; scope: PinScope }) {
  return (
    <>
      {pinned_at === undefined
        ? <PinButton scope={scope} publicKey={public_key} />
        : <Unpin scope={scope} publicKey={public_key} />} <CopyButton text={public_key} />
    </>
  );
}

function PinButton({ scope, publicKey }: { scope: PinScope; publicKey: string }) {
  if (!isTrustworthyKey(publicKey)) return <>Anybody can sign for it</>;
  return (
    <button
      type="button"
      class="small"
      aria-label={`Pin the key ${publicKey.slice(0, 8)}`}
      onClick={() => pinKey(scope, publicKey, "server")}
    >
      Pin
    </button>
  );
}

function Advice({ signing, pins }: { signing: SigningKeys; pins: readonly Pin[] }) {
  const pin = pins.find(({ public_key }) => public_key === signing.public_key);
  if (pin?.from === "server") {
    return (
      <p class="note warning">
        The key that signs now is pinned in this browser, but it came from this very server. So it
        shows that the server has kept its key since then, not that the key is the operator's.
        Compare it with one from elsewhere, and type or paste that one below.
      </p>
    );
  }
  if (pin !== undefined) {
    return <p class="note good">The key that signs now is pinned in this browser.</p>;
  }
  if (pins.length === 0) return null;
  return (
    <p class="note danger" role="alert">
      The server signs with another key than the pinned ones. The instance may have a new key, or
      this is not the server that you think it is. Ask its operator before you pin the new one.
    </p>
  );
}
