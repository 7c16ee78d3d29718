/** Creates an API key, whose text is shown once. */

import { useState } from "preact/hooks";
import type { Refusal } from "@daybook/client";
import type { ApiKey, Environment, IssuedKey } from "@daybook/client/admin";
import { CopyButton } from "../parts/copy_button.tsx";
import { Choice, Field } from "../parts/field.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { about, connection } from "../shell/connection.ts";
import { addKey, credentials } from "../shell/session.ts";

export interface NewKeyProps {
  readonly environment: Environment;
  readonly onIssued: (key: IssuedKey) => void;
}

export function NewKey({ environment, onIssued }: NewKeyProps) {
  const { admin } = connection.value;
  const [name, setName] = useState("");
  const [scope, setScope] = useState<ApiKey["scope"]>("read");
  const [refusal, setRefusal] = useState<Refusal>();
  const [isBusy, setBusy] = useState(false);

  async function create(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    if (isBusy) return;
    setBusy(true);
    const answer = await admin!.keys.issue({ name: name.trim(), scope }, { environment });
    setBusy(false);
    if (!answer.ok) return setRefusal(answer as Refusal);
    setRefusal(undefined);
    setName("");
    onIssued(answer);
  }

  return (
    <form class="card" aria-label="New API key" onSubmit={create}>
      <div class="row">
        <Field
          label="Name of the new key"
          value={name}
          required
          fault={refusal?.path === "name" ? refusal.error : undefined}
          placeholder="such as ci"
          onInput={(text) => setName(text)}
        />
        <Choice
          label="It may"
          value={scope}
          options={[["read", "read"], ["write", "read and write"]]}
          onChange={(value) => setScope(value as ApiKey["scope"])}
        />
        <button type="submit" aria-disabled={isBusy}>Create a key for {environment}</button>
      </div>
      {refusal !== undefined && <RefusalNote refusal={refusal} />}
    </form>
  );
}

interface IssuedNoteProps {
  readonly issued: IssuedKey;
  readonly onForget: () => void;
}

export function IssuedNote({ issued, onForget }: IssuedNoteProps) {
  const { name, key, scope, environment } = issued;
  const isUsable = scope === "write" && environment === about.value?.environment;
  return (
    <div class="note good" role="status">
      <p>
        The key <bdi>{name}</bdi>{" "}
        is shown only now, and stored nowhere. Copy it to where it is needed.
      </p>
      <p>
        <code class="wrap">{key}</code>
      </p>
      <div class="row">
        <CopyButton label="Copy the key" text={key} />
        {isUsable && (credentials.value.key === key
          ? <span>This tab writes with it.</span>
          : (
            <button type="button" class="small" onClick={() => addKey(key)}>
              Write with it in this tab
            </button>
          ))}
        <button type="button" class="small" onClick={onForget}>I have it</button>
      </div>
    </div>
  );
}
