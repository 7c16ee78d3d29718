/**
 * Pins a key that comes from elsewhere: the one to trust, so the server is not asked for it. And
 * removes a pin.
 */

import { useState } from "preact/hooks";
import { Field } from "../parts/field.tsx";
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
        value={text}
        fault={fault}
        onInput={setText}
      />
      <button type="submit">Pin it</button>
    </form>
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
