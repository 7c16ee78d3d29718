/** The type of a compiled handler: it takes a state and an event and returns the next state. */

import { type Budget, BudgetSpent } from "../budget.ts";
import type { JsonObject } from "../json.ts";
import type { StoredEvent } from "../event.ts";

/**
 * Applies one event. The handler owns `state` and may change it in place; the returned object
 * is the next state. With `owned`, only the containers in it may be changed: the handler copies
 * others first, and adds the copies (see `own.ts`). It throws nothing but `BudgetSpent`, when the
 * budget does not suffice, and {@link StateTooLarge}, when the state nests too deep.
 */
export type Handler = (
  state: JsonObject,
  event: StoredEvent,
  budget: Budget,
  owned?: WeakSet<object>,
) => JsonObject;

/**
 * Thrown when a state exceeds its limits, however much of the budget is left. The caller that
 * supplied the budget catches both errors.
 */
export class StateTooLarge extends BudgetSpent {
  override readonly name = "StateTooLarge";
}
