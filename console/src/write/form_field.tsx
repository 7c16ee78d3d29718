/** The inputs of a form, made from a schema, one for each part of the data. */

import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import {
  type Draft,
  type Fault,
  faultsAt,
  faultsWithin,
  fieldOf,
  hasFaultWithin,
  itemOf,
  type Part,
} from "./form_draft.ts";
import { type Shape, shapeOf } from "./form_schema.ts";

export interface FormFieldProps {
  readonly label: string;
  readonly part: Part;
  readonly draft: Draft;
  readonly faults: readonly Fault[];
  readonly onChange: (draft: Draft) => void;
  /** What stands behind the label, such as a button that removes it. */
  readonly after?: ComponentChildren;
}

type Of<Kind> = FormFieldProps & { readonly shape: Shape & { kind: Kind } };

/** An object opens by itself if it must be there and is short; the others on demand. */
const OPEN_FIELDS_MAX = 20;
const OPEN_DEPTH = 4;
const ITEMS_MAX = 200;
const TEXT_ROWS_MAX = 12;

export function FormField(props: FormFieldProps) {
  const { part } = props;
  const shape = shapeOf(part.root, part.schema, part.depth);
  switch (shape.kind) {
    case "object":
      return <ObjectField {...props} shape={shape} />;
    case "list":
      return <ListField {...props} shape={shape} />;
    default:
      return <InputField {...props} shape={shape} />;
  }
}

function ObjectField(props: Of<"object">) {
  const { part, shape, faults, label } = props;
  const isShort = part.isRequired && part.depth < OPEN_DEPTH &&
    shape.fields.length <= OPEN_FIELDS_MAX;
  const [isOpen, setOpen] = useState(isShort || props.draft !== undefined);
  const isShown = isOpen || hasFaultWithin(faults, part.path);
  const fields = <Fields {...props} />;
  return (
    <Frame {...props}>
      {props.draft !== null && (isShown
        ? fields
        : (
          <button type="button" class="small" onClick={() => setOpen(true)}>Fill in {label}</button>
        ))}
    </Frame>
  );
}

interface FrameProps extends FormFieldProps {
  readonly shape: Shape;
  readonly children: ComponentChildren;
}

/** Around what has parts of its own: its name, what it is, what is wrong with it, and its parts. */
function Frame({ children, ...props }: FrameProps) {
  const { label, part, shape, faults, after } = props;
  return (
    <fieldset class="part">
      <legend>
        <bdi>{label}</bdi> {after}
      </legend>
      <About part={part} shape={shape} fault={faultsAt(faults, part.path)} />
      <NullChoice {...props} />
      {children}
    </fieldset>
  );
}

function Fields({ part, shape, draft, faults, onChange }: Of<"object">) {
  const drafts = draft instanceof Map ? draft as ReadonlyMap<string, Draft> : new Map();
  return (
    <>
      {shape.fields.map((field) => (
        <FormField
          key={field.name}
          label={field.name}
          part={fieldOf(part, field)}
          draft={drafts.get(field.name)}
          faults={faults}
          onChange={(inner) => onChange(new Map(drafts).set(field.name, inner))}
        />
      ))}
    </>
  );
}

function ListField(props: Of<"list">) {
  const { label, part, shape, draft, faults, onChange } = props;
  const items = Array.isArray(draft) ? draft as readonly Draft[] : [];
  const one = `${label} ${items.length + 1}`;
  return (
    <Frame {...props}>
      {items.map((item, index) => (
        <FormField
          key={index}
          label={`${label} ${index + 1}`}
          part={itemOf(part, shape.item, index)}
          draft={item}
          faults={faults}
          onChange={(inner) => onChange(items.with(index, inner))}
          after={
            <button
              type="button"
              class="small"
              onClick={() => onChange(items.toSpliced(index, 1))}
            >
              Remove {label} {index + 1}
            </button>
          }
        />
      ))}
      {draft !== null && items.length < ITEMS_MAX && (
        <button
          type="button"
          class="small"
          onClick={() => onChange([...items, undefined])}
        >
          Add {one}
        </button>
      )}
    </Frame>
  );
}

function InputField(props: FormFieldProps & { readonly shape: Shape }) {
  const { label, part, shape, draft, faults, after } = props;
  const id = useId();
  const fault = shape.kind === "json"
    ? faultsWithin(faults, part.path)
    : faultsAt(faults, part.path);
  return (
    <div class="field">
      <span class="label">
        <label for={id}>
          <bdi>{label}</bdi>
        </label>{" "}
        {after}
      </span>
      {draft !== null && <Input {...props} id={id} fault={fault} />}
      <NullChoice {...props} />
      <About part={part} shape={shape} fault={fault} id={id} />
    </div>
  );
}

interface InputProps extends FormFieldProps {
  readonly shape: Shape;
  readonly id: string;
  readonly fault: string | undefined;
}

function Input({ id, part, shape, draft, fault, onChange }: InputProps) {
  const text = typeof draft === "string" ? draft : "";
  const shared = {
    id,
    value: text,
    "data-path": part.path,
    "aria-invalid": fault !== undefined,
    "aria-required": part.isRequired,
    "aria-describedby": `${id}-about`,
  };
  const options = optionsOf(shape);
  if (options !== undefined) {
    const only = part.isRequired && options.length === 1;
    return (
      <select
        {...shared}
        value={only && draft === undefined ? "0" : text}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {!only && <option value="">left out</option>}
        {options.map(([value, shown]) => <option key={value} value={value}>{shown}</option>)}
      </select>
    );
  }
  if (shape.kind === "number") {
    return (
      <input
        {...shared}
        inputMode="decimal"
        autocomplete="off"
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  // An input of one line would take the ends of lines out of a text.
  return (
    <textarea
      {...shared}
      class={shape.kind === "json" ? "mono" : undefined}
      rows={shape.kind === "json" ? 4 : Math.min(text.split("\n").length, TEXT_ROWS_MAX)}
      spellcheck={false}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}

function optionsOf(shape: Shape): (readonly [value: string, shown: string])[] | undefined {
  if (shape.kind === "boolean") return [["true", "true"], ["false", "false"]];
  if (shape.kind !== "choice") return undefined;
  return shape.options.map((option, index) => [
    String(index),
    typeof option === "string" ? option : JSON.stringify(option),
  ]);
}

function NullChoice({ shape, draft, label, onChange }: FormFieldProps & { readonly shape: Shape }) {
  if (!shape.isNullable) return null;
  return (
    <label class="null">
      <input
        type="checkbox"
        checked={draft === null}
        onChange={(event) => onChange(event.currentTarget.checked ? null : undefined)}
      />{" "}
      <bdi>{label}</bdi> is null
    </label>
  );
}

interface AboutProps {
  readonly part: Part;
  readonly shape: Shape;
  readonly fault: string | undefined;
  readonly id?: string;
}

/** What is to be entered, and what is wrong with what was. */
function About({ part, shape, fault, id }: AboutProps) {
  const words = [
    part.isRequired && part.depth > 0 ? "required" : "",
    shape.kind === "json" ? "as JSON" : "",
    shape.rules,
    shape.description,
  ];
  const text = words.filter(Boolean).join(" · ");
  return (
    <div id={id && `${id}-about`}>
      {text !== "" && <span class="hint">{text}</span>}
      {fault !== undefined && <span class="fault">{fault}</span>}
    </div>
  );
}
