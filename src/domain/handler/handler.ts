/** What every kind of handler is, once compiled: event in, next state out. */

import { type Budget, BudgetSpent } from "../budget.ts";
import type { JsonObject } from "../json.ts";
import type { StoredEvent } from "../event.ts";

/**
 * Applies one event. It owns `state` and may change it in place; the returned object is the next
 * state. Total: it never throws, except `BudgetSpent` when the budget does not reach
 * and {@link StateTooLarge} when the state nests too deep.
 */
export type Handler = (state: JsonObject, event: StoredEvent, budget: Budget) => JsonObject;

/**
 * Thrown by handlers where a state outgrows what a state may be, whatever is left of the budget.
 * Whoever gave the budget catches both.
 */
export class StateTooLarge extends BudgetSpent {
  override readonly name = "StateTooLarge";
}
