/** One labelled input, with a hint and the fault of its value. */

import { useId } from "preact/hooks";

export interface FieldProps {
  readonly label: string;
  readonly name?: string;
  readonly type?: "text" | "password" | "email" | "number" | "search" | "datetime-local";
  readonly value?: string | number;
  readonly hint?: string;
  readonly fault?: string;
  readonly required?: boolean;
  readonly disabled?: boolean;
  readonly autocomplete?: string;
  readonly placeholder?: string;
  readonly onInput?: (value: string) => void;
}

export function Field(props: FieldProps) {
  const { label, hint, fault, onInput, type = "text", autocomplete = "off", ...rest } = props;
  const id = useId();
  const told = [hint && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        {...rest}
        id={id}
        // The types of the library do not allow a type that is chosen at run time.
        type={type as "text"}
        autocomplete={autocomplete}
        spellcheck={false}
        aria-invalid={fault !== undefined}
        aria-describedby={told || undefined}
        onInput={onInput && ((event) => onInput(event.currentTarget.value))}
      />
      {hint && <span class="hint" id={`${id}-hint`}>{hint}</span>}
      {fault && <span class="fault" id={`${id}-fault`}>{fault}</span>}
    </div>
  );
}

export interface ChoiceProps {
  readonly label: string;
  readonly name?: string;
  readonly value: string;
  /** Values with what is shown for them. */
  readonly options: readonly (readonly [value: string, shown: string])[];
  readonly onChange: (value: string) => void;
}

/** One of several values, in the browser's own list. */
export function Choice({ label, options, value, name, onChange }: ChoiceProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        name={name}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map(([value, shown]) => <option key={value} value={value}>{shown}</option>)}
      </select>
    </div>
  );
}
