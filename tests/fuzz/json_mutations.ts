/** JSON that is nearly right: random changes to values and to texts. */

import type { JsonValue } from "../../src/domain/json.ts";
import type { Random } from "../crash/random.ts";

/** Values put anywhere: of every kind, and near every limit. */
const VALUES: readonly JsonValue[] = [
  null,
  true,
  false,
  0,
  -1,
  1,
  1.5,
  65,
  10_001,
  2 ** 31,
  9_007_199_254_740_991,
  1e308,
  "",
  " ",
  "$.",
  "$.data",
  "$.data.text",
  "$.data.x[*]",
  '$["a\\"b"]',
  "$item",
  "@",
  "@.a.b",
  "$prev",
  "24h",
  "0s",
  "99999d",
  "global",
  "_was_tombstoned",
  "__proto__",
  "constructor",
  "a".repeat(300),
  "\u0000",
  "\ud800",
  "é\u0301",
  "^(a+)+$",
  "(?<=x)y",
  "https://example.com/",
  "http://127.0.0.1/",
  [],
  {},
  [[]],
  { "": {} },
  { $ref: "#" },
  { type: "object" },
  { type: ["string", "null"], pattern: "[" },
  { emit: {} },
  { set: { target: "", value: {} } },
  { if: { eq: [1, 1] }, then: [] },
];

/** A copy of `document` with one to four random changes. */
export function mutateJson(random: Random, document: JsonValue): JsonValue {
  let changed = structuredClone(document);
  for (let left = 1 + random.below(4); left > 0; left--) changed = changeSomewhere(random, changed);
  return changed;
}

function changeSomewhere(random: Random, value: JsonValue): JsonValue {
  const isLeaf = typeof value !== "object" || value === null;
  if (isLeaf || Object.keys(value).length === 0 || random.chance(0.12)) {
    return structuredClone(random.pick(VALUES));
  }
  const name = random.pick(Object.keys(value));
  const inside = value as Record<string, JsonValue>;
  const draw = random.next();
  if (draw < 0.75) inside[name] = changeSomewhere(random, inside[name]!);
  else if (draw < 0.82) delete inside[name];
  else if (draw < 0.9) inside[random.pick(STRANGE_KEYS)] = structuredClone(inside[name]!);
  else if (draw < 0.96) inside[name] = structuredClone(random.pick(Object.values(inside)));
  else inside[name] = nest(inside[name]!, 1 + random.below(80));
  return Array.isArray(value) ? value.filter((item) => item !== undefined) : value;
}

const STRANGE_KEYS = ["", "version", "$schema", "$defs", "default", "wasm", "0", "a.b", "toString"];

function nest(value: JsonValue, levels: number): JsonValue {
  let nested = value;
  for (let level = 0; level < levels; level++) nested = level % 2 === 0 ? [nested] : { a: nested };
  return nested;
}

const SPLINTERS = [
  '"',
  "\\",
  "\\u12",
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  "1e999",
  "9007199254740993",
  "-0",
  "01",
  "+1",
  ".5",
  "1.",
  "nul",
  "NaN",
  "\ufeff",
  "\u0000",
  "\n",
  "/**/",
  '"a":1,',
  "[".repeat(70),
  "0.1000000000000000055511151231257827",
];

/** A text with one to three changes: a splinter inserted, a piece cut out or doubled. */
export function mutateText(random: Random, text: string): string {
  let changed = text;
  for (let left = 1 + random.below(3); left > 0; left--) {
    const at = random.below(changed.length + 1);
    const end = at + random.below(4);
    const draw = random.next();
    if (draw < 0.5) changed = changed.slice(0, at) + random.pick(SPLINTERS) + changed.slice(at);
    else if (draw < 0.75) changed = changed.slice(0, at) + changed.slice(end);
    else changed = changed.slice(0, end) + changed.slice(at);
  }
  return changed;
}
