/**
 * Folds events into a state within a budget of work and memory.
 *
 * To bound memory, the fold measures the state again whenever the events have copied enough for
 * it to have outgrown `limits.stateBytesMax`.
 */

import { type Budget, BudgetSpent, checkTime, newShare, spend } from "../budget.ts";
import type { StoredEvent } from "../event.ts";
import type { JsonObject } from "../json.ts";
import { limits } from "../limits.ts";
import { accept, type Outcome, refuse } from "../refusal.ts";
import { type Handler, StateTooLarge } from "./handler.ts";
import { isStateWithinLimits, measureState } from "./measure.ts";

/** Units the handlers may charge between two measurements, beyond a state within its limit. */
const WINDOW_UNITS = 3 * limits.stateBytesMax;
/** Units after which the state is measured: in mid-fold, and at the end of the fold. */
const MEASURE_AFTER_UNITS = limits.stateBytesMax;
const MEASURE_AT_END_AFTER_UNITS = limits.stateBytesMax / 8;
/** Units for reading or writing one character of JSON text. */
const TEXT_UNITS = 2;

/**
 * Folds `events`, in order, into `state`; event types without a handler are skipped.
 *
 * The fold takes ownership of `state` and may change it in place, so pass one that nobody else
 * holds. It never changes the events, and the result shares nothing with them. It charges
 * `budget` (`newFoldBudget()` returns a full one; one budget may serve several folds in a row).
 *
 * Refuses with `fold_budget_exceeded` when the budget is spent, or when the state outgrows
 * `limits.stateBytesMax` or `limits.stateDepthMax`; `state` must not be used after that. An
 * accepted state may still exceed `limits.stateBytesMax` by about an eighth, so callers that
 * store or return it check its exact size in bytes of JSON. Such a state is always small enough
 * to encode.
 */
export function fold(
  handlers: ReadonlyMap<string, Handler>,
  state: JsonObject,
  events: Iterable<StoredEvent>,
  budget: Budget,
): Outcome<JsonObject> {
  const allowed = budget.left;
  const windows = openWindows(budget);
  let next = state;
  try {
    for (const event of events) {
      const handler = handlers.get(event.type);
      if (handler === undefined) continue;
      checkTime(budget);
      next = handler(next, event, windows.current());
      if (windows.spent() > MEASURE_AFTER_UNITS) {
        windows.close();
        checkSize(next, budget);
      }
    }
    const isMeasured = windows.spent() > MEASURE_AT_END_AFTER_UNITS;
    windows.close();
    if (isMeasured) checkSize(next, budget);
    return accept(next);
  } catch (error) {
    if (!(error instanceof BudgetSpent)) throw error;
    windows.close();
    return refuseFold(error, allowed - budget.left);
  }
}

/** Charges for reading or writing the JSON text of a state or of events. */
export function spendText(budget: Budget, characters: number): void {
  spend(budget, TEXT_UNITS * characters);
}

/** The refusal for a fold that ran out of budget; `units` is what it had spent by then. */
export function refuseFold(error: BudgetSpent, units: number) {
  const message = error instanceof StateTooLarge
    ? error.message
    : "Folding takes more work than one fold may";
  const limit = limits.stateBytesMax;
  return refuse({ kind: "fold_budget_exceeded", message, bytes: units, limit });
}

/** Gives out shares of the budget; a share is deducted from the budget when its window closes. */
function openWindows(budget: Budget) {
  let window: Budget | undefined;
  let opened = 0;
  return {
    current(): Budget {
      if (window !== undefined) return window;
      opened = Math.min(budget.left, WINDOW_UNITS);
      return window = newShare(budget, opened);
    },
    spent: () => window === undefined ? 0 : opened - window.left,
    close(): void {
      if (window !== undefined) budget.left -= opened - window.left;
      window = undefined;
    },
  };
}

function checkSize(state: JsonObject, budget: Budget): void {
  const size = measureState(state);
  if (!isStateWithinLimits(size)) {
    throw new StateTooLarge(`The state is larger than ${limits.stateBytesMax} bytes of JSON`);
  }
  spendText(budget, size.bytes);
}
