/**
 * A shop for projections, and a second implementation of its states. Orders show customers,
 * customers show who referred them; lines show products; every row may show settings. The
 * expected state after any events is written down again here without the product's handlers.
 */

import type { JsonObject, JsonValue } from "../../src/domain/json.ts";

export interface ShopEvent {
  readonly type: string;
  readonly data: JsonObject;
}

/** The event that erasure leaves behind: no handler exists for it. */
export const ERASED = "_was_tombstoned";

const anything = { schema: true };

/** With `second`, customers fold differently, though no event says so. */
export function shopSpec(second = false): JsonObject {
  const registered: JsonObject[] = [{ set: { target: "", value: "$.data" } }];
  if (second) registered.push({ set: { target: "tier", value: "gold" } });
  return {
    aggregate_types: {
      order: {
        events: {
          was_placed: { ...anything, handler: { set: { target: "", value: "$.data" } } },
          had_line_added: {
            ...anything,
            handler: { append: { target: "lines", value: "$.data.line" } },
          },
          was_reassigned: {
            ...anything,
            handler: { set: { target: "customer", value: "$.data.customer" } },
          },
        },
      },
      customer: {
        events: {
          was_registered: { ...anything, handler: registered },
          was_renamed: {
            ...anything,
            handler: { set: { target: "name", value: "$.data.name" } },
          },
        },
      },
      product: {
        events: { was_named: { ...anything, handler: { set: { target: "", value: "$.data" } } } },
      },
      settings: {
        events: { was_set: { ...anything, handler: { set: { target: "", value: "$.data" } } } },
      },
    },
    agent_types: ["user"],
    singletons: ["main"],
  };
}

/** How the states of the shop follow from events, under one spec or the other. */
export function shopFold(second: boolean) {
  return (type: string, events: readonly ShopEvent[]) => shopState(type, events, second);
}

function shopState(type: string, events: readonly ShopEvent[], second: boolean): JsonValue {
  if (events.length === 0) return null;
  let state: JsonObject = {};
  for (const { type: event, data } of events) {
    if (event === ERASED) continue;
    if (event === "had_line_added") {
      const { lines } = state;
      if (lines === undefined || lines === null) state = { ...state, lines: [data.line!] };
      else if (Array.isArray(lines)) state = { ...state, lines: [...lines, data.line!] };
    } else if (event === "was_reassigned") state = { ...state, customer: data.customer! };
    else if (event === "was_renamed") state = { ...state, name: data.name! };
    else {
      state = { ...data };
      if (second && type === "customer") state.tier = "gold";
    }
  }
  return state;
}
