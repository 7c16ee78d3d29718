/**
 * The specs that traces deploy: compatible versions, incompatible ones, and invalid documents.
 * One document has many versions, all compatible with the earlier ones; a deploy refuses the
 * others.
 */

import type { JsonObject, JsonValue } from "../../src/domain/json.ts";

/** Types that the mixed writes of a trace use. */
export const MIXED_TYPES = ["order", "note", "tally", "basket"] as const;
export type MixedType = typeof MIXED_TYPES[number];

export const SINGLETONS = ["global", "main", "inventory"] as const;
/** Up to this many versions each add one event type `was_tagged_<n>` to notes. */
const TAGGED_MAX = 8;

const line: JsonObject = {
  type: "object",
  properties: { sku: { type: "string", pattern: "^[A-Z]{2}[0-9]+$" }, qty: { type: "integer" } },
  required: ["sku", "qty"],
};

const order: JsonObject = {
  events: {
    was_placed: {
      schema: {
        type: "object",
        properties: {
          customer: { type: "string", minLength: 1 },
          on: { type: "string", format: "date" },
          lines: { type: "array", items: line },
        },
        required: ["customer"],
        additionalProperties: false,
      },
      handler: [
        { set: { target: "", value: "$.data" } },
        { set: { target: "status", value: "placed" } },
      ],
    },
    was_paid: {
      schema: {
        type: "object",
        properties: { amount: { type: "number", multipleOf: 0.01, exclusiveMinimum: 0 } },
        required: ["amount"],
      },
      handler: [
        { increment: { target: "paid", by: "$.data.amount" } },
        { set: { target: "paid_at", value: "$.metadata.timestamp" } },
        { append_unique: { target: "payers", value: "$.metadata.actor.id" } },
      ],
    },
    was_cancelled: { schema: { type: "object" }, handler: { set: { target: "", value: {} } } },
    _was_tombstoned: { handler: [{ set: { target: "", value: {} } }] },
  },
};

const tally: JsonObject = {
  events: {
    was_raised: {
      schema: { type: "object", properties: { by: { type: "number" } } },
      handler: { increment: { target: "count", by: "$.data.by?" } },
      allow_skip_occ: true,
    },
    was_lowered: { schema: true, handler: { decrement: { target: "count" } } },
  },
};

const basket: JsonObject = {
  events: {
    had_item_put: {
      schema: {
        type: "object",
        properties: { item: { type: "object", required: ["sku"] } },
        required: ["item"],
      },
      handler: { upsert: { target: "items", key: "sku", value: "$.data.item" } },
    },
    had_item_dropped: {
      schema: { type: "object", required: ["sku"] },
      handler: { remove: { target: "items", where: { sku: "$.data.sku" } } },
    },
    was_priced: {
      schema: { type: "object", required: ["price"] },
      handler: [
        {
          if: { gt: ["$.data.price", 100] },
          then: [{ set: { target: "dear", value: true } }],
          else: [{ remove: { target: "dear" } }],
        },
        { set_at: { target: "prices", key: "$.metadata.actor.type", value: "$.data.price" } },
        { update_where: { target: "items", where: { dear: true }, value: { priced: true } } },
      ],
    },
  },
};

/** Each event nests the state one level deeper, until it is too deep to be read. */
const deep: JsonObject = {
  events: {
    was_nested: {
      schema: true,
      handler: { set: { target: "inner", value: { inner: "@.inner" } } },
    },
    was_cleared: { schema: true, handler: { set: { target: "", value: {} } } },
  },
};

const archive: JsonObject = {
  events: { was_kept: { schema: true, handler: { increment: { target: "kept" } } } },
};

const NOTE_HANDLERS: readonly JsonValue[] = [
  { append: { target: "texts", value: "$.data.text" } },
  [{ append: { target: "texts", value: "$.data.text" } }, { increment: { target: "count" } }],
  { set: { target: "last", value: { text: "$.data.text", at: "$.metadata.timestamp" } } },
  [],
];

/** Every version may follow every earlier one; handlers change, event types are added. */
export function specVersion(version: number, withExtra = false): JsonObject {
  const note: JsonObject = {
    was_written: {
      schema: { type: "object", properties: { text: { type: "string" } } },
      handler: NOTE_HANDLERS[version % NOTE_HANDLERS.length]!,
      allow_skip_occ: true,
    },
    was_filed: { schema: true, handler: [] },
  };
  for (let number = 1; number <= Math.min(version, TAGGED_MAX); number++) {
    const handler = { merge: { target: "tags", value: { [`tag_${number}`]: "$.data.value" } } };
    note[`was_tagged_${number}`] = { schema: { type: "object" }, handler };
  }
  const extra: JsonObject = withExtra
    ? { extra: { events: { was_added: { schema: true, handler: [] } } } }
    : {};
  return {
    title: "A trace",
    description: `Version ${version}`,
    agent_types: ["user", "robot"],
    target_types: ["customer"],
    singletons: SINGLETONS.slice(1),
    modules: { never_cache: ["tally"] },
    aggregate_types: { order, note: { events: note }, tally, basket, deep, archive, ...extra },
  };
}

type Change = (spec: JsonObject) => void;

// deno-lint-ignore no-explicit-any -- documents are changed at places known by heart
function eventsOf(spec: any, type: string): any {
  return spec.aggregate_types[type].events;
}

/** Each changes a version so that it breaks senders. See docs/reference/specs.md. */
const BLOCKED: readonly Change[] = [
  // deno-lint-ignore no-explicit-any -- as above
  (spec: any) => delete spec.aggregate_types.basket,
  (spec) => delete eventsOf(spec, "order").was_paid,
  (spec) => eventsOf(spec, "order").was_paid.schema.required.push("currency"),
  (spec) => eventsOf(spec, "order").was_placed.schema.properties.customer = { type: "integer" },
  (spec) => eventsOf(spec, "order").was_paid.schema.additionalProperties = false,
  (spec) => eventsOf(spec, "order").was_placed.schema.properties.lines.items.required.push("unit"),
];

/** Each makes a document that is no valid spec. */
const INVALID: readonly Change[] = [
  (spec) => delete spec.agent_types,
  (spec) => spec.agent_types = ["system_user"],
  (spec) => spec.version = 7,
  (spec) => spec.aggregate_types = { Order: {}, length: [] },
  (spec) => eventsOf(spec, "note").was_filed.handler = { sett: { target: "a", value: 1 } },
  (spec) => eventsOf(spec, "note").was_filed.handler = { set: { target: "a[", value: "$.dat" } },
  (spec) => eventsOf(spec, "note").was_filed.schema = { type: "objekt", pattern: "(" },
  (spec) => eventsOf(spec, "note").was_filed.implications = [{ wasm: "later" }],
  (spec) => eventsOf(spec, "note").was_filed.handler = { wasm: "later" },
  (spec) => eventsOf(spec, "note").length = { schema: true, handler: [] },
  (spec) => spec.singletons = ["nearby", "a/b"],
  (spec) => spec.modules = { never_cache: ["nothing"], sagas: { a: {} } },
];

export function incompatibleSpec(version: number, which: number): JsonObject {
  return changed(version, BLOCKED[which % BLOCKED.length]!);
}

export function invalidSpec(version: number, which: number): JsonObject {
  return changed(version, INVALID[which % INVALID.length]!);
}

function changed(version: number, change: Change): JsonObject {
  const spec = structuredClone(specVersion(version));
  change(spec);
  return spec;
}
