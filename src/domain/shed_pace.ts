/**
 * When requests that were not let in are told so: as arithmetic on given times. Each refusal takes
 * time from what was let in, and brings back a client that may ask again at once. So they are told
 * in proportion to what is answered: however many ask, and however fast the machine is, refusals
 * take a small part of it. Nobody waits for long, though. Decided in "Operations".
 */

/** Requests that are answered for each refusal that is told before it has waited its longest. */
const ANSWERS_EACH = 8;
/** Nobody is told sooner, or later, than this. */
export const HELD_MS_MIN = 500;
export const HELD_MS_MAX = 2_000;
/** What is told at once after a time in which nobody was refused. */
export const CREDIT_MAX = 1_000;

export interface ShedPace {
  /** Refusals that may be told. */
  credit: number;
}

export function newShedPace(): ShedPace {
  return { credit: CREDIT_MAX };
}

/** A request that was let in is answered. */
export function earnRefusal(pace: ShedPace): void {
  pace.credit = Math.min(CREDIT_MAX, pace.credit + 1 / ANSWERS_EACH);
}

/** Whether the refusal that has waited longest is told now: if so, it counts as told. */
export function tellRefusal(pace: ShedPace, waitedMs: number): boolean {
  if (waitedMs < HELD_MS_MIN) return false;
  if (pace.credit >= 1) pace.credit--;
  else if (waitedMs < HELD_MS_MAX) return false;
  return true;
}
