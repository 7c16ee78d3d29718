/**
 * The commit groups of the embedded engine: which waiting transactions are in a group, which of
 * those may commit, and the one change of the store that they become.
 *
 * Setting the rows of a group runs on the request thread without a pause, and all of its writes
 * wait until its bytes are on disk. So a group has a limit in weight, and owners take turns in it.
 * A transaction above that limit goes alone, and at most every second group is such a one. So
 * whoever writes little waits for one large transaction and one group, however much is queued.
 */

import type { Bytes } from "../engine.ts";
import { compareKeys, KeyMap } from "../key_map.ts";
import {
  addToCounter,
  orderOf,
  type Write,
  type WriteBuffer,
} from "../transaction/buffered_transaction.ts";
import * as occ from "../transaction/conflict_log.ts";
import type { StoreChange } from "./pairs.ts";
import type { SqliteTransaction } from "./transaction.ts";

/** What one group weighs at most; a single transaction may weigh more. */
export const GROUP_WEIGHT_MAX = 1_000;
/** The same while several owners write: what one of them writes, the others wait for. */
export const SHARED_WEIGHT_MAX = 300;
/** How long after a second owner has written there are several. */
const SHARED_MS = 1_000;
/** The commit stamp has two bytes for the order within a group. */
export const GROUP_TRANSACTIONS_MAX = 10_000;

export interface Queued {
  /** See {@link weightOf}. */
  readonly weight: number;
  /** Whose turn it uses; those without an owner share one. */
  readonly owner: number | undefined;
}

export interface GroupChooser<T extends Queued> {
  /** Removes the next group from `queue`. What stays keeps its order. Empty only for no queue. */
  take(queue: T[]): T[];
}

const BYTES_PER_WEIGHT = 1024;

/**
 * What a transaction of so many bytes adds to its group. A row that it sets or clears weighs one,
 * and so does each KiB.
 */
export function weightOf({ writes, stamped }: WriteBuffer, bytes: number): number {
  return writes.entries.length + stamped.length + Math.floor(bytes / BYTES_PER_WEIGHT);
}

/** Whether putting its keys in order takes so long that it is done in slices, before its commit. */
export function hasManyRows({ writes }: WriteBuffer): boolean {
  return writes.entries.length > GROUP_WEIGHT_MAX;
}

/** @param nowMs a monotonic clock, in milliseconds. */
export function openGroupChooser<T extends Queued>(nowMs: () => number): GroupChooser<T> {
  let isLargeNext = false;
  let weightMax = GROUP_WEIGHT_MAX;
  let lastOwner: number | undefined;
  let sharedUntilMs = -Infinity;

  /** Notes who writes, and looks whether that is more than one. */
  function setWeightMax(queue: readonly T[]): void {
    const now = nowMs();
    // Bounded: by the queue, as in `takeInTurns`.
    for (const { owner } of queue) {
      if (owner === undefined || owner === lastOwner) continue;
      if (lastOwner !== undefined) sharedUntilMs = now + SHARED_MS;
      lastOwner = owner;
    }
    weightMax = now < sharedUntilMs ? SHARED_WEIGHT_MAX : GROUP_WEIGHT_MAX;
  }

  function isLarge({ weight }: T): boolean {
    return weight > weightMax;
  }

  /** The transactions of each owner in their order, without the large ones. */
  function linesOf(queue: readonly T[]): T[][] {
    return [...Map.groupBy(queue.filter((one) => !isLarge(one)), ({ owner }) => owner).values()];
  }

  function takeLarge(queue: T[]): T[] {
    isLargeNext = false;
    return queue.splice(queue.findIndex(isLarge), 1);
  }

  function takeInTurns(queue: T[]): T[] {
    const taken = new Set<T>();
    let lines = linesOf(queue);
    let weight = 0;
    // Bounded: by the queue, which has the transactions of requests and background work under way.
    for (let round = 0; lines.length > 0; round++) {
      lines = lines.filter((line) => {
        const one = line[round];
        if (one === undefined || weight + one.weight > weightMax) return false;
        if (taken.size === GROUP_TRANSACTIONS_MAX) return false;
        weight += one.weight;
        taken.add(one);
        return true;
      });
    }
    if (taken.size === 0) return takeLarge(queue);
    isLargeNext = queue.some(isLarge);
    const left = queue.filter((one) => !taken.has(one));
    queue.length = 0;
    for (const one of left) queue.push(one);
    return [...taken];
  }

  return {
    take(queue) {
      setWeightMax(queue);
      let weight = 0;
      // Bounded: by the queue, as in `takeInTurns`.
      for (const one of queue) weight += one.weight;
      if (weight <= weightMax && queue.length <= GROUP_TRANSACTIONS_MAX) {
        isLargeNext = false;
        return queue.splice(0);
      }
      return isLargeNext && queue.some(isLarge) ? takeLarge(queue) : takeInTurns(queue);
    },
  };
}

export interface Judged<T> {
  /** In the order of the group; their stamped keys are complete. */
  readonly accepted: readonly T[];
  /** What each of them writes. */
  readonly buffers: readonly WriteBuffer[];
  /** The keys and ranges that they write together. */
  readonly written: occ.WrittenGroup;
  /** The others, each with a key that was changed since it was read. */
  readonly lost: readonly { readonly one: T; readonly conflict: string }[];
}

/**
 * Decides which transactions of a group may commit: in order, each against the commits since it
 * read and against those before it in the group.
 * @param version of the commit that the accepted transactions become.
 */
export function judgeGroup<T extends { readonly tx: SqliteTransaction }>(
  group: readonly T[],
  log: occ.ConflictLog,
  version: number,
): Judged<T> {
  const written = occ.openWrittenGroup();
  const accepted: T[] = [];
  const buffers: WriteBuffer[] = [];
  const lost: { one: T; conflict: string }[] = [];
  for (const one of group) {
    const { guards, buffer, reading: { readsAt } } = one.tx;
    const conflict = readsAt === undefined
      ? undefined
      : occ.findConflict(log, written, guards, readsAt);
    if (conflict !== undefined) {
      lost.push({ one, conflict });
      continue;
    }
    if (buffer.stamped.length > 0) one.tx.stamp(version, accepted.length);
    occ.noteWrites(written, buffer.writes, buffer.cleared);
    accepted.push(one);
    buffers.push(buffer);
  }
  return { accepted, buffers, written, lost };
}

/**
 * Turns the writes of a group into one change of the store. They apply one after the other: a
 * value that a later one overwrites is never written, and an addition is made to the value before
 * it. The buffers are in commit order; their stamped writes must have become plain ones before.
 */
export function applyGroup(change: StoreChange, buffers: readonly WriteBuffer[]): void {
  if (buffers.length === 1) {
    const [buffer] = buffers as [WriteBuffer];
    for (const range of buffer.cleared) change.clearRange(range);
    const net: Write[] = [];
    const { entries } = buffer.writes;
    // A large transaction has found its order before.
    const inKeyOrder = buffer.order === undefined
      ? entries.toSorted(inOrder)
      : orderOf(buffer).map((place) => entries[place]!);
    for (const write of inKeyOrder) {
      net.push(write.delta === undefined ? write : summed(change, write, undefined));
    }
    putInOrder(change, net);
    return;
  }
  let net = new KeyMap<Write>();
  for (const { cleared, writes } of buffers) {
    for (const range of cleared) {
      putNet(change, net.entries);
      net = new KeyMap();
      change.clearRange(range);
    }
    for (const write of writes.entries) {
      net.put(summed(change, write, net.get(write.key, write.hash)));
    }
  }
  putNet(change, net.entries);
}

/**
 * Resolves an addition against what the group wrote to the key before, or else the stored value.
 */
function summed(change: StoreChange, write: Write, before: Write | undefined): Write {
  const { key, hash, delta } = write;
  if (delta === undefined) return write;
  const base = before === undefined ? change.get(key, hash) : before.value;
  return { key, hash, value: addToCounter(base, delta), delta: undefined };
}

/** Writes the final value of each key. */
function putNet(change: StoreChange, net: readonly Write[]): void {
  putInOrder(change, net.toSorted(inOrder));
}

function inOrder(a: Write, b: Write): number {
  return compareKeys(a.key, b.key);
}

/** Keys in order are neighbours in the tree, so the same pages are found in the cache again. */
function putInOrder(change: StoreChange, net: readonly Write[]): void {
  if (net.length === 0) return;
  const pairs: Bytes[] = [];
  for (const { key, hash, value } of net) {
    change.note(key, hash, value);
    if (value === undefined) change.clear(key);
    else pairs.push(key, value);
  }
  change.setAll(pairs);
}
