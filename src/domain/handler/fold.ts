/**
 * Events into state. Holds the memory of a fold within bounds: a state is measured again whenever
 * enough has been copied for it to have outgrown `limits.stateBytesMax`.
 */

import { type Budget, BudgetSpent, spend } from "../budget.ts";
import type { StoredEvent } from "../event.ts";
import type { JsonObject } from "../json.ts";
import { limits } from "../limits.ts";
import { accept, type Outcome, refuse } from "../refusal.ts";
import { type Handler, StateTooLarge } from "./handler.ts";
import { isStateWithinLimits, measureState } from "./measure.ts";

/** What may be charged between two measurements, beside a state that is within its limit. */
const WINDOW_UNITS = 3 * limits.stateBytesMax;
/** Charges after which the state is measured, in mid-fold and at the end of it. */
const MEASURE_AFTER_UNITS = limits.stateBytesMax;
const MEASURE_AT_END_AFTER_UNITS = limits.stateBytesMax / 8;
/** What reading a character of JSON text takes, and writing one. */
const TEXT_UNITS = 2;

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
  budget: Budget,
): Outcome<JsonObject> {
  const allowed = budget.left;
  const windows = openWindows(budget);
  let next = state;
  try {
    for (const event of events) {
      const handler = handlers.get(event.type);
      if (handler === undefined) continue;
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

/** Charges the text of a state, or of events, that is read or written. */
export function spendText(budget: Budget, characters: number): void {
  spend(budget, TEXT_UNITS * characters);
}

/** `units`: what was spent until then. */
export function refuseFold(error: BudgetSpent, units: number) {
  const message = error instanceof StateTooLarge
    ? error.message
    : "Folding takes more work than one fold may";
  const limit = limits.stateBytesMax;
  return refuse({ kind: "fold_budget_exceeded", message, bytes: units, limit });
}

/** Shares of the budget: what is charged from one counts when it is closed. */
function openWindows(budget: Budget) {
  let window: Budget | undefined;
  let opened = 0;
  return {
    current(): Budget {
      if (window !== undefined) return window;
      opened = Math.min(budget.left, WINDOW_UNITS);
      return window = { left: opened };
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
