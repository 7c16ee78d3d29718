/**
 * JSON as one canonical text: keys sorted at every level (by UTF-16 code units), no white space.
 * Two bodies or specs that say the same have the same text, and so the same hash. Decisions 6, 19.
 */

import type { JsonValue } from "./json.ts";

/** Levels written by plain recursion, the fastest; what nests deeper goes over a heap stack. */
const RECURSION_DEPTH_MAX = 200;

/** `{"b":1,"a":[2]}` gives `{"a":[2],"b":1}`. Never overflows the stack, however deep the value. */
export function canonicalJson(value: JsonValue): string {
  return write(value, 0);
}

/** Text that JSON writes as it is: no quote, backslash, control character or surrogate. */
const PLAIN_TEXT = /^[ !#-[\]-~]*$/;

/** Entering the language's own JSON writer costs more than a short text itself. */
const SHORT_CHARACTERS = 64;

function quote(text: string): string {
  return text.length <= SHORT_CHARACTERS && PLAIN_TEXT.test(text)
    ? '"' + text + '"'
    : JSON.stringify(text);
}

function writeScalar(value: null | boolean | number | string): string {
  if (typeof value === "string") return quote(value);
  // Adding 0 to a negative zero gives the zero that JSON knows.
  if (typeof value === "number" && Number.isFinite(value)) return "" + (value + 0);
  return JSON.stringify(value);
}

function write(value: JsonValue, depth: number): string {
  if (typeof value !== "object" || value === null) return writeScalar(value);
  if (depth === RECURSION_DEPTH_MAX) return writeDeep(value);
  if (Array.isArray(value)) return writeArray(value, depth);
  // A key such as `__proto__` is an own property here, and reading an own property is safe.
  const keys = sortKeys(Object.keys(value));
  let text = "{";
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index]!;
    text += (index === 0 ? "" : ",") + quote(key) + ":" + write(value[key]!, depth + 1);
  }
  return text + "}";
}

/** By insertion: most objects have few keys, where it is several times faster than `sort`. */
function sortKeys(keys: string[]): string[] {
  if (keys.length > 16) return keys.sort();
  for (let index = 1; index < keys.length; index++) {
    const key = keys[index]!;
    let place = index;
    for (; place > 0 && keys[place - 1]! > key; place--) keys[place] = keys[place - 1]!;
    keys[place] = key;
  }
  return keys;
}

function writeArray(value: JsonValue[], depth: number): string {
  let text = "[";
  for (let index = 0; index < value.length; index++) {
    text += (index === 0 ? "" : ",") + write(value[index]!, depth + 1);
  }
  return text + "]";
}

/** Text to be written as it is, or a value still to be written. */
type Pending = { readonly text: string } | { readonly value: JsonValue };

function writeDeep(root: JsonValue): string {
  const pieces: string[] = [];
  const pending: Pending[] = [{ value: root }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if ("text" in next) pieces.push(next.text);
    else if (typeof next.value !== "object" || next.value === null) {
      pieces.push(writeScalar(next.value));
    } else pushParts(next.value, pending);
  }
  return pieces.join("");
}

/** Pushes the parts of one array or object, last first, so that the first is taken next. */
function pushParts(value: JsonValue[] | { [key: string]: JsonValue }, pending: Pending[]): void {
  const isArray = Array.isArray(value);
  const keys = isArray ? [...value.keys()] : Object.keys(value).sort();
  pending.push({ text: isArray ? "]" : "}" });
  for (let index = keys.length - 1; index >= 0; index--) {
    const key = keys[index]!;
    pending.push({ value: isArray ? value[key as number]! : (value as never)[key] });
    const name = isArray ? "" : quote(String(key)) + ":";
    pending.push({ text: (index === 0 ? "" : ",") + name });
  }
  pending.push({ text: isArray ? "[" : "{" });
}
