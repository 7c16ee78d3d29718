/**
 * A small, realistic spec of a shop, for every test that needs a spec. `order` has nested data,
 * an optional OCC check and one event without effect; `inventory` counts on singletons and is
 * never cached; `customer` can also be a target.
 */

import type { JsonObject } from "../../src/domain/json.ts";

const order: JsonObject = {
  title: "Order",
  description: "One purchase, from cart to payment.",
  events: {
    was_placed: {
      title: "Placed",
      schema: {
        type: "object",
        properties: {
          customer: { type: "string", minLength: 1 },
          total: { type: "number", minimum: 0 },
          placed_on: { type: "string", format: "date" },
        },
        required: ["customer"],
      },
      handler: [
        { set: { target: "", value: "$.data" } },
        { set: { target: "status", value: "placed" } },
        { set: { target: "lines", value: [] } },
      ],
    },
    had_line_added: {
      schema: {
        type: "object",
        properties: {
          lines: {
            type: "array",
            minItems: 1,
            items: {
              type: "object",
              properties: {
                sku: { type: "string", pattern: "^[A-Z0-9-]{1,20}$" },
                qty: { type: "integer", minimum: 1 },
              },
              required: ["sku", "qty"],
              additionalProperties: false,
            },
          },
        },
        required: ["lines"],
      },
      handler: [{ append: { target: "lines", value: "$.data.lines[0]" } }],
    },
    was_paid: {
      schema: {
        type: "object",
        properties: { amount: { type: "number", exclusiveMinimum: 0 } },
        required: ["amount"],
        additionalProperties: false,
      },
      handler: [
        { set: { target: "status", value: "paid" } },
        { set: { target: "paid_at", value: "$.metadata.timestamp" } },
        { increment: { target: "paid", by: "$.data.amount" } },
      ],
    },
    was_noted: {
      schema: {
        type: "object",
        properties: { text: { type: "string", maxLength: 1000 } },
        required: ["text"],
      },
      handler: { append: { target: "notes", value: "$.data.text" } },
      allow_skip_occ: true,
    },
    was_viewed: { schema: true, handler: [], allow_skip_occ: true },
    _was_tombstoned: { handler: [{ set: { target: "", value: {} } }] },
  },
};

const customer: JsonObject = {
  events: {
    was_registered: {
      schema: {
        type: "object",
        properties: {
          name: { type: "string", minLength: 1 },
          email: { type: "string", format: "email" },
        },
        required: ["name"],
      },
      handler: { set: { target: "", value: "$.data" } },
    },
    was_renamed: {
      schema: {
        type: "object",
        properties: { name: { type: "string", minLength: 1 } },
        required: ["name"],
      },
      handler: { set: { target: "name", value: "$.data.name" } },
    },
  },
};

const inventory: JsonObject = {
  events: {
    was_stocked: {
      schema: {
        type: "object",
        properties: { by: { type: "integer", minimum: 1 } },
        required: ["by"],
      },
      handler: { increment: { target: "on_hand", by: "$.data.by" } },
      allow_skip_occ: true,
    },
    was_counted: {
      schema: {
        type: "object",
        properties: { on_hand: { type: "integer", minimum: 0 } },
        required: ["on_hand"],
      },
      handler: { set: { target: "on_hand", value: "$.data.on_hand" } },
    },
  },
};

/**
 * Agents `user` and `admin`, target `customer`, singleton `main`; `inventory` is never cached.
 */
export const exampleSpec: JsonObject = {
  title: "Example shop",
  aggregate_types: { order, customer, inventory },
  agent_types: ["user", "admin"],
  target_types: ["customer"],
  singletons: ["main"],
  modules: { never_cache: ["inventory"] },
};

/** A deep copy that a test may change. */
export function copyOfExampleSpec(): JsonObject {
  return structuredClone(exampleSpec);
}
