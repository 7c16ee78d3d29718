/** The keys that sign for the instance, and those that this browser trusts. */

import { CopyButton } from "../parts/copy_button.tsx";
import { DataTable } from "../parts/data_table.tsx";
import { ShortText } from "../parts/short_text.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { pinKey, pinnedKeys } from "../shell/pinned_keys.ts";
import type { PinScope } from "../shell/pins.ts";
import { isTrustworthyKey } from "./evidence.ts";
import { type KeyRow, keyRows, type SigningKeys } from "./key_rows.ts";
import { PinForm, Unpin } from "./pin_form.tsx";

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
      <Advice signing={signing} pinned={pins.map(({ public_key }) => public_key)} />
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
            cell: ({ pinned_at }) => pinned_at ? <TimeText at={pinned_at} /> : "not pinned",
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
      onClick={() => pinKey(scope, publicKey)}
    >
      Pin
    </button>
  );
}

function Advice({ signing, pinned }: { signing: SigningKeys; pinned: readonly string[] }) {
  if (pinned.includes(signing.public_key)) {
    return <p class="note good">The key that signs now is pinned in this browser.</p>;
  }
  if (pinned.length === 0) {
    return (
      <p>
        Compare the key with one that you have from elsewhere. Once a key is pinned, this browser
        accepts no evidence that a key without a pin has signed.
      </p>
    );
  }
  return (
    <p class="note danger" role="alert">
      The server signs with another key than the pinned ones. The instance may have a new key, or
      this is not the server that you think it is. Ask its operator before you pin the new one.
    </p>
  );
}
