/**
 * Exactly once, on engines whose commit may land without its reply: each attempt sets a marker
 * in its own transaction, and a rerun that finds the marker knows that an attempt landed, and
 * which. Without it a retry appends twice, or refuses with a conflict against itself.
 *
 * An engine may report {@link CommitUnknown} only for an attempt that has landed or never will.
 */

import type { Bytes, Engine, KeyRange, Transaction } from "./engine.ts";
import { EngineUnavailable } from "./engine.ts";

/** The reply to a commit was lost: it landed or it did not. */
export class CommitUnknown extends Error {
  override readonly name = "CommitUnknown";
}

/** Names one call of `transact` through all its attempts. */
export interface Mark {
  /** 16 random bytes. */
  readonly id: Bytes;
  /** Milliseconds since 1970 when the call began; the same for all attempts. */
  readonly nowMs: number;
}

/** First byte of all markers. Tuples begin far below, FoundationDB's own keys one above. */
const markerByte = 0xfe;
/** No call lasts so long; its markers may go. */
const markerAgeMaxMs = 60_000;
const attemptsMax = 20;

/** The marker of a call: its time first, so that old ones are one range. */
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

/** Removes markers older than a minute. To be called now and then, by any node. */
export async function sweepMarkers(engine: Engine, nowMs: number): Promise<void> {
  await engine.transact((tx) => Promise.resolve(tx.clearRange(staleMarkers(nowMs))));
}

/**
 * Runs `body` until one attempt is known to have landed, and gives the result of that one.
 * @param attempt one try of an engine: runs the body it is given, perhaps several times, and
 *   commits the last run; throws {@link CommitUnknown} when it cannot tell whether it did.
 * @throws {EngineUnavailable} when attempt after attempt stays unknown.
 */
export async function transactExactlyOnce<T>(
  attempt: (body: (tx: Transaction) => Promise<T>) => Promise<T>,
  body: (tx: Transaction) => Promise<T>,
  mark: Mark,
): Promise<T> {
  const key = markerKey(mark);
  /** What each attempt would give if it landed. */
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

/** The same transaction, with the marker set along with its first write. */
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
