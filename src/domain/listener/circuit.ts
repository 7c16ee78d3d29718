/**
 * Which delivery tries may begin: a circuit breaker for each endpoint, and bulkheads.
 *
 * After many failures in a row the endpoint is left alone for a while. Then one delivery probes
 * whether it is back. Deliveries that wait meanwhile do not lose a try. The bulkheads limit the
 * concurrent tries of one listener and of one instance, so slow or silent endpoints leave other
 * listeners and instances what they need.
 */

import { limits } from "../limits.ts";

export interface Circuit {
  readonly failuresInRow: number;
  /** The endpoint is left alone until then; 0 while all is well. */
  readonly openUntilMs: number;
  /** True while one delivery probes the endpoint. */
  readonly isProbing: boolean;
}

export const CLOSED_CIRCUIT: Circuit = { failuresInRow: 0, openUntilMs: 0, isProbing: false };

/** Whether a try may begin now. When it begins, apply {@link circuitAtStart}. */
export function allowsTry({ openUntilMs, isProbing }: Circuit, nowMs: number): boolean {
  if (openUntilMs === 0) return true;
  // A clock that was set back must not extend the pause.
  return !isProbing && (nowMs >= openUntilMs || nowMs < openUntilMs - limits.circuitPauseMs);
}

export function circuitAtStart(circuit: Circuit): Circuit {
  return circuit.openUntilMs === 0 ? circuit : { ...circuit, isProbing: true };
}

export function circuitAfter(circuit: Circuit, isSuccess: boolean, nowMs: number): Circuit {
  if (isSuccess) return CLOSED_CIRCUIT;
  const failuresInRow = circuit.failuresInRow + 1;
  const isOpen = failuresInRow >= limits.circuitFailuresMax;
  return {
    failuresInRow,
    openUntilMs: isOpen ? nowMs + limits.circuitPauseMs : 0,
    isProbing: false,
  };
}

/** A listener may take at most the free slots divided by this, so it cannot use them up alone. */
const SHARE_OF_FREE = 8;

/** Whether a listener may begin one more try. `own` of the `all` tries under way are its own. */
export function allowsAnother(own: number, all: number): boolean {
  const free = limits.deliveriesUnderWayMax - all;
  return own < Math.min(limits.deliveriesPerListenerMax, Math.ceil(free / SHARE_OF_FREE));
}

/**
 * The same for all listeners of one instance together. An instance may have as many tries as
 * are free, minus those kept for instances that have none. An instance alone therefore gets
 * three eighths of all.
 */
export function allowsInstance(own: number, all: number): boolean {
  const free = limits.deliveriesUnderWayMax - all;
  return own === 0 ? free > 0 : own < free - limits.deliveriesKeptForOthers;
}
