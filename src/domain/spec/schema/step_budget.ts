/**
 * How much work checking one event may take. Counted in steps, never in time, so that the same
 * event has the same answer everywhere: nested `anyOf`s and recursive `$ref`s can ask for
 * exponential work from small data. One step is about one visit of one schema to one value.
 */

/** Far above ordinary use (100 KB of small numbers take some 100,000), and well below a second. */
export const STEPS_MAX = 2_000_000;

/** Thrown by validators, caught where the event is checked. */
export class StepsExhausted extends Error {
  override readonly name = "StepsExhausted";
}

export interface StepBudget {
  left: number;
}

/** Takes `steps`; throws {@link StepsExhausted} when there are not so many left. */
export function spend(budget: StepBudget, steps: number): void {
  budget.left -= steps;
  if (budget.left < 0) throw new StepsExhausted();
}
