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
  /** When less than this is left, somebody looks at the clock. Without one: 0. */
  lookBelow: number;
  /** See {@link newPieceBudget}. */
  readonly time?: PieceTime;
  /** See {@link newTimedBudget}. */
  readonly clock?: Clock;
  readonly pieceMs?: number;
}

/** Thrown when a budget is used up. The code that created the budget catches it. */
export class BudgetSpent extends Error {
  override readonly name: string = "BudgetSpent";

  /**
   * @param ran what has run out: units; time, in which another try may end; or time because each
   * of a few units was slow, as it is where keys collide.
   */
  constructor(
    message = "This takes more work than one request may ask for",
    readonly ran: "out" | "late" | "slow" = "out",
  ) {
    super(message);
  }
}

/** The time of one slice. */
export interface PieceTime {
  /** Whether the slice has taken too long. */
  isLate(): boolean;
  /** The same after so many units; "slow" if another try would be late as well. */
  look(units: number): "late" | "slow" | undefined;
}

export function newBudget(units: number): Budget {
  return { left: units, lookBelow: 0 };
}

/** A monotonic clock, in milliseconds. */
export interface Clock {
  monotonicMs(): number;
}

/** For work in many pieces, each of which has to end in so many milliseconds. Default: 20. */
export function newTimedBudget(clock: Clock, units: number, pieceMs = PIECE_LATE_MS): Budget {
  return { left: units, lookBelow: 0, clock, pieceMs };
}

/** Several times as long as {@link PIECE_UNITS} usually take. Milliseconds. */
const PIECE_LATE_MS = 20;
/** Units between two looks at the clock: some microseconds. */
const LOOK_UNITS = 2_048;
/** Units are slow where so few of them take more milliseconds than this, several times. */
const SLOW_UNITS_MAX = 8 * LOOK_UNITS;
const SLOW_MS_MIN = 1.5;
/** In one slice, and more often than not: other work of the machine interrupts it now and then. */
const SLOW_LOOKS_MIN = 4;

/** Without `startedMs`, the time begins with the first look. */
function openTime(
  { monotonicMs }: Clock,
  startedMs?: number,
  pieceMs: number = PIECE_LATE_MS,
): PieceTime {
  let lookedMs = startedMs;
  let endMs = startedMs === undefined ? undefined : startedMs + pieceMs;
  let [looks, slowLooks] = [0, 0];

  function look(units: number): "late" | "slow" | undefined {
    const nowMs = monotonicMs();
    const tookMs = nowMs - (lookedMs ?? nowMs);
    lookedMs = nowMs;
    endMs ??= nowMs + pieceMs;
    looks++;
    if (units <= SLOW_UNITS_MAX && tookMs > SLOW_MS_MIN) slowLooks++;
    if (slowLooks >= SLOW_LOOKS_MIN && 2 * slowLooks > looks) return "slow";
    return nowMs > endMs ? "late" : undefined;
  }

  return { isLate: () => look(Infinity) !== undefined, look };
}

/**
 * For one time slice of work that is done again elsewhere if it does not end in time, so that its
 * result does not depend on the clock. Units do not tell of keys that are slow to find
 * (`json_text/name_cost.ts`).
 */
export function newPieceBudget(
  clock: Clock,
  units: number = PIECE_UNITS,
): Budget & { readonly time: PieceTime } {
  const time = openTime(clock, clock.monotonicMs());
  return { left: units, lookBelow: lookBelow(units), time };
}

/**
 * One time slice of the budget. If that has a clock, its time begins with the first look at it,
 * which costs as much as a small guard.
 */
export function newPieceOf({ left, clock, pieceMs }: Budget): Budget {
  const units = Math.min(PIECE_UNITS, Math.max(0, left));
  if (clock === undefined) return newBudget(units);
  return { left: units, lookBelow: lookBelow(units), time: openTime(clock, undefined, pieceMs) };
}

/** So many units on their own, within the time of `budget`. */
export function newShare({ time }: Budget, units: number): Budget {
  if (time === undefined) return newBudget(units);
  return { left: units, lookBelow: lookBelow(units), time };
}

/**
 * Called between parts of the work.
 * @throws {BudgetSpent} when time is up; no units are left then.
 */
export function checkTime(budget: Budget): void {
  if (budget.time?.isLate()) endTime(budget, "late");
}

function endTime(budget: Budget, ran: "late" | "slow"): never {
  budget.left = -1;
  throw new BudgetSpent("This takes longer than one request may", ran);
}

/**
 * Charges `units`.
 * @throws {BudgetSpent} when fewer units than that are left, or when time is up.
 */
export function spend(budget: Budget, units: number): void {
  budget.left -= units;
  if (budget.left < budget.lookBelow) look(budget);
}

function look(budget: Budget): void {
  if (budget.left < 0) throw new BudgetSpent();
  const ran = budget.time?.look(budget.lookBelow + LOOK_UNITS - budget.left);
  if (ran !== undefined) endTime(budget, ran);
  budget.lookBelow = lookBelow(budget.left);
}

/** Never below 0: with no units left, the next one is refused. */
function lookBelow(left: number): number {
  return Math.max(0, left - LOOK_UNITS);
}
