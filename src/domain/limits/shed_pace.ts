/**
 * Paces the refusals of requests that were not let in. Pure arithmetic on the times passed in.
 *
 * Each refusal takes time from the requests that were let in, and brings back a client that may
 * ask again at once. Refusals are therefore sent in proportion to answers: however many clients
 * ask, and however fast the machine is, refusals take a small part of its time. No client waits
 * longer than {@link HELD_MS_MAX} for its refusal. See docs/reference/limits.md.
 */

/** Answers that earn one refusal sent before its longest wait. */
const ANSWERS_EACH = 8;
/** No refusal is sent sooner than the first or later than the second. */
export const HELD_MS_MIN = 500;
export const HELD_MS_MAX = 2_000;
/** Refusals that may be sent in a burst after a quiet time. */
export const CREDIT_MAX = 1_000;

export interface ShedPace {
  /** Refusals that may be sent now. */
  credit: number;
}

export function newShedPace(): ShedPace {
  return { credit: CREDIT_MAX };
}

/** Notes the answer to a request that was let in. */
export function earnRefusal(pace: ShedPace): void {
  pace.credit = Math.min(CREDIT_MAX, pace.credit + 1 / ANSWERS_EACH);
}

/** Whether to send the refusal that has waited longest. If so, it counts as sent. */
export function tellRefusal(pace: ShedPace, waitedMs: number): boolean {
  if (waitedMs < HELD_MS_MIN) return false;
  if (pace.credit >= 1) pace.credit--;
  else if (waitedMs < HELD_MS_MAX) return false;
  return true;
}
