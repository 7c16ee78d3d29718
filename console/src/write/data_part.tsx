/** The data of the event: as a form, or all of it as JSON. */

import { useId, useState } from "preact/hooks";
import type { Entry } from "./entry.ts";
import { draftOf, type Fault, faultsWithin, type Part, readDraft, readJson } from "./form_draft.ts";
import { FormField } from "./form_field.tsx";

const JSON_ROWS = 12;

export interface DataPartProps {
  readonly entry: Entry;
  readonly part: Part;
  readonly faults: readonly Fault[];
  readonly onChange: (some: Partial<Entry>) => void;
}

export function DataPart({ entry, part, faults, onChange }: DataPartProps) {
  const [note, setNote] = useState<string>();

  function turnOver(): void {
    const turned = entry.isJson ? asForm(part, entry.json) : asJson(part, entry);
    if (typeof turned === "string") return setNote(turned);
    setNote(undefined);
    onChange(turned);
  }

  return (
    <>
      {entry.isJson ? <JsonField entry={entry} faults={faults} onChange={onChange} /> : (
        <FormField
          label="Data"
          part={part}
          draft={entry.draft}
          faults={faults}
          onChange={(draft) => onChange({ draft })}
        />
      )}
      <div class="row">
        <button type="button" class="small" onClick={turnOver}>
          {entry.isJson ? "Fill in as a form" : "Fill in as JSON"}
        </button>
        {note !== undefined && <span class="fault" role="alert">{note}</span>}
      </div>
    </>
  );
}

function asJson(part: Part, { draft }: Entry): Partial<Entry> | string {
  const faults: Fault[] = [];
  const data = readDraft(part, draft, faults) ?? {};
  if (faults.length > 0) return `First correct ${faults[0]!.path}: it ${faults[0]!.message}`;
  return { isJson: true, json: JSON.stringify(data, null, 2) };
}

function asForm(part: Part, json: string): Partial<Entry> | string {
  const faults: Fault[] = [];
  const data = readJson(part.path, json, faults);
  if (faults.length > 0) return `It ${faults[0]!.message}`;
  const found = draftOf(part, data);
  if (found === undefined) return "The form has no place for all of it, so it stays as JSON.";
  return { isJson: false, draft: found.draft };
}

function JsonField({ entry, faults, onChange }: Omit<DataPartProps, "part">) {
  const id = useId();
  const fault = faultsWithin(faults, "data");
  return (
    <div class="field">
      <label for={id}>Data as JSON</label>
      <textarea
        id={id}
        class="mono"
        rows={JSON_ROWS}
        spellcheck={false}
        value={entry.json}
        aria-invalid={fault !== undefined}
        aria-describedby={fault && `${id}-fault`}
        onInput={(event) => onChange({ json: event.currentTarget.value })}
      />
      {fault && <span class="fault" id={`${id}-fault`}>{fault}</span>}
    </div>
  );
}
