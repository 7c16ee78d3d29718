/**
 * Admits short work of many owners: in each turn as much as fits into one time slice, and as many
 * bytes as the runtime sends in about the same time.
 */

import { openFairLine } from "./fair_line.ts";
import { type BriefTurns, PIECE_MS_MAX, readySteps } from "./pieces.ts";

export interface OwnerGate {
  /**
   * Undefined if the work may begin now; otherwise resolves when it may. Owners take turns, however
   * much of each of them waits.
   */
  enter(owner: string): Promise<void> | undefined;
  /** Counts bytes that admitted work sends in this turn. */
  spend(bytes: number): void;
}

/** The runtime copies them, and hands them to the system when the turn of the loop is over. */
const TURN_BYTES_MAX = 1024 * 1024;

/** Reads that share a page need more steps of promises than others. */
export const READ_STEPS_MAX = 64;

export function openOwnerGate(turns: BriefTurns): OwnerGate {
  const line = openFairLine<string>();
  let waiting = 0;
  /** Whether admitted work is running, or some waits. */
  let isMoving = false;
  /** When the slice of this turn ends; undefined if the turn has none yet. */
  let endMs: number | undefined;
  let bytesLeft = TURN_BYTES_MAX;

  function isOver(): boolean {
    if (endMs !== undefined) return bytesLeft <= 0 || turns.monotonicMs() >= endMs;
    endMs = turns.monotonicMs() + PIECE_MS_MAX;
    bytesLeft = TURN_BYTES_MAX;
    void turns.yieldBriefly().then(() => endMs = undefined);
    return false;
  }

  function enter(owner: string): Promise<void> | undefined {
    const mayBegin = !isMoving && !isOver();
    const turnComes = mayBegin ? undefined : new Promise<void>((resolve) => {
      waiting++;
      line.push(owner, resolve);
    });
    if (!isMoving) void move();
    return turnComes;
  }

  /** Lets the next one begin when the one before has run, so that the slice accounts for it. */
  async function move(): Promise<void> {
    isMoving = true;
    await readySteps(READ_STEPS_MAX);
    while (waiting > 0) {
      if (isOver()) {
        await turns.yieldTurn();
        continue;
      }
      waiting--;
      line.take(() => true)!();
      await readySteps(READ_STEPS_MAX);
    }
    isMoving = false;
  }

  return { enter, spend: (bytes) => void (bytesLeft -= bytes) };
}

const gates = new WeakMap<object, OwnerGate>();

/** The gate of a service, shared by all of its listeners. */
export function gateOf(service: object, turns: BriefTurns): OwnerGate {
  const known = gates.get(service);
  if (known !== undefined) return known;
  const opened = openOwnerGate(turns);
  gates.set(service, opened);
  return opened;
}
