/**
 * A shop for projections: orders that show customers, who show who referred them; lines that show
 * products; settings that every row may show. Beside it what each state is after any events,
 * written down a second time without the product's handlers.
 */

import type { JsonObject, JsonValue } from "../../src/domain/json.ts";

export interface ShopEvent {
  readonly type: string;
  readonly data: JsonObject;
}

/** What is left of an erased event: nothing handles it. */
export const ERASED = "_was_tombstoned";

const anything = { schema: true };

/** Under `second`, customers fold in another way: no event tells of it. */
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
