/** Writes whose data is slow to validate: every keyword and every format, in its worst form. */

import type { Attack, AttackGroup, Json } from "../attack.ts";
import {
  deploySpec,
  eventType,
  fields,
  idOf,
  judgedBy,
  nest,
  numbersInOneBucket,
  read,
  repeat,
  specOf,
  write,
  writeMany,
} from "../documents.ts";

const ID = idOf(1);

interface Validation {
  readonly name: string;
  readonly does: string;
  /** The schema of one property, `v`. */
  readonly schema: () => Json;
  readonly value: () => Json;
  /** Events in one batch; default: 1. */
  readonly events?: number;
}

/** Moves definitions to the root, where references find them. */
function rooted({ $defs, ...schema }: Json): Json {
  const properties = { v: schema };
  return { type: "object", properties, ...($defs === undefined ? {} : { $defs }) };
}

function validation({ name, does, schema, value, events = 1 }: Validation): Attack {
  return {
    name,
    does,
    needs: "spec + write key",
    spec: () => specOf({ thing: { was_seen: judgedBy(rooted(schema())) } }),
    waves: [{
      request: () => {
        const data = { v: value() };
        if (events === 1) return write("thing", ID, "was_seen", data);
        return writeMany("thing", ID, repeat(events, () => ({ type: "was_seen", data })));
      },
      clients: 4,
    }],
  };
}

/** For each format, a text that is slow to check with a careless expression. */
const FORMATS: readonly (readonly [format: string, value: string, what: string])[] = [
  ["regex", "[\\p{L}\\p{M}]".repeat(650), "650 classes of Unicode"],
  ["regex", "(a{1,50}){1,50}".repeat(30), "counted repetitions in each other"],
  ["uri", `http://a.bc/${":".repeat(60_000)}`, "60000 colons"],
  ["url", `http://a.bc/${":".repeat(2_030)}`, "2030 colons"],
  ["uri-reference", `http://a.bc/${"%".repeat(60_000)}`, "60000 percent signs"],
  ["email", `${"a.".repeat(40_000)}@b`, "80000 characters of parts"],
  ["hostname", `${"a-".repeat(40_000)}!`, "80000 characters of hyphens"],
  ["date-time", "1".repeat(90_000), "90000 digits"],
  ["duration", `P${"1Y".repeat(40_000)}`, "40000 years"],
  ["ipv6", `${":".repeat(80_000)}1`, "80000 colons"],
  ["json-pointer", "/~".repeat(45_000), "45000 tildes"],
  ["uri-template", "{a".repeat(45_000), "45000 opened braces"],
  ["byte", "A".repeat(90_001), "90001 letters of Base64"],
];

/** Alternatives of alternatives that are all the same `enum`. */
function specOfEnum(title: string): Json {
  const anyOf = (name: string) => ({ anyOf: repeat(250, () => ({ $ref: `#/$defs/${name}` })) });
  const $defs = { x: anyOf("e"), e: { enum: repeat(9_999, (i) => i) } };
  return specOf({
    thing: { was_seen: judgedBy({ title, type: "object", properties: { v: anyOf("x") }, $defs }) },
  });
}

export const SCHEMAS: AttackGroup = {
  title: "schemas",
  attacks: [
    ...FORMATS.map(([format, value, what], at) =>
      validation({
        name: `format ${format}: ${what}`,
        does: `a text of ${what} where the schema asks for ${format}, in batches of 8`,
        schema: () => ({ type: "string", format }),
        value: () => `${value}${at}`,
        events: 8,
      })
    ),
    validation({
      name: "pattern with counted repetitions",
      does: "(a{1,30}){1,30}b over 90 KB of a",
      schema: () => ({ type: "string", pattern: "^((a{1,30}){1,30})*b$" }),
      value: () => "a".repeat(90_000),
      events: 8,
    }),
    validation({
      name: "pattern with many alternatives",
      does: "40 alternatives that begin alike, over 90 KB",
      schema: () => ({ type: "string", pattern: repeat(40, (i) => `a*b{1,9}c${i}`).join("|") }),
      value: () => "ab".repeat(45_000),
      events: 8,
    }),
    validation({
      name: "patterns of many properties",
      does: "200 patterns of property names against 4,000 keys",
      schema: () => ({
        patternProperties: Object.fromEntries(repeat(200, (i) => [`(a|b|k)+.*x${i}$`, true])),
      }),
      value: () => fields(4_000, () => 0),
      events: 8,
    }),
    validation({
      name: "faults in each of 20000 items",
      does: "every item is of the wrong type, and all faults are gathered",
      schema: () => ({ type: "array", items: { type: "string" } }),
      value: () => repeat(20_000, () => 1),
      events: 50,
    }),
    validation({
      name: "faults in each of 50000 items",
      does: "the most items that one event can hold, each with a fault",
      schema: () => ({ type: "array", items: { type: "string" } }),
      value: () => repeat(50_000, () => 1),
    }),
    validation({
      name: "unique items of 5000 objects",
      does: "objects that differ in their last key alone",
      schema: () => ({ type: "array", uniqueItems: true }),
      value: () => repeat(5_000, (i) => ({ a: 1, b: i })),
      events: 8,
    }),
    validation({
      name: "unique items of long texts",
      does: "40 texts of 2 KB, alike but for the end, as unique items of 50 events",
      schema: () => ({ type: "array", uniqueItems: true }),
      value: () => repeat(40, (i) => `${"a".repeat(2_000)}${i}`),
      events: 50,
    }),
    validation({
      name: "enum of numbers in one bucket",
      does: "48,000 items under an enum of 9,990 integers that a set would put into one bucket",
      schema: () => ({ items: { enum: numbersInOneBucket(9_990, 8_192) } }),
      value: () => repeat(48_000, () => 7),
    }),
    validation({
      name: "unique items in one bucket",
      does: "8,000 unique integers that a set would put into one bucket, in batches of 8",
      schema: () => ({ uniqueItems: true }),
      value: () => numbersInOneBucket(8_000, 8_192),
      events: 8,
    }),
    validation({
      name: "recursive anyOf",
      does: "a schema of two branches that are both itself, over 40 levels of data",
      schema: () => ({
        $defs: {
          node: {
            anyOf: [{
              type: "object",
              properties: { a: { $ref: "#/$defs/node" } },
              required: ["b"],
            }, { type: "object", properties: { a: { $ref: "#/$defs/node" } }, required: ["c"] }],
          },
        },
        $ref: "#/$defs/node",
      }),
      value: () => nest(40, (inner) => ({ a: inner }), {}),
    }),
    validation({
      name: "oneOf in oneOf",
      does: "three layers of six alternatives each",
      schema: () =>
        nest(
          3,
          (inner) => ({ oneOf: repeat(6, (i) => ({ allOf: [inner, { minProperties: i }] })) }),
          {
            type: "object",
          },
        ),
      value: () => fields(1_000, () => 0),
    }),
    validation({
      name: "unevaluated properties",
      does: "unevaluatedProperties over 200 branches and 5,000 keys",
      schema: () => ({
        anyOf: repeat(200, (i) => ({ properties: { [`f${i}`]: { type: "number" } } })),
        unevaluatedProperties: { type: "number" },
      }),
      value: () => fields(5_000, () => 0),
      events: 8,
    }),
    validation({
      name: "contains and propertyNames",
      does: "each of 10,000 items is looked at by 100 contains",
      schema: () => ({ allOf: repeat(100, (i) => ({ contains: { const: -i - 1 } })) }),
      value: () => repeat(10_000, (i) => i),
    }),
    validation({
      name: "enum of large values",
      does: "1,000 objects of 40 keys, none of which is the one that came",
      schema: () => ({ items: { enum: repeat(200, (i) => ({ ...fields(40, () => 0), z: i })) } }),
      value: () => repeat(100, () => ({ ...fields(40, () => 0), z: -1 })),
      events: 8,
    }),
    validation({
      name: "multipleOf small decimals",
      does: "9,000 numbers against 20 decimals",
      schema: () => ({ items: { allOf: repeat(20, (i) => ({ multipleOf: 0.0001 * (i + 1) })) } }),
      value: () => repeat(9_000, (i) => i + 0.1234),
    }),
    validation({
      name: "dynamic references",
      does: "a tree by $dynamicRef, as deep as JSON may be and 400 wide",
      schema: () => ({
        $dynamicAnchor: "node",
        type: "object",
        additionalProperties: { anyOf: [{ $dynamicRef: "#node" }, { type: "null" }] },
      }),
      value: () => nest(50, (inner) => ({ ...fields(40, () => null), z: inner }), {}),
      events: 8,
    }),
    validation({
      name: "dependent schemas",
      does: "250 keys, each of which calls for another",
      schema: () => ({
        dependentSchemas: fields(250, (i) => ({ required: [`f${i + 1}`], minProperties: i })),
        dependentRequired: fields(250, (i) => [`f${i + 1}`]),
      }),
      value: () => fields(2_000, () => 0),
      events: 8,
    }),
    validation({
      name: "long key above many items",
      does: "a key of 40,000 tildes above 20,000 numbers, each checked by a referenced schema",
      schema: () => ({
        additionalProperties: { items: { $ref: "#/$defs/s" } },
        $defs: { s: { type: "number" } },
      }),
      value: () => ({ ["~".repeat(40_000)]: repeat(20_000, () => 1) }),
    }),
    validation({
      name: "dependent names in each other",
      does: "50,000 references to one list of 4,000 names, of which the data has all",
      schema: () => ({
        allOf: repeat(250, () => ({ $ref: "#/$defs/b" })),
        $defs: {
          b: { allOf: repeat(200, () => ({ $ref: "#/$defs/d" })) },
          d: { dependentRequired: { a: repeat(4_000, (i) => `f${i}`) } },
        },
      }),
      value: () => ({ ...fields(4_000, () => 0), a: 0 }),
    }),
    validation({
      name: "one fault many times",
      does: "1,250 times the same fault under a key of 30,000 slashes",
      schema: () => ({
        additionalProperties: {
          allOf: repeat(5, () => ({ allOf: repeat(250, () => ({ type: "string" })) })),
        },
      }),
      value: () => ({ ["/".repeat(30_000)]: 1 }),
    }),
    {
      name: "dynamic references to many anchors",
      does: "a dry run of 9,000 references, each of which may mean 9,000 schemas",
      needs: "operator of one instance",
      waves: [{
        request: deploySpec(
          specOf({
            thing: {
              was_seen: judgedBy({
                allOf: [
                  ...repeat(9_000, () => ({ $dynamicAnchor: "n" })),
                  ...repeat(9_000, () => ({ $dynamicRef: "#n" })),
                ],
              }),
            },
          }),
          { dry_run: true },
        ),
        clients: 2,
      }],
    },
    {
      name: "openapi of a wide condition",
      does: "the document of five event types, each with one condition around 2,000 operations",
      needs: "spec + read key",
      spec: () => {
        const then = repeat(2_000, (i) => ({ set: { target: `a${i}`, value: 1 } }));
        const events = fields(5, () => eventType([{ if: { exists: "$.data" }, then }]));
        return specOf({ thing: events });
      },
      waves: [{ request: read("/openapi.json"), clients: 4 }],
    },
    {
      name: "one enum behind many alternatives",
      does: "a dry run that compares 250 x 250 alternatives, all of them one enum of 9,999 numbers",
      needs: "operator of one instance",
      spec: () => specOfEnum("before"),
      waves: [{ request: deploySpec(specOfEnum("after"), { dry_run: true }), clients: 2 }],
    },
  ],
};
