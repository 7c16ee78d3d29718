/**
 * Events into state. Holds the memory of a fold within bounds: a state is measured again whenever
 * enough has been copied for it to have outgrown `limits.stateBytesMax`.
 */

import type { StoredEvent } from "../event.ts";
import type { JsonObject } from "../json.ts";
import { limits } from "../limits.ts";
import { accept, type Outcome, refuse } from "../refusal.ts";
import { type FoldBudget, type Handler, StateTooLarge } from "./handler.ts";
import { isStateWithinLimits, measureState } from "./measure.ts";

/** What may be charged between two measurements, beside a state that is within its limit. */
const WINDOW_BYTES = 3 * limits.stateBytesMax;
/** Charges after which the state is measured, in mid-fold and at the end of it. */
const MEASURE_AFTER_BYTES = limits.stateBytesMax;
const MEASURE_AT_END_AFTER_BYTES = limits.stateBytesMax / 8;

/**
 * Folds `events`, in order, into `state`; event types without a handler are skipped.
 *
 * Takes `state` over and may change it in place, so hand in one that nobody else holds. Events are
 * never changed, and the result shares nothing with them. Charges are taken from `budget`
 * (`newFoldBudget()` gives a full one; one budget may serve several folds in a row).
 *
 * Refuses with `fold_budget_exceeded` when the budget is spent, or when the state outgrows
 * `limits.stateBytesMax` or `limits.stateDepthMax`; what is left in `state` is then of no use. A
 * state accepted here may exceed `limits.stateBytesMax` by an eighth or so: who stores or shows it
 * checks its exact size, as bytes of its JSON text, which is always small enough to be made.
 */
export function fold(
  handlers: ReadonlyMap<string, Handler>,
  state: JsonObject,
  events: Iterable<StoredEvent>,
  budget: FoldBudget,
): Outcome<JsonObject> {
  const allowed = budget.bytesLeft;
  let window = openWindow(budget);
  let opened = window.bytesLeft;
  let next = state;
  try {
    for (const event of events) {
      const handler = handlers.get(event.type);
      if (handler === undefined) continue;
      next = handler(next, event, window);
      if (opened - window.bytesLeft > MEASURE_AFTER_BYTES) {
        checkSize(next);
        budget.bytesLeft -= opened - window.bytesLeft;
        window = openWindow(budget);
        opened = window.bytesLeft;
      }
    }
    if (opened - window.bytesLeft > MEASURE_AT_END_AFTER_BYTES) checkSize(next);
    budget.bytesLeft -= opened - window.bytesLeft;
    return accept(next);
  } catch (error) {
    if (!(error instanceof StateTooLarge)) throw error;
    budget.bytesLeft -= opened - window.bytesLeft;
    return refuse({
      kind: "fold_budget_exceeded",
      message: error.message,
      bytes: allowed - budget.bytesLeft,
      limit: limits.stateBytesMax,
    });
  }
}

function openWindow(budget: FoldBudget): FoldBudget {
  return { bytesLeft: Math.min(budget.bytesLeft, WINDOW_BYTES) };
}

function checkSize(state: JsonObject): void {
  if (!isStateWithinLimits(measureState(state))) {
    throw new StateTooLarge(`The state is larger than ${limits.stateBytesMax} bytes of JSON`);
  }
}
