/** What every kind of handler is, once compiled: event in, next state out. */

import type { JsonObject } from "../json.ts";
import type { StoredEvent } from "../event.ts";

/**
 * Bytes that one fold may still copy into the state. Copies are charged as they are made, so a
 * handler that doubles its state with each event is stopped long before memory is.
 */
export interface FoldBudget {
  bytesLeft: number;
}

/**
 * Applies one event. It owns `state` and may change it in place; the returned object is the next
 * state. Total: it never throws, except {@link StateTooLarge} when the budget is spent or the
 * state nests too deep.
 */
export type Handler = (state: JsonObject, event: StoredEvent, budget: FoldBudget) => JsonObject;

/** Thrown by handlers, caught by `fold`, never seen above it. */
export class StateTooLarge extends Error {
  override readonly name = "StateTooLarge";
}
