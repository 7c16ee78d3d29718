/** Makes schemas that are slow to check, from every keyword. */

import type { Json } from "../attack.ts";
import { fields, repeat } from "../documents.ts";
import type { Random } from "./random.ts";
import { FIELDS } from "./shapes.ts";

const FORMATS = [
  "date-time",
  "date",
  "time",
  "duration",
  "email",
  "idn-email",
  "hostname",
  "idn-hostname",
  "ipv4",
  "ipv6",
  "uri",
  "uri-reference",
  "iri",
  "uri-template",
  "json-pointer",
  "relative-json-pointer",
  "regex",
  "uuid",
  "url",
  "byte",
] as const;
const PATTERNS = [
  "^(a|a)*$",
  "(a{1,40}){1,40}b",
  "^(\\w+\\s?)*$",
  "[\\p{L}\\p{M}]{1,500}x",
  "(.*a){12}",
  "^(([a-z])+.)+[A-Z]([a-z])+$",
  "a?".repeat(60) + "a".repeat(60),
  "(x+x+)+y",
  "(ab|ba|aa|bb)*c$",
] as const;

/** A schema for the data of an event. */
export function randomSchema(random: Random, scale: number): Json {
  const depth = 1 + random.below(3);
  const schema = {
    $defs: { tree: treeSchema(random), part: randomPart(random, 0, scale) },
    type: "object",
    properties: Object.fromEntries(FIELDS.map((name) => [name, randomPart(random, depth, scale)])),
  };
  return random.chance(20)
    ? { ...schema, unevaluatedProperties: randomPart(random, 1, scale) }
    : schema;
}

/** A schema that refers to itself, in branches that all fail late. */
function treeSchema(random: Random): Json {
  const child = { $ref: "#/$defs/tree" };
  const branch = (required: string) => ({
    properties: { a: child },
    additionalProperties: child,
    items: child,
    required: [required],
  });
  return {
    [random.pick(["anyOf", "oneOf", "allOf"])]: repeat(1 + random.size(4), (i) => branch(`r${i}`)),
  };
}

function randomPart(random: Random, depth: number, scale: number): Json {
  // Narrower with each level; otherwise a schema would be larger than a spec.
  const inner = () => randomPart(random, depth - 1, scale / 8);
  const many = (limit: number) => random.size(Math.max(1, Math.floor(limit * scale)));
  const leaves: (() => Json)[] = [
    () => ({ type: random.pick(["string", "number", "object", "array", "boolean"]) }),
    () => ({ pattern: random.pick(PATTERNS) }),
    () => ({ format: random.pick(FORMATS) }),
    () => ({ enum: repeat(1 + many(300), (i) => ({ ...fields(10, () => 0), z: i })) }),
    () => ({ const: repeat(many(200), (i) => i) }),
    () => ({ multipleOf: random.pick([0.01, 0.0001, 3, 1e-7]) }),
    () => ({ uniqueItems: true }),
    () => ({ maxLength: 1, minProperties: 9 }),
    () => ({ required: repeat(1 + many(300), (i) => `f${i}`) }),
  ];
  if (depth <= 0) return random.pick(leaves)();
  const nests: (() => Json)[] = [
    () => ({ $ref: "#/$defs/tree" }),
    () => ({ $ref: "#/$defs/part" }),
    () => ({ items: inner() }),
    () => ({ contains: inner(), minContains: random.size(50) }),
    () => ({ additionalProperties: inner() }),
    () => ({
      propertyNames: random.pick([{ pattern: random.pick(PATTERNS) }, {
        format: random.pick(FORMATS),
      }]),
    }),
    () => ({
      patternProperties: Object.fromEntries(repeat(many(40), (i) => [`f.*${i}$`, inner()])),
    }),
    () => ({ [random.pick(["anyOf", "oneOf", "allOf"])]: repeat(1 + random.size(6), inner) }),
    () => ({ not: inner() }),
    () => ({ if: inner(), then: inner(), else: inner() }),
    () => ({ prefixItems: repeat(1 + many(50), inner) }),
    () => ({ dependentSchemas: fields(1 + many(30), inner) }),
    () => ({ items: inner(), unevaluatedItems: inner() }),
  ];
  return random.pick([...leaves, ...nests, ...nests])();
}
