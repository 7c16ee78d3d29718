/** Reads untrusted documents: JSON, and the form of each field that is verified. */

import { need } from "./verdict.ts";

export type Fields = Readonly<Record<string, unknown>>;

export interface Form {
  readonly holds: (value: unknown) => boolean;
  /** What the field must be, in words for people. */
  readonly must: string;
}

export const text: Form = { holds: isText, must: "text without half characters" };
export const index: Form = { holds: isCount, must: "an integer, 0 or more" };
export const countFrom1: Form = {
  holds: (value) => isCount(value) && value !== 0,
  must: "an integer, 1 or more",
};
export const hex64: Form = pattern(/^[0-9a-f]{64}$/, "64 lowercase hex characters");
export const hex128: Form = pattern(/^[0-9a-f]{128}$/, "128 lowercase hex characters");
export const hex64OrNone: Form = pattern(
  /^(?:[0-9a-f]{64})?$/,
  "empty or 64 lowercase hex characters",
);
/** Signed unescaped between quotes, so it must not contain anything that ends or escapes them. */
export const plain: Form = pattern(/^[ !#-[\]-~]{1,256}$/, "1 to 256 plain characters");
export const siblings: Form = {
  holds: (value) => Array.isArray(value) && value.every(hex64.holds),
  must: "a list of 64 lowercase hex characters each",
};
export const directions: Form = {
  holds: (value) => Array.isArray(value) && value.every((one) => one === "left" || one === "right"),
  must: 'a list of "left" and "right"',
};

export function pattern(expression: RegExp, must: string): Form {
  return { holds: (value) => typeof value === "string" && expression.test(value), must };
}

/** Half a surrogate pair becomes another character in UTF-8, so two texts would have one hash. */
function isText(value: unknown): boolean {
  return typeof value === "string" && value.isWellFormed();
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Only what stands in the document itself counts, not what every object has. */
export function own(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

/** A document as it came: its bytes, its text, or the value that was parsed from it. */
export function readDocument(document: unknown): unknown {
  try {
    if (typeof document === "string") return JSON.parse(document);
    if (!ArrayBuffer.isView(document)) return document;
    // A byte order mark stays and makes the JSON invalid.
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(document));
  } catch {
    need(false, "form", "the document is not JSON in UTF-8");
  }
}

/** The fields of one object, each of its form. */
export function needFields(
  fields: unknown,
  forms: Readonly<Record<string, Form>>,
  where = "the document",
): asserts fields is Fields {
  need(isObject(fields), "form", `${where} must be an object`);
  for (const [name, { holds, must }] of Object.entries(forms)) {
    need(holds(own(fields, name)), "form", `${name} of ${where} must be ${must}`);
  }
}

/** An absent format is 1. */
export function formatOf(fields: Fields): 1 | 2 {
  if (!Object.hasOwn(fields, "format")) return 1;
  need(fields.format === 2, "form", `there is no format ${JSON.stringify(fields.format)}`);
  return 2;
}
