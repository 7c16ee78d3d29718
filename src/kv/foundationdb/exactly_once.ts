/**
 * Makes a transaction take effect exactly once where a commit may land without a reply. Each
 * attempt sets a marker in its own transaction. A rerun that finds the marker knows that an
 * attempt landed, and which one. Without it, a retry would append twice, or be refused because
 * it conflicts with itself.
 *
 * An engine may report {@link CommitUnknown} only for an attempt that has landed or never will.
 */

import {
  type Bytes,
  type Engine,
  EngineUnavailable,
  type KeyRange,
  type Transaction,
} from "../engine.ts";
import type { EngineHost } from "./client.ts";

/** The reply to a commit was lost, so it is unknown whether the commit landed. */
export class CommitUnknown extends Error {
  override readonly name = "CommitUnknown";
}

/** Identifies one call of `transact` through all its attempts. */
export interface Mark {
  /** 16 random bytes. */
  readonly id: Bytes;
  /** When the call began, in milliseconds since 1970; the same for all attempts. */
  readonly nowMs: number;
}

/** First byte of all markers. Tuples begin far below it, FoundationDB's own keys one above it. */
const markerByte = 0xfe;
/** No call lasts this long, so older markers may go. */
const markerAgeMaxMs = 60_000;
const attemptsMax = 20;
const sweepIntervalMs = 60_000;
/**
 * Markers are swept when they are ten minutes old by the clock of any node, although no call
 * lasts one minute. So clocks may be nine minutes apart before a marker in use is lost.
 */
const clocksApartMaxMs = 9 * 60_000;

/** The marker of a call. Its time comes first, so that old markers are one range. */
export function markerKey({ id, nowMs }: Mark): Bytes {
  const key = new Uint8Array(9 + id.length);
  key[0] = markerByte;
  new DataView(key.buffer).setBigUint64(1, BigInt(Math.floor(nowMs)));
  key.set(id, 9);
  return key;
}

/** All markers that no running call can still look for. */
export function staleMarkers(nowMs: number): KeyRange {
  const before = Math.max(0, nowMs - markerAgeMaxMs);
  return {
    begin: Uint8Array.of(markerByte),
    end: markerKey({ id: new Uint8Array(), nowMs: before }),
  };
}

/** Removes markers older than a minute. Any node should call it now and then. */
export async function sweepMarkers(engine: Engine, nowMs: number): Promise<void> {
  await engine.transact((tx) => Promise.resolve(tx.clearRange(staleMarkers(nowMs))));
}

/** The marks of the calls of one process; it also removes old markers, of whatever process. */
export interface Marks {
  next(): Mark;
  close(): void;
}

/** @param sweepMore is called once a minute, before old markers are removed. */
export function openMarks(
  engine: Engine,
  host: EngineHost,
  sweepMore: () => Promise<void>,
): Marks {
  const nodeId = host.randomBytes(8);
  let made = 0;

  /** What is old only takes space. A sweep that fails succeeds a minute later or elsewhere. */
  async function sweep(): Promise<void> {
    try {
      await sweepMore();
      await sweepMarkers(engine, host.nowMs() - clocksApartMaxMs);
    } catch {
      // See above.
    }
  }

  const sweeper = setInterval(sweep, sweepIntervalMs);
  return {
    next() {
      const id = new Uint8Array(16);
      id.set(nodeId);
      new DataView(id.buffer).setBigUint64(8, BigInt(made++));
      return { id, nowMs: host.nowMs() };
    },
    close: () => clearInterval(sweeper),
  };
}

/**
 * Runs `body` until one attempt is known to have landed, and returns the result of that attempt.
 * @param attempt one try of an engine: runs the body it is given, perhaps several times, and
 * commits the last run; throws {@link CommitUnknown} when it cannot tell whether the commit
 * landed.
 * @throws {EngineUnavailable} when attempt after attempt stays unknown.
 */
export async function transactExactlyOnce<T>(
  attempt: (body: (tx: Transaction) => Promise<T>) => Promise<T>,
  body: (tx: Transaction) => Promise<T>,
  mark: Mark,
): Promise<T> {
  const key = markerKey(mark);
  /** What each attempt returns if it landed, by the number of the attempt. */
  const values: T[] = [];
  for (let number = 0; number < attemptsMax; number++) {
    try {
      return await attempt(async (tx) => {
        const marker = number === 0 ? undefined : await tx.get(key);
        if (marker !== undefined) return values[marker[0]!]!;
        const marked = markingWrites(tx, key, Uint8Array.of(number));
        return values[number] = await body(marked);
      });
    } catch (error) {
      if (!(error instanceof CommitUnknown)) throw error;
    }
  }
  throw new EngineUnavailable(`No reply to ${attemptsMax} commits of one transaction`);
}

/** The same transaction, which sets the marker along with its first write. */
function markingWrites(tx: Transaction, key: Bytes, value: Bytes): Transaction {
  let isMarked = false;
  function mark(): void {
    if (isMarked) return;
    isMarked = true;
    tx.set(key, value);
  }
  return {
    unguarded: tx.unguarded,
    get: (key) => tx.get(key),
    getRange: (range, options) => tx.getRange(range, options),
    readVersion: () => tx.readVersion(),
    set: (key, value) => (mark(), tx.set(key, value)),
    clear: (key) => (mark(), tx.clear(key)),
    clearRange: (range) => (mark(), tx.clearRange(range)),
    add: (key, delta) => (mark(), tx.add(key, delta)),
    setStamped: (prefix, suffix, value) => (mark(), tx.setStamped(prefix, suffix, value)),
  };
}
