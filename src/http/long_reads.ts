/**
 * Makes reads with long answers take turns within their instance.
 *
 * While such an answer is made it takes megabytes of memory, and work that others wait for. An
 * instance whose last answer was short may make several at a time, since they cost little. Those
 * that have waited go on in slices: each begins when another one ends, so all of them together
 * would otherwise be one piece of work.
 */

import { openAdmission } from "../domain/fairness/admission.ts";
import { limits } from "../domain/limits.ts";
import { createRecentTexts } from "../domain/recent_map.ts";
import type { Refusal } from "../domain/refusal.ts";
import { hasRoomForAnswer } from "./long_answer.ts";

export const NO_TURN: Refusal = {
  kind: "no_room",
  message: "Too many long reads of this instance are under way; read their answers, then try again",
};

export interface LongReads {
  /**
   * Runs `read` when its turn comes; `lengthOf` returns the length of the result. Undefined:
   * too many reads wait already, or clients of the instance have not taken earlier answers.
   */
  run<T>(
    owner: string,
    read: () => Promise<T>,
    lengthOf: (made: T) => number,
  ): Promise<T | undefined>;
  /**
   * The same for reads that are mostly short: an owner takes turns only after a recent long
   * read. Other owners pay nothing. `name`: of what is read. If that was long the last time, it is
   * not read while there is no room for as much.
   */
  runMostlyShort<T>(
    owner: string,
    read: () => Promise<T>,
    lengthOf: (made: T) => number,
    name?: string,
  ): Promise<T | undefined>;
}

const AT_ONCE_MAX = 4;
const LONG_AT_ONCE_MAX = 1;
const LONG_CHARACTERS = 256 * 1024;
const WAITING_MAX = 256;
/** How long an owner of mostly short reads takes turns after a long one. */
const LATELY_MS = 2_000;
/** Of so many long answers the length is remembered. */
const LENGTHS_MAX = 1_000;

interface Owner {
  running: number;
  isLong: boolean;
  readonly waiting: (() => void)[];
}

/**
 * `hasRoom` returns whether another long answer of an owner could be held, of so many bytes if
 * that is known. `nextTurn` resolves in the next turn of the event loop.
 */
export function openLongReads(
  hasRoom: (owner: string, bytes?: number) => boolean,
  nowMs: () => number = () => performance.now(),
  nextTurn: () => Promise<void> = () => new Promise((resolve) => setImmediate(resolve)),
): LongReads {
  const owners = new Map<string, Owner>();
  /** Owners with a recent long read among mostly short ones, and until when it counts. */
  const lately = new Map<string, number>();
  /** Of long answers, by the names of what was read. */
  const lengths = createRecentTexts<number>(LENGTHS_MAX);
  const admission = openAdmission({ nowMs, next: nextTurn });

  function hasTurn({ running, isLong }: Owner): boolean {
    return running < (isLong ? LONG_AT_ONCE_MAX : AT_ONCE_MAX);
  }

  async function inTurn<T>(
    name: string,
    owner: Owner,
    read: () => Promise<T>,
    lengthOf: (made: T) => number,
  ): Promise<T | undefined> {
    if (hasTurn(owner)) owner.running++;
    else await new Promise<void>((resolve) => owner.waiting.push(resolve));
    try {
      if (owner.isLong && !hasRoom(name)) return undefined;
      const made = await read();
      owner.isLong = lengthOf(made) >= LONG_CHARACTERS;
      return made;
    } finally {
      owner.running--;
      while (owner.waiting.length > 0 && hasTurn(owner)) {
        owner.running++;
        const begin = owner.waiting.shift()!;
        if (admission.enter()) begin();
        else void admission.wait(name).then(begin);
      }
      if (owner.running === 0) owners.delete(name);
    }
  }

  async function run<T>(
    name: string,
    read: () => Promise<T>,
    lengthOf: (made: T) => number,
    isLong = false,
  ): Promise<T | undefined> {
    let owner = owners.get(name);
    if (owner === undefined) owners.set(name, owner = { running: 0, isLong, waiting: [] });
    if (owner.waiting.length >= WAITING_MAX) return undefined;
    return await inTurn(name, owner, read, lengthOf);
  }

  function isLately(name: string): boolean {
    const untilMs = lately.get(name);
    if (untilMs === undefined) return false;
    if (nowMs() < untilMs) return true;
    lately.delete(name);
    return false;
  }

  async function runMostlyShort<T>(
    owner: string,
    read: () => Promise<T>,
    lengthOf: (made: T) => number,
    name?: string,
  ): Promise<T | undefined> {
    const known = name === undefined ? undefined : lengths.get(name);
    const mayFit = () => known === undefined || hasRoom(owner, known);
    if (!mayFit()) return undefined;
    // While it waits for its turn, others take room.
    const readIfRoom = async () => mayFit() ? await read() : undefined;
    const lengthIfRead = (made: T | undefined) =>
      made === undefined ? LONG_CHARACTERS : lengthOf(made);
    const made = lately.size > 0 && isLately(owner)
      ? await run(owner, readIfRoom, lengthIfRead, true)
      : await read();
    if (made === undefined) return undefined;
    const length = lengthOf(made);
    if (length >= LONG_CHARACTERS) {
      lately.set(owner, nowMs() + LATELY_MS);
      if (name !== undefined) lengths.set(name, length);
    } else if (known !== undefined) lengths.delete(name!);
    return made;
  }

  return { run: (name, read, lengthOf) => run(name, read, lengthOf), runMostlyShort };
}

const readsOf = new WeakMap<object, LongReads>();

/** The turns of a service, shared by all of its listeners. */
export function longReadsOf(service: object): LongReads {
  const known = readsOf.get(service);
  if (known !== undefined) return known;
  const opened = openLongReads((owner, bytes = limits.pageBytesMax) =>
    hasRoomForAnswer(owner, bytes)
  );
  readsOf.set(service, opened);
  return opened;
}
