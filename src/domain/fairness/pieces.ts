/**
 * Splits long work into time slices and yields the thread to other work between them.
 *
 * A large request then takes its time without making others wait.
 *
 *     const pieces = openPieces(host);
 *     for (const event of events) {
 *       await pieces.rest();
 *       check(event);
 *     }
 *
 * In a loop whose steps take microseconds, await only when there is something to await:
 *
 *     const rest = pieces.rest();
 *     if (rest !== undefined) await rest;
 */

import { type FairLine, openFairLine } from "./fair_line.ts";

/** The part of `Host` that time slices need. */
export interface Turns {
  monotonicMs(): number;
  yieldTurn(): Promise<void>;
}

export interface Pieces {
  /** Undefined while the slice may go on; otherwise resolves when the next slice may begin. */
  rest(): Promise<void> | undefined;
}

/** How long one time slice may run. */
export const PIECE_MS_MAX = 4;
/**
 * The first time slice while others wait for theirs. Many requests may arrive in one turn, so
 * only short ones are done in it.
 */
const CROWDED_MS_MAX = 0.5;

/** Those who wait for turns of one source: after their first slice, and after later ones. */
interface Line {
  readonly first: (() => void)[];
  /** By the instance for which they wait; those of no known one have turns together. */
  readonly further: FairLine<string>;
  waiting: number;
  isMoving: boolean;
  /** Those that share turns. */
  readonly short: FairLine<string>;
  shortWaiting: number;
}

const lines = new WeakMap<Turns, Line>();
/** Whose slices have no owner that is known. */
const NO_OWNER = "";

/** What does not wait for the outside world ends within so many steps of promises. */
const STEPS_MAX = 24;

/** Lets work that is ready run as far as it goes without the outside world. */
export async function readySteps(count: number = STEPS_MAX): Promise<void> {
  for (let steps = 0; steps < count; steps++) await undefined;
}

/**
 * Waits for an event-loop turn of the caller's own: one waiter goes on in each turn. However
 * many slices wait, other work is held up by one slice at a time. Work that has had only one slice
 * is probably short, so every other turn is for such work, if there is any. Owners take turns in
 * the rest, however many slices each of them has waiting.
 */
export function waitForTurn(turns: Turns, isFirst = false, owner = NO_OWNER): Promise<void> {
  const line = lineOf(turns);
  return new Promise((resolve) => {
    line.waiting++;
    if (isFirst) line.first.push(resolve);
    else line.further.push(owner, resolve);
    if (!line.isMoving) void move(turns, line);
  });
}

function lineOf(turns: Turns): Line {
  const known = lines.get(turns);
  if (known !== undefined) return known;
  const line: Line = {
    first: [],
    further: openFairLine(),
    waiting: 0,
    isMoving: false,
    short: openFairLine(),
    shortWaiting: 0,
  };
  lines.set(turns, line);
  return line;
}

/**
 * The same turns with a line of their own, for work that waits for no other long work. Never one
 * for each request: all lines move in the same turn. See `transaction_pieces.ts`.
 */
export function withOwnLine({ monotonicMs, yieldTurn }: Turns): Turns {
  return { monotonicMs, yieldTurn };
}

async function move(turns: Turns, line: Line): Promise<void> {
  const { first, further } = line;
  line.isMoving = true;
  const nextFirst = () => first.shift();
  const nextFurther = () => further.take(() => true);
  for (let turn = 0; line.waiting > 0; turn++) {
    await turns.yieldTurn();
    line.waiting--;
    const [preferred, other] = turn % 2 === 0 ? [nextFirst, nextFurther] : [nextFurther, nextFirst];
    (preferred() ?? other())!();
  }
  line.isMoving = false;
}

/** Short ones go on in one turn for so long. */
const SHORT_MS_MAX = PIECE_MS_MAX / 2;
/** And so many of them: what each does after it has waited for the outside world is not seen. */
const SHORT_ONES_MAX = 8;
const SHORT_ONES = "short";

/**
 * The same for slices that are probably far shorter than a turn: a turn waits until the loop is
 * idle, for a millisecond or two. So all of them wait as one, and a few go on together.
 */
export function waitForSharedTurn(turns: Turns, owner: string): Promise<void> {
  const line = lineOf(turns);
  return new Promise((resolve) => {
    line.short.push(owner, resolve);
    if (line.shortWaiting++ === 0) void serveShort(turns, line);
  });
}

async function serveShort(turns: Turns, line: Line): Promise<void> {
  while (line.shortWaiting > 0) {
    await waitForTurn(turns, false, SHORT_ONES);
    const endMs = turns.monotonicMs() + SHORT_MS_MAX;
    for (let left = SHORT_ONES_MAX; left > 0 && line.shortWaiting > 0; left--) {
      line.short.take(() => true)!();
      await readySteps();
      line.shortWaiting--;
      if (turns.monotonicMs() >= endMs) break;
    }
  }
}

/**
 * The first slice begins now. The work waits for `enter` before it waits for its second one.
 * Parts of the work that run side by side may share the slices. Those that wait then go on in the
 * same turn, one after the other, for as long as its slice lasts.
 */
export function openPieces(
  turns: Turns,
  pieceMs: number = PIECE_MS_MAX,
  enter?: () => Promise<void>,
): Pieces {
  const isCrowded = lines.get(turns)?.isMoving ?? false;
  let endMs = turns.monotonicMs() + (isCrowded ? CROWDED_MS_MAX : pieceMs);
  let isFirst = true;
  const waiting: PromiseWithResolvers<void>[] = [];

  const isOver = () => turns.monotonicMs() >= endMs;

  function next(): Promise<void> {
    const waiter = Promise.withResolvers<void>();
    if (waiting.push(waiter) === 1) void serve();
    return waiter.promise;
  }

  async function serve(): Promise<void> {
    try {
      while (waiting.length > 0) {
        await begin();
        do {
          waiting[0]!.resolve();
          // It runs up to its next pause meanwhile.
          await undefined;
          waiting.shift();
        } while (waiting.length > 0 && !isOver());
      }
    } catch (error) {
      for (const { reject } of waiting.splice(0)) reject(error);
    }
  }

  async function begin(): Promise<void> {
    if (isFirst && enter !== undefined) await enter();
    const turn = waitForTurn(turns, isFirst);
    isFirst = false;
    await turn;
    endMs = turns.monotonicMs() + pieceMs;
  }

  return { rest: () => isOver() ? next() : undefined };
}

/** Work as a generator that may be paused at each `yield`. */
export type Steps<T> = Generator<void, T, void>;

/** Runs all steps now, for callers whose work is small. */
export function runAtOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/**
 * Runs the steps in time slices. Work that fits into the first slice returns its value at once,
 * without a promise. Longer work waits for `enter` before its second slice.
 */
export function runInPieces<T>(
  steps: Steps<T>,
  turns: Turns,
  enter?: () => Promise<void>,
): T | Promise<T> {
  // Work that never yields, such as a write of one event, does not pay for reading the clock.
  const first = steps.next();
  if (first.done) return first.value;
  const pieces = openPieces(turns, PIECE_MS_MAX, enter);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    const rest = pieces.rest();
    if (rest !== undefined) return runFurther(steps, pieces, rest);
  }
}

async function runFurther<T>(
  steps: Steps<T>,
  pieces: Pieces,
  first: Promise<void>,
): Promise<T> {
  await first;
  return await runWithin(pieces, steps);
}

/** Runs the steps in slices that were opened before and are shared with other work. */
export async function runWithin<T>(pieces: Pieces, steps: Steps<T>): Promise<T> {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    const rest = pieces.rest();
    if (rest !== undefined) await rest;
  }
}

/** One time slice for all the work that begins in the same event-loop turn. */
export interface TurnPiece {
  /** Begins the slice, unless one is under way. */
  begin(): void;
  /** True when the slice under way has used up its time; wait for the next turn then. */
  isOver(): boolean;
}

/** Calls `onTurn` in the turn after each slice, where the next one may begin. */
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

/** Admits short work of many owners: in each turn as much as fits into one time slice. */
export interface Gate {
  /** Undefined if the work may begin now; otherwise resolves when it may. */
  enter(): Promise<void> | undefined;
}

/** The part of `Host` that a gate needs. */
export interface BriefTurns extends Turns {
  yieldBriefly(): Promise<void>;
}

/** Waiters are admitted in the order of arrival. */
export function openGate(turns: BriefTurns): Gate {
  const waiting: (() => void)[] = [];
  const piece = openTurnPiece(turns, PIECE_MS_MAX, () => void goOn());

  async function goOn(): Promise<void> {
    if (waiting.length > 0) piece.begin();
    while (waiting.length > 0 && !piece.isOver()) {
      waiting.shift()!();
      // Lets the admitted work run its synchronous part, so that the slice accounts for it.
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

/** Admits a number of equal steps in each turn; the others wait in line for the next. */
export interface TurnQuota {
  /** Undefined if the step may begin now; otherwise resolves when it may. */
  enter(): Promise<void> | undefined;
}

/** `nextTurn` resolves in the next turn. Waiters are admitted in the order of arrival. */
export function openTurnQuota(stepsPerTurn: number, nextTurn: () => Promise<void>): TurnQuota {
  let left = 0;
  let isOpen = false;
  let waiting: (() => void)[] = [];

  async function begin(): Promise<void> {
    isOpen = true;
    left = stepsPerTurn;
    await nextTurn();
    isOpen = false;
    if (waiting.length === 0) return;
    void begin();
    const admitted = waiting.slice(0, stepsPerTurn);
    waiting = waiting.slice(stepsPerTurn);
    left -= admitted.length;
    for (const goOn of admitted) goOn();
  }

  return {
    enter() {
      if (!isOpen) void begin();
      if (left > 0) {
        left--;
        return undefined;
      }
      return new Promise((resolve) => waiting.push(resolve));
    },
  };
}
