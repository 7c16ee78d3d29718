/**
 * The simulation's time: a list of what happens when, on one thread. Nothing happens between
 * two entries, so the entries alone decide a run. Waiting costs nothing.
 */

import { createHash } from "node:crypto";
import { setImmediate } from "node:timers";

export interface VirtualTime {
  /** Milliseconds since the world began, with a fraction. It never goes back. */
  readonly nowMs: number;
  /** Calls `run` after this many milliseconds, unless the returned function is called first. */
  startTimer(milliseconds: number, run: () => void): () => void;
  sleep(milliseconds: number): Promise<void>;
  /**
   * Runs the entries one after another until `work` has ended; everything that follows from an
   * entry at once happens before the next. Throws if no entry is left or too many have run, and
   * whatever `refuse` throws, which is called after each entry.
   */
  runUntil<T>(work: Promise<T>, refuse: () => void): Promise<T>;
}

interface Entry {
  readonly atMs: number;
  /** Entries that are due at the same time run in the order in which they were added. */
  readonly order: number;
  run: (() => void) | undefined;
}

/** Ten times what any world needs; stops a world that would go on forever. */
const ENTRIES_MAX = 15_000;

export function createVirtualTime(): VirtualTime {
  const heap: Entry[] = [];
  let nowMs = 0;
  let order = 0;

  function startTimer(milliseconds: number, run: () => void): () => void {
    const entry: Entry = { atMs: nowMs + Math.max(0, milliseconds), order: order++, run };
    pushEntry(heap, entry);
    return () => entry.run = undefined;
  }

  function sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => void startTimer(milliseconds, resolve));
  }

  async function runUntil<T>(work: Promise<T>, refuse: () => void): Promise<T> {
    let isOver = false;
    const ended = work.finally(() => isOver = true);
    ended.catch(() => {});
    await endOfTurn();
    for (let happened = 0; !isOver; happened++) {
      const entry = popEntry(heap);
      if (entry === undefined) throw new Error("nothing is left that could happen");
      if (happened > ENTRIES_MAX) throw new Error(`it goes on and on, at ${nowMs} ms`);
      if (entry.run === undefined) continue;
      nowMs = entry.atMs;
      entry.run();
      await endOfTurn();
      refuse();
    }
    return await ended;
  }

  return {
    get nowMs() {
      return nowMs;
    },
    startTimer,
    sleep,
    runUntil,
  };
}

/**
 * Replaces `setTimeout` and `clearTimeout` by those of `time` while `body` runs, because the
 * product's loops wait with them. Hashes that `crypto.subtle` would compute on another thread
 * are computed at once, because their completion time would not be repeatable. One world at a
 * time.
 */
export async function withTimersOf<T>(time: VirtualTime, body: () => Promise<T>): Promise<T> {
  const { setTimeout, clearTimeout } = globalThis;
  const running = new Map<number, () => void>();
  let last = 0;
  const replaced = {
    setTimeout(run: () => void, milliseconds = 0): number {
      const id = ++last;
      const cancel = time.startTimer(milliseconds, () => {
        running.delete(id);
        run();
      });
      running.set(id, cancel);
      return id;
    },
    clearTimeout(id: number | undefined): void {
      if (id === undefined) return;
      running.get(id)?.();
      running.delete(id);
    },
  };
  const { digest } = crypto.subtle;
  Object.assign(globalThis, replaced);
  Object.assign(crypto.subtle, { digest: digestAtOnce });
  try {
    return await body();
  } finally {
    Object.assign(globalThis, { setTimeout, clearTimeout });
    Object.assign(crypto.subtle, { digest });
  }
}

function digestAtOnce(algorithm: AlgorithmIdentifier, data: BufferSource): Promise<ArrayBuffer> {
  const name = typeof algorithm === "string" ? algorithm : algorithm.name;
  const bytes = ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
  const hash = createHash(name.replace("-", "")).update(bytes).digest();
  return Promise.resolve(Uint8Array.from(hash).buffer);
}

/** Resolves when the callbacks of all settled promises have run. */
function endOfTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

function pushEntry(heap: Entry[], entry: Entry): void {
  let at = heap.push(entry) - 1;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!isBefore(entry, heap[parent]!)) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = entry;
}

function popEntry(heap: Entry[]): Entry | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (first === undefined || heap.length === 0) return first;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
    if (!isBefore(heap[child]!, last!)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = last!;
  return first;
}
