/**
 * What work may cost whose size a client chooses. Such work is one of three things, and each loop
 * over what a client sends says which:
 *
 * - **charged**: it draws on a {@link Budget} for what it really does (keys looked at, characters
 *   compared, elements moved) and ends with {@link BudgetSpent} when that is used up;
 * - **cut into pieces**: it lets others have the thread between them (`pieces.ts`);
 * - **bounded**: a limit with a name in `limits.ts` keeps it small.
 *
 * Budgets count units and not time, so that the same input has the same answer everywhere. One
 * unit is what handling one character costs: between one and five nanoseconds.
 */

/** Units that take about five milliseconds: the most that is to be done in one piece. */
export const PIECE_UNITS = 1 << 20;

export interface Budget {
  left: number;
}

/** Thrown where a budget does not reach; caught by whoever gave the budget. */
export class BudgetSpent extends Error {
  override readonly name: string = "BudgetSpent";

  constructor(message = "This takes more work than one request may ask for") {
    super(message);
  }
}

export function newBudget(units: number): Budget {
  return { left: units };
}

/** Takes `units`. @throws {BudgetSpent} when there are not so many left. */
export function spend(budget: Budget, units: number): void {
  budget.left -= units;
  if (budget.left < 0) throw new BudgetSpent();
}
