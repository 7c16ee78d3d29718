/** Checks the fields that records of an environment file have. */

import { isJsonObject } from "../json.ts";

export type Check = (value: unknown) => boolean;
/** The fields of a record. A name that ends with `?` is optional. */
export type Shape = Readonly<Record<string, Check>>;

const HEX_64 = /^[0-9a-f]{64}$/;
const STREAM_KEY = /^[a-z][a-z0-9_]{0,63}:[^\0]+$/;
const KEY_CHARACTERS_MAX = 1_000;

export function text(value: unknown): boolean {
  return typeof value === "string";
}

export function shortText(value: unknown): boolean {
  return typeof value === "string" && value.length > 0 && value.length <= KEY_CHARACTERS_MAX &&
    value.isWellFormed();
}

export function wholeNumber(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function countFrom1(value: unknown): boolean {
  return wholeNumber(value) && value !== 0;
}

export function hex64(value: unknown): boolean {
  return typeof value === "string" && HEX_64.test(value);
}

export function time(value: unknown): boolean {
  return typeof value === "string" && !Number.isNaN(Date.parse(value));
}

export function streamKeyText(value: unknown): boolean {
  return shortText(value) && STREAM_KEY.test(value as string);
}

export function oneOf(values: readonly unknown[]): Check {
  return (value) => values.includes(value);
}

/** An object with exactly these fields. */
export function objectOf(shape: Shape): Check {
  return (value) => isJsonObject(value) && faultOf(value, shape) === undefined;
}

/** An object with exactly the fields of one of these shapes. */
export function anyOf(shapes: readonly Shape[]): Check {
  return (value) => shapes.some((shape) => objectOf(shape)(value));
}

export function listOf(check: Check): Check {
  return (value) => Array.isArray(value) && value.every(check);
}

/**
 * Strict: all fields must be known and well-formed, and none may be missing. Says why not;
 * undefined when they are.
 */
export function faultOf(
  fields: Readonly<Record<string, unknown>>,
  shape: Shape,
): string | undefined {
  const known = new Set<string>();
  for (const [field, check] of Object.entries(shape)) {
    const isOptional = field.endsWith("?");
    const name = isOptional ? field.slice(0, -1) : field;
    known.add(name);
    if (!Object.hasOwn(fields, name)) {
      if (!isOptional) return `the field "${name}" is missing`;
    } else if (!check(fields[name])) return `the field "${name}" does not have its form`;
  }
  const unknown = Object.keys(fields).find((name) => !known.has(name));
  return unknown === undefined ? undefined : `there is no field ${JSON.stringify(unknown)}`;
}
