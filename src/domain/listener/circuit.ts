/**
 * Whether an endpoint is worth a try: after many failures in a row it is left alone for a while,
 * then one delivery finds out whether it is back. What waits meanwhile has lost no try of its own.
 */

import { limits } from "../limits.ts";

export interface Circuit {
  readonly failuresInRow: number;
  /** Left alone until then; 0 while all is well. */
  readonly openUntilMs: number;
  /** One delivery is finding out. */
  readonly isProbing: boolean;
}

export const CLOSED_CIRCUIT: Circuit = { failuresInRow: 0, openUntilMs: 0, isProbing: false };

/** Whether a try may begin now. The one who begins tells so: {@link circuitAtStart}. */
export function allowsTry({ openUntilMs, isProbing }: Circuit, nowMs: number): boolean {
  if (openUntilMs === 0) return true;
  // A clock that was set back must not leave an endpoint alone for longer.
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
