/**
 * Pins a key that comes from elsewhere: the one to trust, so the server is not asked for it. And
 * removes a pin.
 */

import { useState } from "preact/hooks";
import { Field } from "../parts/field.tsx";
import { StatusChip } from "../parts/status_chip.tsx";
import { TimeText } from "../parts/time_text.tsx";
import { pinKey, unpinKey } from "../shell/pinned_keys.ts";
import { type PinScope, publicKeyIn } from "../shell/pins.ts";
import { isTrustworthyKey } from "./evidence.ts";

export function PinForm({ scope }: { scope: PinScope }) {
  const [text, setText] = useState("");
  const [fault, setFault] = useState<string>();

  function pin(event: SubmitEvent): void {
    event.preventDefault();
    const key = publicKeyIn(text);
    if (key === undefined) {
      return setFault("A public key is 64 hex characters: 0 to 9 and a to f");
    }
    if (!isTrustworthyKey(key)) {
      return setFault("It is no point of the curve, or anybody can sign for it");
    }
    pinKey(scope, key);
    setFault(undefined);
    setText("");
  }

  return (
    <form class="row" aria-label="Pin a key" onSubmit={pin}>
      <Field
        label="A key that you have from elsewhere"
        hint="As the operator publishes it elsewhere, such as on their website or in your contract"
        value={text}
        fault={fault}
        onInput={setText}
      />
      <button type="submit">Pin it</button>
    </form>
  );
}

/** What pinning is, and whose word to take for a key. */
export function WhatPinningIs() {
  return (
    <p>
      To pin a key is to have this browser remember it, so that it takes nothing for proven that
      another key has signed. Take the key from somewhere else than this server, for a server that
      lies shows a key of its own: the operator publishes it on their website, or it is in your
      contract.
    </p>
  );
}

/** When a key was pinned, and whether only the server itself stands for it. */
export function PinnedAt({ at, isFromServer }: { at: string; isFromServer: boolean }) {
  return (
    <>
      <TimeText at={at} />
      {isFromServer && (
        <>
          {" "}
          <StatusChip state="from this server" tone="warning" />
        </>
      )}
    </>
  );
}

export interface UnpinProps {
  readonly scope: PinScope;
  readonly publicKey: string;
}

export function Unpin({ scope, publicKey }: UnpinProps) {
  return (
    <button
      type="button"
      class="small"
      aria-label={`Remove the pin of ${publicKey.slice(0, 8)}`}
      onClick={() => unpinKey(scope, publicKey)}
    >
      Remove the pin
    </button>
  );
}
