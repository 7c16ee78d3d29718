/** What somebody has typed into a form, and the data that it means. */

import { findNumberFault } from "../../../src/domain/json.ts";
import { type Shape, shapeOf } from "./form_schema.ts";

/**
 * The draft of one part: the text of an input (of a choice, the number of the option), null, the
 * drafts of a list or of the fields of an object. Undefined: nothing has been entered.
 */
export type Draft = undefined | null | string | readonly Draft[] | ReadonlyMap<string, Draft>;

export interface Fault {
  /** Such as `data.lines.0.sku`. */
  readonly path: string;
  readonly message: string;
}

/** One part of a form. */
export interface Part {
  /** The document in which references of schemas are looked up. */
  readonly root: unknown;
  readonly schema: unknown;
  readonly path: string;
  readonly isRequired: boolean;
  readonly depth: number;
}

const NUMBER = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[+-]?[0-9]+)?$/i;

const UNTOUCHED_DEPTH_MAX = 3;
const UNTOUCHED_FIELDS_MAX = 20;

export function fieldOf(
  part: Part,
  { name, schema, isRequired }: { name: string; schema: unknown; isRequired: boolean },
): Part {
  const path = `${part.path}.${name}`;
  return { root: part.root, schema, isRequired, path, depth: part.depth + 1 };
}

export function itemOf(part: Part, schema: unknown, index: number): Part {
  const path = `${part.path}.${index}`;
  return { root: part.root, schema, isRequired: true, path, depth: part.depth + 1 };
}

/**
 * The data that a draft means. Undefined if it is left out. Adds to `faults` what is no data at
 * all; whether the data fits its schema is for the server to judge.
 */
export function readDraft(part: Part, draft: Draft, faults: Fault[]): unknown {
  if (draft === null) return null;
  const shape = shapeOf(part.root, part.schema, part.depth);
  switch (shape.kind) {
    case "object":
      return readObject(part, shape, draft, faults);
    case "list": {
      const items = Array.isArray(draft) ? draft as readonly Draft[] : [];
      if (items.length === 0) return part.isRequired ? [] : undefined;
      return items.map((item, index) => {
        const value = readDraft(itemOf(part, shape.item, index), item, faults);
        // An item that is left empty has its place in the list all the same.
        return value === undefined ? null : value;
      });
    }
    case "choice":
      return readChoice(part, shape.options, draft);
    default:
      return typeof draft === "string" ? readText(part, shape.kind, draft, faults) : undefined;
  }
}

function readObject(
  part: Part,
  shape: Shape & { kind: "object" },
  draft: Draft,
  faults: Fault[],
): unknown {
  if (!part.isRequired && isBlank(draft)) return undefined;
  const drafts = draft instanceof Map ? draft as ReadonlyMap<string, Draft> : new Map();
  // An object that nobody has touched may have any number of parts; those that are long are not
  // looked into, and the server says what they lack.
  const isLong = part.depth > UNTOUCHED_DEPTH_MAX || shape.fields.length > UNTOUCHED_FIELDS_MAX;
  const fields = draft === undefined && isLong ? [] : shape.fields;
  const entries: [string, unknown][] = [];
  for (const field of fields) {
    const value = readDraft(fieldOf(part, field), drafts.get(field.name), faults);
    if (value !== undefined) entries.push([field.name, value]);
  }
  return entries.length > 0 || part.isRequired ? Object.fromEntries(entries) : undefined;
}

/** Whether a draft has nothing in it, or nothing any more. */
function isBlank(draft: Draft): boolean {
  if (draft instanceof Map) return [...draft.values()].every(isBlank);
  return draft === undefined || draft === "" || (Array.isArray(draft) && draft.length === 0);
}

function readChoice(part: Part, options: readonly unknown[], draft: Draft): unknown {
  if (draft === undefined && part.isRequired && options.length === 1) return options[0];
  if (typeof draft !== "string" || draft === "") return undefined;
  return options[Number(draft)];
}

function readText(part: Part, kind: Shape["kind"], text: string, faults: Fault[]): unknown {
  if (text === "" || (kind !== "text" && text.trim() === "")) return undefined;
  switch (kind) {
    case "text":
      return text;
    case "number":
      return readNumber(part.path, text.trim(), faults);
    case "boolean":
      return text === "true";
    default:
      return readJson(part.path, text, faults);
  }
}

function readNumber(path: string, text: string, faults: Fault[]): number | undefined {
  const message = NUMBER.test(text) ? findNumberFault(text) : "must be a number, such as 12.5";
  if (message === undefined) return Number(text);
  faults.push({ path, message });
  return undefined;
}

export function readJson(path: string, text: string, faults: Fault[]): unknown {
  let message: string | undefined;
  // Sent on, a number that no double holds would be another one. Browsers that do not give its
  // text still show what is beyond all numbers.
  function check(key: string, value: unknown, context?: { readonly source?: string }): unknown {
    if (typeof value === "number" && message === undefined) {
      const fault = findNumberFault(context?.source ?? String(value));
      message = fault && (key === "" ? fault : `${key}: ${fault}`);
    }
    return value;
  }
  let value: unknown;
  try {
    value = JSON.parse(text, check);
  } catch (error) {
    message = `is no JSON: ${(error as Error).message}`;
  }
  if (message === undefined) return value;
  faults.push({ path, message });
  return undefined;
}

/** The draft that means `value`; undefined if the form has no place for all of it. */
export function draftOf(part: Part, value: unknown): { readonly draft: Draft } | undefined {
  const shape = shapeOf(part.root, part.schema, part.depth);
  if (value === null && shape.isNullable) return { draft: null };
  switch (shape.kind) {
    case "object":
      return draftOfObject(part, shape, value);
    case "list": {
      if (!Array.isArray(value)) return undefined;
      const items = value.map((item, index) => draftOf(itemOf(part, shape.item, index), item));
      return items.includes(undefined) ? undefined : { draft: items.map((item) => item!.draft) };
    }
    case "choice": {
      const text = JSON.stringify(value);
      const at = shape.options.findIndex((option) => JSON.stringify(option) === text);
      return at < 0 ? undefined : { draft: String(at) };
    }
    case "json":
      return { draft: JSON.stringify(value, null, 2) };
    default:
      return draftOfScalar(shape.kind, value);
  }
}

function draftOfObject(
  part: Part,
  { fields }: Shape & { kind: "object" },
  value: unknown,
): { readonly draft: Draft } | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const drafts = new Map<string, Draft>();
  for (const [name, member] of Object.entries(value)) {
    const field = fields.find((each) => each.name === name);
    const inner = field && draftOf(fieldOf(part, field), member);
    if (inner === undefined) return undefined;
    drafts.set(name, inner.draft);
  }
  return { draft: drafts };
}

function draftOfScalar(kind: Shape["kind"], value: unknown): { draft: Draft } | undefined {
  const wanted = kind === "text" ? "string" : kind;
  // An empty text means "left out" in a form.
  return typeof value === wanted && value !== "" ? { draft: String(value) } : undefined;
}

/** The faults of exactly this part. */
export function faultsAt(faults: readonly Fault[], path: string): string | undefined {
  return wordsOf(faults.filter((fault) => fault.path === path));
}

/** The faults of a part and of all in it, for an input that holds all of it. */
export function faultsWithin(faults: readonly Fault[], path: string): string | undefined {
  const inner = faults.filter((fault) => fault.path.startsWith(`${path}.`))
    .map((fault) => ({
      ...fault,
      message: `${fault.path.slice(path.length + 1)} ${fault.message}`,
    }));
  return wordsOf([...faults.filter((fault) => fault.path === path), ...inner]);
}

export function hasFaultWithin(faults: readonly Fault[], path: string): boolean {
  return faults.some((fault) => fault.path === path || fault.path.startsWith(`${path}.`));
}

function wordsOf(faults: readonly Fault[]): string | undefined {
  return faults.length === 0 ? undefined : faults.map(({ message }) => message).join("; ");
}
