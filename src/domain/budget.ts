/**
 * Budgets for work whose size a client chooses.
 *
 * Every loop over client input must be one of three kinds, and must say or show which:
 *
 * - **charged**: it charges a {@link Budget} for what it does (keys looked at, characters
 *   compared, elements moved) and throws {@link BudgetSpent} when the budget is used up;
 * - **sliced**: it yields the thread to other work between time slices (`pieces.ts`);
 * - **bounded**: a named limit in `limits.ts` keeps it small.
 *
 * Budgets count units instead of time, so that the same input gets the same answer on every
 * machine. One unit is the cost of handling one character, between one and five nanoseconds.
 */

/** Units that take about five milliseconds: the most that one time slice may do. */
export const PIECE_UNITS = 1 << 20;

export interface Budget {
  left: number;
  /** See {@link newPieceBudget}. */
  readonly isLate?: () => boolean;
}

/** Thrown when a budget is used up. The code that created the budget catches it. */
export class BudgetSpent extends Error {
  override readonly name: string = "BudgetSpent";

  constructor(message = "This takes more work than one request may ask for") {
    super(message);
  }
}

export function newBudget(units: number): Budget {
  return { left: units };
}

/** A monotonic clock, in milliseconds. */
export interface Clock {
  monotonicMs(): number;
}

/** Several times as long as {@link PIECE_UNITS} usually take. Milliseconds. */
const PIECE_LATE_MS = 20;

/**
 * For one time slice of work that is done again elsewhere if it does not end in time, so that its
 * result does not depend on the clock. Units do not tell of keys that are slow to find
 * (`json_text/name_cost.ts`).
 */
export function newPieceBudget(
  { monotonicMs }: Clock,
  units: number = PIECE_UNITS,
): Required<Budget> {
  const endMs = monotonicMs() + PIECE_LATE_MS;
  return { left: units, isLate: () => monotonicMs() > endMs };
}

/**
 * Called between parts of the work.
 * @throws {BudgetSpent} when time is up; no units are left then.
 */
export function checkTime(budget: Budget): void {
  if (budget.isLate?.() !== true) return;
  budget.left = -1;
  throw new BudgetSpent();
}

/**
 * Charges `units`.
 * @throws {BudgetSpent} when fewer units than that are left.
 */
export function spend(budget: Budget, units: number): void {
  budget.left -= units;
  if (budget.left < 0) throw new BudgetSpent();
}
