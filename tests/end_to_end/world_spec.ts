/** The spec of the worlds: small enough to know by heart, with one type for each feature. */

import type { JsonObject } from "../../src/domain/json.ts";

/** `note` takes anything, `order` has a strict schema, `tally` is never cached. */
export const worldSpec: JsonObject = {
  agent_types: ["user", "robot"],
  target_types: ["customer"],
  singletons: ["main", "inventory"],
  modules: { never_cache: ["tally"] },
  aggregate_types: {
    order: {
      events: {
        was_placed: {
          schema: {
            type: "object",
            properties: {
              customer: { type: "string" },
              lines: {
                type: "array",
                items: {
                  type: "object",
                  properties: { qty: { type: "integer" }, on: { type: "string", format: "date" } },
                  required: ["qty"],
                },
              },
            },
            required: ["customer"],
            additionalProperties: false,
          },
          handler: { set: { target: "", value: "$.data" } },
        },
        was_paid: { schema: { type: "object" }, handler: [] },
        _was_tombstoned: { handler: [{ set: { target: "", value: {} } }] },
      },
    },
    note: {
      events: {
        was_written: {
          schema: true,
          handler: { append: { target: "texts", value: "$.data.text" } },
          allow_skip_occ: true,
        },
        was_filed: { schema: true, handler: [] },
      },
    },
    tally: {
      events: {
        was_raised: { schema: true, handler: { increment: { target: "count" } } },
      },
    },
  },
};

export const ACTOR = { type: "user", id: "global" };
export const METADATA = { actor: ACTOR };

/** The body of a single write of `note` / `was_written`. */
export function noteBody(text: string, metadata: JsonObject = {}): JsonObject {
  return { data: { text }, metadata: { ...METADATA, ...metadata } };
}

/** A v4 UUID with `number` at its end. */
export function uuid(number: number): string {
  return `5b3e1a7c-9d24-4f6a-8b1e-${number.toString(16).padStart(12, "0")}`;
}
