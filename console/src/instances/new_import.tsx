/** Imports a file of events. Repeated under its name, an import skips what is stored. */

import { useState } from "preact/hooks";
import type { Refusal } from "@daybook/client";
import type { Environment, ImportAnswer } from "@daybook/client/admin";
import { Confirm } from "../parts/confirm.tsx";
import { Field } from "../parts/field.tsx";
import { RefusalNote } from "../parts/refusal_note.tsx";
import { connection } from "../shell/connection.ts";
import { number } from "./usage_meter.tsx";

/** A file may be of any length. */
const IMPORT_MS_MAX = 86_400_000;
/** The table shows the import once its first events are stored. */
const FIRST_LOOK_MS = 1_000;

export interface NewImportProps {
  readonly environment: Environment;
  /** An import has begun or ended. */
  readonly onChange: () => void;
}

interface Chosen {
  readonly file: File;
  readonly name: string;
}

interface Outcome {
  readonly done?: ImportAnswer;
  readonly refusal?: Refusal & { readonly line?: number };
}

export function NewImport({ environment, onChange }: NewImportProps) {
  const { admin } = connection.value;
  const [chosen, setChosen] = useState<Chosen>();
  const [isAsking, setAsking] = useState(false);
  const [isRunning, setRunning] = useState(false);
  const [{ done, refusal }, setOutcome] = useState<Outcome>({});

  async function run({ file, name }: Chosen): Promise<void> {
    setRunning(true);
    setOutcome({});
    const look = setTimeout(onChange, FIRST_LOOK_MS);
    const answer = await admin!.imports.lines(file, {
      environment,
      import_id: name.trim(),
      timeoutMs: IMPORT_MS_MAX,
    });
    clearTimeout(look);
    setRunning(false);
    setOutcome(answer.ok ? { done: answer } : { refusal: answer as Refusal });
    onChange();
  }

  return (
    <details>
      <summary>Import a file</summary>
      <form
        class="card"
        aria-label="Import a file"
        onSubmit={(event) => {
          event.preventDefault();
          if (chosen !== undefined && !isRunning) setAsking(true);
        }}
      >
        <FileField onChoose={(file) => setChosen({ file, name: nameOf(file) })} />
        <Field
          label="Name of the import"
          value={chosen?.name ?? ""}
          hint="Send the same file under the same name again, and what is stored is skipped"
          onInput={(name) => setChosen(chosen && { ...chosen, name })}
        />
        <button type="submit" disabled={chosen === undefined || isRunning}>
          {isRunning ? "Importing" : `Import into ${environment}`}
        </button>
      </form>
      {done !== undefined && (
        <p class="note good" role="status">{number(done.written)} events were stored.</p>
      )}
      {refusal?.line !== undefined && <p>Line {number(refusal.line)} of the file was refused:</p>}
      {refusal !== undefined && <RefusalNote refusal={refusal} />}
      {isAsking && chosen !== undefined && (
        <Confirm
          title={`Import into ${environment}?`}
          verb="Import"
          environment={environment}
          onConfirm={() => {
            void run(chosen);
            return Promise.resolve({ ok: true });
          }}
          onClose={() => setAsking(false)}
        >
          <p>
            The events of <bdi>{chosen.file.name}</bdi> ({number(chosen.file.size)}{" "}
            bytes) are stored with their own times, and cannot be removed one by one. Keep this page
            open until it is done.
          </p>
        </Confirm>
      )}
    </details>
  );
}

function FileField({ onChoose }: { onChoose: (file: File) => void }) {
  return (
    <div class="field">
      <label>
        File with one event on each line (JSON Lines){" "}
        <input
          type="file"
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            if (file !== undefined) onChoose(file);
          }}
        />
      </label>
    </div>
  );
}

/** A name as the server takes it, from that of the file. */
function nameOf({ name }: File): string {
  return name.replaceAll(/[^A-Za-z0-9._:-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "").slice(0, 100);
}
