/**
 * Time slices of work inside transactions.
 *
 * A transaction has five seconds, so its slices wait for no other long work. They wait for each
 * other: however many transactions work at a time, all of them together have one slice in each
 * turn of the event loop. Owners, such as the numbers of environments, take turns.
 */

import { type FairLine, openFairLine } from "./fair_line.ts";
import { PIECE_MS_MAX, type Pieces, readySteps, type Turns } from "./pieces.ts";

/** The slice that all transactions share, and who waits for the next one. */
interface SharedSlice {
  readonly line: FairLine<number | string>;
  waiting: number;
  isMoving: boolean;
  endMs: number;
}

const slices = new WeakMap<Turns, SharedSlice>();

function sliceOf(turns: Turns): SharedSlice {
  const known = slices.get(turns);
  if (known !== undefined) return known;
  const slice = { line: openFairLine<number | string>(), waiting: 0, isMoving: false, endMs: 0 };
  slices.set(turns, slice);
  return slice;
}

/** The work begins in the slice under way, if there is one, and otherwise begins one. */
export function openTransactionPieces(turns: Turns, owner: number | string): Pieces {
  const slice = sliceOf(turns);
  const nowMs = turns.monotonicMs();
  if (!slice.isMoving && nowMs >= slice.endMs) slice.endMs = nowMs + PIECE_MS_MAX;
  let { endMs } = slice;

  function next(): Promise<void> {
    return new Promise((resolve) => {
      slice.waiting++;
      slice.line.push(owner, () => {
        endMs = slice.endMs;
        resolve();
      });
      if (!slice.isMoving) void move(turns, slice);
    });
  }

  return { rest: () => turns.monotonicMs() >= endMs ? next() : undefined };
}

async function move(turns: Turns, slice: SharedSlice): Promise<void> {
  slice.isMoving = true;
  while (slice.waiting > 0) {
    await turns.yieldTurn();
    slice.endMs = turns.monotonicMs() + PIECE_MS_MAX;
    do {
      slice.waiting--;
      slice.line.take(() => true)!();
      // Whoever goes on runs up to its next pause.
      await readySteps();
    } while (slice.waiting > 0 && turns.monotonicMs() < slice.endMs);
  }
  slice.isMoving = false;
}
