/**
 * The form in which changes of keys are captured and backed up, and the keys that captures use.
 * See `backup.ts`.
 *
 * A change is: the kind, 1 byte; a place, 4; the lengths of two fields, 4 each; the fields. All
 * numbers are little-endian.
 *
 * | Kind | Fields |
 * |---|---|
 * | 1 | a key is set: the key, the value |
 * | 2 | a key is cleared: the key, nothing |
 * | 3 | a range is cleared: its begin, its end |
 * | 4 | something is added: the key, 8 bytes |
 * | 5 | a stamped key is set: the key with zeros at the place of its stamp, the value |
 * | 6 | more changes are stored apart: the id under which they are, nothing |
 */

import { bytesOf, textOf, type TextRange } from "../byte_text.ts";
import type { Bytes, KeyRange, Transaction } from "../engine.ts";
import { viewOf } from "../slab.ts";
import { addToCounter, stampBytes, type WriteBuffer } from "../transaction/buffered_transaction.ts";

export const changeKinds = {
  set: 1,
  clear: 2,
  clearRange: 3,
  add: 4,
  stamped: 5,
  apart: 6,
} as const;

export interface StoredChange {
  readonly kind: number;
  readonly first: Bytes;
  readonly second: Bytes;
  /** Where the stamp is. */
  readonly place?: number;
}

/** What is not backed up begins with this byte: markers of calls, and what follows here. */
const ownByte = 0xfe;
/** Markers have a time here, which never begins so. */
const backupByte = 0xff;

function ownKey(...rest: number[]): Bytes {
  return Uint8Array.of(ownByte, backupByte, ...rest);
}

/** Everything that is backed up. */
export const dataRange: KeyRange = { begin: new Uint8Array(), end: Uint8Array.of(ownByte) };
/** The id of the backup that runs. Transactions guard it. */
export const flagKey = ownKey(1);
/** Changes while the process of that backup lives. */
export const heartbeatKey = ownKey(2);
/** Captured changes follow, under the stamps of their transactions. */
export const capturedPrefix = ownKey(3);
/** Changes that were too many for their own transaction, by id. */
export const apartPrefix = ownKey(4);
/** All of the above. */
export const backupSpace: KeyRange = { begin: flagKey, end: ownKey(5) };
/** A restore into this store is not complete. */
export const restoringKey = ownKey(6);
/** The newest format that a build has brought this store to: 4 bytes, little-endian. */
export const formatKey = ownKey(7);

/** What a process knows of the backup that may run. */
export interface Captures {
  /** Whether one ran while the metadata version of the cluster had this value. */
  known: { readonly metadata: string | undefined; readonly isRunning: boolean } | undefined;
}

/** Below the largest value, with room for what surrounds it. */
const partBytesMax = 90_000;
const headBytes = 13;
const nothing: Bytes = new Uint8Array();

export interface ChangeWriter {
  readonly size: number;
  add(change: StoredChange): void;
  /** All that was added since the last call. */
  take(): Bytes;
}

/** @param before bytes left free at the beginning of what is taken. */
export function openChangeWriter(before = 0): ChangeWriter {
  let bytes = new Uint8Array(before + 4096);
  let size = before;

  function reserve(more: number): void {
    if (size + more <= bytes.length) return;
    const larger = new Uint8Array(Math.max(size + more, 2 * bytes.length));
    larger.set(bytes);
    bytes = larger;
  }

  return {
    get size() {
      return size - before;
    },
    add({ kind, first, second, place = 0 }) {
      reserve(headBytes + first.length + second.length);
      const view = viewOf(bytes);
      bytes[size] = kind;
      view.setUint32(size + 1, place, true);
      view.setUint32(size + 5, first.length, true);
      view.setUint32(size + 9, second.length, true);
      bytes.set(first, size + headBytes);
      bytes.set(second, size + headBytes + first.length);
      size += headBytes + first.length + second.length;
    },
    take() {
      const taken = bytes.slice(0, size);
      size = before;
      return taken;
    },
  };
}

/** @throws {Error} if the bytes are not whole changes. */
export function readStoredChanges(bytes: Bytes): StoredChange[] {
  const view = viewOf(bytes);
  const changes: StoredChange[] = [];
  for (let at = 0; at < bytes.length;) {
    if (at + headBytes > bytes.length) throw new Error("A change is cut off");
    const middle = at + headBytes + view.getUint32(at + 5, true);
    const end = middle + view.getUint32(at + 9, true);
    if (end > bytes.length) throw new Error("A change is cut off");
    changes.push({
      kind: bytes[at]!,
      place: view.getUint32(at + 1, true),
      first: bytes.subarray(at + headBytes, middle),
      second: bytes.subarray(middle, end),
    });
    at = end;
  }
  return changes;
}

/** Whether a transaction changes anything that is backed up. */
export function writesData({ writes, cleared, stamped }: WriteBuffer): boolean {
  return stamped.some(({ prefix }) => isData(prefix)) ||
    writes.entries.some(({ key }) => isData(key)) ||
    cleared.some(({ begin }) => begin < "\xfe");
}

function isData(key: Bytes): boolean {
  return key.length === 0 || key[0]! < ownByte;
}

/** What a transaction changes of what is backed up, in the order in which it has its effect. */
export function changesOf({ writes, cleared, stamped }: WriteBuffer): Bytes {
  const writer = openChangeWriter();
  for (const { begin, end } of cleared) {
    if (begin >= "\xfe") continue;
    const last = end > "\xfe" ? "\xfe" : end;
    writer.add({ kind: changeKinds.clearRange, first: bytesOf(begin), second: bytesOf(last) });
  }
  for (const { key, value, delta } of writes.entries) {
    if (!isData(key)) continue;
    if (value !== undefined) writer.add({ kind: changeKinds.set, first: key, second: value });
    else if (delta === undefined) {
      writer.add({ kind: changeKinds.clear, first: key, second: nothing });
    } else {
      const second = addToCounter(undefined, delta);
      writer.add({ kind: changeKinds.add, first: key, second });
    }
  }
  for (const { prefix, suffix, value } of stamped) {
    if (!isData(prefix)) continue;
    const first = new Uint8Array(prefix.length + stampBytes + suffix.length);
    first.set(prefix);
    first.set(suffix, prefix.length + stampBytes);
    writer.add({ kind: changeKinds.stamped, first, second: value, place: prefix.length });
  }
  return writer.take();
}

/** Pieces that fit into a value. */
export function splitIntoValues(bytes: Bytes): Bytes[] {
  const parts: Bytes[] = [];
  for (let at = 0; at < bytes.length; at += partBytesMax) {
    parts.push(bytes.subarray(at, at + partBytesMax));
  }
  return parts;
}

/** The number of a part, so that parts are in order. */
export function partNumber(number: number): Bytes {
  return Uint8Array.of(number >> 8, number & 0xff);
}

/** An id and a count, for records that change while their id stays. */
export function numbered(id: Bytes, count: number): Bytes {
  const value = chainBytes(id, new Uint8Array(4));
  viewOf(value).setUint32(id.length, count);
  return value;
}

export function chainBytes(...parts: readonly Bytes[]): Bytes {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The keys that are a prefix followed by a stamp, or by the number of a part. */
export function keysUnder(prefix: Bytes): KeyRange {
  return { begin: prefix, end: chainBytes(prefix, Uint8Array.of(0xff, 0xff)) };
}

/** Parts of captured changes in one transaction. */
const partsAtOnce = 40;

/** Stores captured changes before the transaction that makes them. */
export async function storeApart(
  transact: (body: (tx: Transaction) => Promise<void>) => Promise<void>,
  id: Bytes,
  parts: readonly Bytes[],
): Promise<void> {
  for (let at = 0; at < parts.length; at += partsAtOnce) {
    await transact(async (tx) => {
      // If the backup has ended, nobody would clear them; and their transaction conflicts.
      if (await tx.get(flagKey) === undefined) return;
      for (const [number, part] of parts.slice(at, at + partsAtOnce).entries()) {
        tx.set(chainBytes(apartPrefix, id, partNumber(at + number)), part);
      }
    });
  }
}

/** The changes that stand for those stored apart. */
export function changesApart(id: Bytes): Bytes {
  const writer = openChangeWriter();
  writer.add({ kind: changeKinds.apart, first: id, second: nothing });
  return writer.take();
}

/** A range that was copied, and the version at which it was read. */
export interface Copied extends TextRange {
  readonly version: bigint;
}

/**
 * The parts of a captured change that came after the ranges were read which have its keys.
 * @param stamp of the commit.
 * @param copied in order of the keys, without gaps from the first key on.
 */
export function laterChanges(
  { kind, first, second, place }: StoredChange,
  stamp: Bytes,
  copied: readonly Copied[],
): StoredChange[] {
  const version = viewOf(stamp).getBigUint64(0);
  if (kind === changeKinds.clearRange) {
    const wanted = { begin: textOf(first), end: textOf(second) };
    return copied.filter((range) => range.version < version).map((range) => ({
      begin: wanted.begin > range.begin ? wanted.begin : range.begin,
      end: wanted.end < range.end ? wanted.end : range.end,
    })).filter(({ begin, end }) => begin < end)
      .map(({ begin, end }) => ({ kind, first: bytesOf(begin), second: bytesOf(end) }));
  }
  let change: StoredChange = { kind, first, second };
  if (kind === changeKinds.stamped) {
    const key = first.slice();
    key.set(stamp, place!);
    change = { kind: changeKinds.set, first: key, second };
  }
  const text = textOf(change.first);
  const range = copied.find(({ end }) => text < end);
  return range !== undefined && range.version < version ? [change] : [];
}
