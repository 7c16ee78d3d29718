/** Says that writing needs a key, and takes one. */

import { useState } from "preact/hooks";
import { Field } from "../parts/field.tsx";
import { connection } from "../shell/connection.ts";
import { hrefOf } from "../shell/router.ts";
import { addKey, credentialsOf, isKeyRefused } from "../shell/session.ts";

export function NeedKey({ why }: { why: string }) {
  const [text, setText] = useState("");
  const [fault, setFault] = useState<string>();
  const { admin } = connection.value;

  function take(event: SubmitEvent): void {
    event.preventDefault();
    const { key } = credentialsOf(text);
    if (key === undefined) return setFault("An API key begins with dbk_");
    setText("");
    addKey(key);
  }

  return (
    <section class="card" aria-label="API key">
      <h2>Writing needs an API key</h2>
      <p>{why}</p>
      {isKeyRefused.value && (
        <p class="note danger" role="alert">
          The server does not accept the key. It may have expired or been revoked.
        </p>
      )}
      <form class="row" onSubmit={take}>
        <Field
          label="API key with the scope write"
          name="key"
          type="password"
          value={text}
          fault={fault}
          onInput={(value) => setText(value)}
        />
        <button type="submit" class="primary">Use this key</button>
      </form>
      <p>
        It is kept in this tab only. The first keys are in <code>credentials.json</code>{" "}
        in the data folder of the server. {admin === undefined
          ? "Or ask an operator for one."
          : <a href={hrefOf(["instances"])}>Create a key</a>}
      </p>
    </section>
  );
}
