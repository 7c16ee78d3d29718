/** Who writes the event, about whom, at which length, and under which key. */

import { Choice, Field } from "../parts/field.tsx";
import type { Entry } from "./entry.ts";
import { type Fault, faultsAt } from "./form_draft.ts";
import type { WriteForms } from "./write_forms.ts";

export interface MetadataPartProps {
  readonly entry: Entry;
  readonly forms: WriteForms;
  readonly faults: readonly Fault[];
  readonly onChange: (some: Partial<Entry>) => void;
}

export function MetadataPart(props: MetadataPartProps) {
  const { entry, forms, faults, onChange } = props;
  return (
    <>
      <fieldset class="part">
        <legend>Who writes it</legend>
        <div class="row">
          <Choice
            label="Actor"
            value={entry.actorType}
            options={forms.actorTypes.map((name) => [name, name])}
            onChange={(actorType) => onChange({ actorType })}
          />
          <Field
            label="Id of the actor"
            value={entry.actorId}
            fault={faultsAt(faults, "metadata.actor.id") ?? faultsAt(faults, "metadata.actor")}
            hint="A UUID, a code of nine letters and digits, or a singleton such as global"
            onInput={(actorId) => onChange({ actorId })}
          />
        </div>
        {forms.targetTypes.length > 0 && <Target {...props} />}
      </fieldset>
      <fieldset class="part">
        <legend>Written once, and at this length</legend>
        <Field
          label="Expected length"
          value={entry.expected}
          fault={faultsAt(faults, "metadata.previous_length")}
          hint="Written only if the stream has exactly so many events. Empty: at any length."
          onInput={(expected) => onChange({ expected })}
        />
        <div class="row">
          <Field
            label="Idempotency key"
            value={entry.key}
            fault={faultsAt(faults, "idempotency_key")}
            hint="Pressing again with the same key writes nothing a second time, for 24 hours."
            onInput={(key) => onChange({ key })}
          />
          <button type="button" onClick={() => onChange({ key: crypto.randomUUID() })}>
            New key
          </button>
        </div>
      </fieldset>
    </>
  );
}

function Target({ entry, forms, faults, onChange }: MetadataPartProps) {
  return (
    <div class="row">
      <Choice
        label="Target"
        value={entry.targetType}
        options={[["", "none"], ...forms.targetTypes.map((name) => [name, name] as const)]}
        onChange={(targetType) => onChange({ targetType })}
      />
      {entry.targetType !== "" && (
        <Field
          label="Id of the target"
          value={entry.targetId}
          fault={faultsAt(faults, "metadata.target.id") ?? faultsAt(faults, "metadata.target")}
          onInput={(targetId) => onChange({ targetId })}
        />
      )}
    </div>
  );
}
