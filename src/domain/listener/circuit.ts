/**
 * Circuit breaker of an endpoint: whether it is worth a try.
 *
 * After many failures in a row the endpoint is left alone for a while. Then one delivery probes
 * whether it is back. Deliveries that wait meanwhile do not lose a try.
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
