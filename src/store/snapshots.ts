/**
 * Folded states at a length, under the fold hash of their type. A snapshot only saves time: it may
 * be missing or behind, never wrong. A state larger than one transaction is written in several;
 * its header comes last, and a reader that misses a part takes it for no snapshot.
 */

import type { StreamKey } from "../domain/stream_key.ts";
import type { Engine, ReadTransaction, Transaction } from "../kv/engine.ts";
import { kvLimits } from "../kv/engine.ts";
import { keys } from "./keys.ts";

export interface SnapshotHeader {
  /** Events folded in. */
  readonly length: number;
  /** Their stored bytes, by the head's count. */
  readonly bytes: number;
  /** The stream's generation they were read under. */
  readonly generation: number;
  /** UTF-8 bytes of the state's JSON. */
  readonly stateBytes: number;
}

export interface Snapshot extends SnapshotHeader {
  readonly stateJson: string;
}

const PART_BYTES = kvLimits.valueBytesMax;
const PARTS_PER_TRANSACTION = 40;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Where the newest snapshot under `foldHash` stands, without its state. */
export async function readSnapshotHeader(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
  stream: StreamKey,
  foldHash: string,
): Promise<SnapshotHeader | undefined> {
  const value = await tx.get(keys.snapshot(tenant, stream, foldHash));
  return value && JSON.parse(decoder.decode(value)) as SnapshotHeader;
}

/** The newest snapshot under `foldHash`, or undefined. */
export async function readSnapshot(
  tx: Pick<ReadTransaction, "get" | "getRange">,
  tenant: number,
  stream: StreamKey,
  foldHash: string,
): Promise<Snapshot | undefined> {
  const header = await readSnapshotHeader(tx, tenant, stream, foldHash);
  if (header === undefined) return undefined;
  const parts = await tx.getRange(keys.snapshotParts(tenant, stream, foldHash, header.length));
  const state = new Uint8Array(header.stateBytes);
  let offset = 0;
  for (const { value } of parts) {
    if (offset + value.length > state.length) return undefined;
    state.set(value, offset);
    offset += value.length;
  }
  if (offset !== state.length) return undefined;
  return { ...header, stateJson: decoder.decode(state) };
}

/**
 * Saves a snapshot and removes every other one of the stream. Opens its own transactions. Gives
 * false, and changes nothing, where a newer one is there, where another node saves one of this
 * stream at the same time, and where `isWanted`, asked in the last transaction, says no.
 */
export async function saveSnapshot(
  engine: Engine,
  tenant: number,
  stream: StreamKey,
  foldHash: string,
  snapshot: Omit<Snapshot, "stateBytes">,
  isWanted: (tx: Transaction) => Promise<boolean> = () => Promise.resolve(true),
): Promise<boolean> {
  const { stateJson, length, ...position } = snapshot;
  const state = encoder.encode(stateJson);
  const parts = Math.ceil(state.length / PART_BYTES);
  const before = await engine.snapshot((tx) => readSnapshotHeader(tx, tenant, stream, foldHash));
  if (before !== undefined && isNewer(before, snapshot)) return false;

  function setParts(tx: Transaction, first: number, end: number): Promise<void> {
    for (let part = first; part < end; part++) {
      const value = state.slice(part * PART_BYTES, (part + 1) * PART_BYTES);
      tx.set(keys.snapshotPart(tenant, stream, foldHash, length, part), value);
    }
    return Promise.resolve();
  }

  let first = 0;
  for (; parts - first > PARTS_PER_TRANSACTION; first += PARTS_PER_TRANSACTION) {
    await engine.transact((tx) => setParts(tx, first, first + PARTS_PER_TRANSACTION));
  }
  return await engine.transact(async (tx) => {
    const now = await readSnapshotHeader(tx, tenant, stream, foldHash);
    // Who saved meanwhile has removed the parts of this one.
    if (!isSame(now, before) || !await isWanted(tx)) {
      if (now?.length !== length) {
        tx.clearRange(keys.snapshotParts(tenant, stream, foldHash, length));
      }
      return false;
    }
    await setParts(tx, first, parts);
    clearOthers(tx, tenant, stream, foldHash, length);
    const header: SnapshotHeader = { length, ...position, stateBytes: state.length };
    tx.set(keys.snapshot(tenant, stream, foldHash), encoder.encode(JSON.stringify(header)));
    return true;
  });
}

type Position = Pick<SnapshotHeader, "length" | "generation">;

function isNewer(a: Position, b: Position): boolean {
  return a.generation > b.generation || (a.generation === b.generation && a.length > b.length);
}

function isSame(a: Position | undefined, b: Position | undefined): boolean {
  return a?.generation === b?.generation && a?.length === b?.length;
}

function clearOthers(
  tx: Transaction,
  tenant: number,
  stream: StreamKey,
  foldHash: string,
  length: number,
): void {
  const all = keys.snapshots(tenant, stream);
  const own = keys.snapshotParts(tenant, stream, foldHash, length);
  tx.clearRange({ begin: all.begin, end: own.begin });
  tx.clearRange({ begin: own.end, end: all.end });
}
