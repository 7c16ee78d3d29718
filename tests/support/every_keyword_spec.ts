/** A spec whose schemas use every keyword and every format that a deploy accepts. */

import type { JsonObject, JsonValue } from "../../src/domain/json.ts";
import { FORMAT_NAMES } from "../../src/domain/spec/schema/formats/formats.ts";

/** Definitions as tools such as pydantic and zod write them, with names that need escaping. */
const DEFINITIONS: JsonObject = {
  Line: {
    type: "object",
    properties: { sku: { type: "string" }, next: { $ref: "#/$defs/Line" } },
    required: ["sku"],
    additionalProperties: false,
  },
  "Page[int]/~ %": { type: "array", items: { type: "integer" } },
  other: { $id: "other", type: "string" },
  named: { $anchor: "here", type: "boolean" },
  tree: {
    $id: "tree",
    $dynamicAnchor: "node",
    type: "object",
    properties: { children: { type: "array", items: { $dynamicRef: "#node" } } },
  },
  strict: { $id: "strict", $dynamicAnchor: "node", $ref: "tree", unevaluatedProperties: false },
};

const REFERENCES: JsonObject = {
  line: { $ref: "#/$defs/Line" },
  lineAndMore: { $ref: "#/$defs/Line", description: "The first", minProperties: 1 },
  page: { $ref: "#/$defs/Page%5Bint%5D~1~0%20%25" },
  other: { $ref: "other" },
  named: { $ref: "#here" },
  strict: { $ref: "#/$defs/strict" },
  itself: { $ref: "#" },
  sibling: { $ref: "#/properties/text" },
  old: { $ref: "#/definitions/Old" },
};

const VALUES: JsonObject = {
  anything: true,
  nothing: false,
  text: {
    type: "string",
    minLength: 1,
    maxLength: 3,
    pattern: "^a",
    contentEncoding: "base64",
    contentMediaType: "application/json",
    contentSchema: { type: "object" },
  },
  number: {
    type: "number",
    multipleOf: 0.5,
    minimum: 1,
    exclusiveMinimum: 0,
    maximum: 9,
    exclusiveMaximum: 10,
  },
  noted: {
    title: "Noted",
    type: ["string", "null"],
    default: null,
    examples: ["a"],
    deprecated: true,
    readOnly: true,
    writeOnly: false,
    $comment: "A note",
    "x-note": { a: 1 },
  },
  one: { const: { a: 1 } },
  some: { enum: [1, "a", null, { a: 1 }] },
  few: { enum: ["a", "b"] },
};

const LISTS: JsonObject = {
  list: {
    type: "array",
    items: { $ref: "#/$defs/Line" },
    minItems: 1,
    maxItems: 10,
    uniqueItems: true,
    contains: { $ref: "#/$defs/Line" },
    minContains: 1,
    maxContains: 3,
  },
  tuple: { type: "array", prefixItems: [{ type: "string" }, true], items: false },
  rest: { type: "array", prefixItems: [true], unevaluatedItems: { type: "number" } },
};

const OBJECTS: JsonObject = {
  map: {
    type: "object",
    patternProperties: { "^x": { type: "integer" } },
    additionalProperties: { type: ["string", "integer"] },
    propertyNames: { minLength: 1 },
    minProperties: 1,
    maxProperties: 3,
    dependentRequired: { a: ["b"] },
    dependentSchemas: { c: { required: ["d"] } },
  },
  all: {
    allOf: [{ properties: { a: { type: "string" } } }, { $ref: "#/$defs/Line" }],
    unevaluatedProperties: false,
  },
  any: { anyOf: [{ type: "string" }, { type: "integer" }] },
  oneOf: { oneOf: [{ type: "string" }, { type: "integer" }] },
  not: { not: { type: "null" } },
  either: { if: { type: "string" }, then: { minLength: 1 }, else: { type: "integer" } },
  "odd/key~ %": { type: "string" },
};

export const EVERY_KEYWORD: JsonObject = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  $id: "https://example.com/made",
  title: "Made",
  description: "What an order is made of",
  type: "object",
  properties: { ...REFERENCES, ...VALUES, ...LISTS, ...OBJECTS },
  required: ["list", "text"],
  $defs: DEFINITIONS,
  definitions: { Old: { type: "string" } },
  discriminator: { propertyName: "text" },
};

const FORMATS: JsonObject = Object.fromEntries(
  [...FORMAT_NAMES].map((format): [string, JsonValue] => [format, { format }]),
);

function eventOf(schema: JsonValue): JsonObject {
  return { schema, handler: [] };
}

export const everyKeywordSpec: JsonObject = {
  agent_types: ["user"],
  target_types: ["order"],
  aggregate_types: {
    order: {
      events: {
        was_made: eventOf(EVERY_KEYWORD),
        had_formats: eventOf({ type: "object", properties: FORMATS }),
        was_anything: eventOf(true),
        was_nothing: eventOf(false),
        // Its definition shares a name with another event's.
        was_shipped: eventOf({
          type: "object",
          properties: { line: { $ref: "#/$defs/Line" } },
          $defs: { Line: { type: "string" } },
        }),
        was_made_line: eventOf({ type: "object" }),
      },
    },
    // Joined with its event's name, this reads like an event of "order".
    order_was: { events: { shipped: eventOf({ type: "object" }) } },
  },
};
