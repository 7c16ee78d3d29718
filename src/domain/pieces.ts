/**
 * Long work in pieces: the thread is given to others whenever one piece has run for some
 * milliseconds. So a request that asks for much takes its time, and nobody waits for it.
 *
 *     const pieces = openPieces(host);
 *     for (const event of events) {
 *       await pieces.rest();
 *       check(event);
 *     }
 *
 * In a loop whose steps take microseconds, ask without waiting for nothing:
 *
 *     const rest = pieces.rest();
 *     if (rest !== undefined) await rest;
 */

/** The part of `Host` that this needs. */
export interface Turns {
  monotonicMs(): number;
  yieldTurn(): Promise<void>;
}

export interface Pieces {
  /** Undefined while the piece may go on; else what to wait for before the next one begins. */
  rest(): Promise<void> | undefined;
}

/** How long one piece may run. */
export const PIECE_MS_MAX = 4;

/** The last one in line, by whose turns they are. */
const lines = new WeakMap<Turns, Promise<void>>();

/**
 * A turn of the event loop for oneself: of all who wait, one goes on in each. However many pieces
 * are under way, others wait for one of them at a time.
 */
export function waitForTurn(turns: Turns): Promise<void> {
  const before = lines.get(turns) ?? Promise.resolve();
  const turn = before.then(() => turns.yieldTurn());
  lines.set(turns, turn.catch(() => {}));
  return turn;
}

/** The first piece begins now. */
export function openPieces(turns: Turns, pieceMs: number = PIECE_MS_MAX): Pieces {
  let endMs = turns.monotonicMs() + pieceMs;

  async function next(): Promise<void> {
    await waitForTurn(turns);
    endMs = turns.monotonicMs() + pieceMs;
  }

  return { rest: () => turns.monotonicMs() < endMs ? undefined : next() };
}

/** Work that says where it may rest: at each `yield`. */
export type Steps<T> = Generator<void, T, void>;

/** Does all of it now, for callers whose work is small. */
export function runAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/**
 * In pieces; what fits into the first one is there at once, without a promise. What does not waits
 * for `enter` before its second one.
 */
export function runInPieces<T>(
  steps: Steps<T>,
  turns: Turns,
  enter?: () => Promise<void>,
): T | Promise<T> {
  // What never rests, as a write of one event, does not pay for the clock.
  const first = steps.next();
  if (first.done) return first.value;
  const pieces = openPieces(turns);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    const rest = pieces.rest();
    if (rest !== undefined) return runFurther(steps, pieces, rest, enter);
  }
}

async function runFurther<T>(
  steps: Steps<T>,
  pieces: Pieces,
  first: Promise<void>,
  enter: (() => Promise<void>) | undefined,
): Promise<T> {
  await first;
  if (enter !== undefined) await enter();
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    const rest = pieces.rest();
    if (rest !== undefined) await rest;
  }
}

/** What may be begun in one turn of the event loop, until that has taken its time. */
export interface TurnPiece {
  /** The piece begins now, unless one is under way. */
  begin(): void;
  /** Whether the one that is under way has had its time; then the next turn is to be waited for. */
  isOver(): boolean;
}

/** `onTurn` is called in the turn behind each piece: the next one may begin there. */
export function openTurnPiece(turns: Turns, pieceMs: number, onTurn: () => void): TurnPiece {
  let endMs: number | undefined;

  return {
    begin() {
      if (endMs !== undefined) return;
      endMs = turns.monotonicMs() + pieceMs;
      void turns.yieldTurn().then(() => {
        endMs = undefined;
        onTurn();
      });
    },
    isOver: () => endMs !== undefined && turns.monotonicMs() >= endMs,
  };
}

/** Where works of many owners begin, each short: so many in a turn as fit into one piece. */
export interface Gate {
  /** Undefined where the work may begin; else what to wait for before that. */
  enter(): Promise<void> | undefined;
}

/** The part of `Host` that a gate needs. */
export interface BriefTurns extends Turns {
  yieldBriefly(): Promise<void>;
}

/** Whoever waits goes on in the order of arrival. */
export function openGate(turns: BriefTurns): Gate {
  const waiting: (() => void)[] = [];
  const piece = openTurnPiece(turns, PIECE_MS_MAX, () => void goOn());

  async function goOn(): Promise<void> {
    if (waiting.length > 0) piece.begin();
    while (waiting.length > 0 && !piece.isOver()) {
      waiting.shift()!();
      // What it does at once is done by then.
      await turns.yieldBriefly();
    }
  }

  return {
    enter() {
      if (waiting.length > 0 || piece.isOver()) {
        return new Promise((resolve) => waiting.push(resolve));
      }
      piece.begin();
      return undefined;
    },
  };
}
