/**
 * Snapshots, which are folded states at a length, under the fold hash of their type. A snapshot
 * only saves time: it may be missing or behind, never wrong. A state larger than one transaction
 * is written in several; its header comes last, and a reader that finds a part missing treats it
 * as no snapshot.
 */

import { openWaitingRoom, type WaitingRoom } from "../../domain/fairness/shares.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import {
  type Bytes,
  type Engine,
  type KeyRange,
  type KeyValue,
  type ReadTransaction,
  type Transaction,
} from "../../kv/engine.ts";
import { clearPage, type ErasedStream } from "../erased_copies.ts";
import { keyAfter, keys } from "../keys.ts";
import {
  bytesOfParts,
  PART_BYTES,
  partsOfState,
  type Rest,
  type StateJson,
  textOfParts,
} from "./state_parts.ts";
import { isGeneration } from "./streams.ts";
import { parseJson } from "../../domain/json_text/parse_json.ts";

export interface SnapshotHeader {
  /** Number of events folded in. */
  readonly length: number;
  /** Stored bytes of those events, by the head's count. */
  readonly bytes: number;
  /** The stream's generation when they were read. */
  readonly generation: number;
  /** UTF-8 bytes of the state's JSON. */
  readonly stateBytes: number;
}

export interface Snapshot extends SnapshotHeader {
  readonly stateJson: string;
}

/** The same with the state's JSON as its bytes in UTF-8. */
export interface SnapshotBytes extends SnapshotHeader {
  readonly stateUtf8: Uint8Array<ArrayBuffer>;
}

/** Whichever was made without holding up others. */
export type LoadedSnapshot = Snapshot | SnapshotBytes;

/** How a snapshot is loaded. */
export interface Loading {
  /** Called between pieces of work; returns what to wait for, if others wait for the thread. */
  readonly rest: Rest;
  /** Whether a snapshot with this header is any use. If not, nothing else of it is read. */
  readonly isUsable?: (header: SnapshotHeader) => boolean;
}

const PARTS_PER_TRANSACTION = 40;
/** Parts per transaction when reading, where each batch is some milliseconds of work. */
const PARTS_PER_READ = 12;
/**
 * States of several reads that this process loads at a time. Beside a state there are its parts
 * and their texts, so memory is about three times that.
 */
const LOADED_BYTES_MAX = 96 * 1024 * 1024;
/** Attempts at loading a snapshot that is replaced meanwhile. */
const LOADS_MAX = 5;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The header of the newest snapshot under `foldHash`, without its state. */
export async function readSnapshotHeader(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
  stream: StreamKey,
  foldHash: string,
): Promise<SnapshotHeader | undefined> {
  const value = await tx.get(keys.snapshot(tenant, stream, foldHash));
  return value && parseJson(decoder.decode(value)) as SnapshotHeader;
}

/** Loads of large states wait here, by environment. Whoever loads one in another way enters too. */
export const loadingRoom: WaitingRoom<number> = openWaitingRoom(LOADED_BYTES_MAX);

export interface SnapshotPlace {
  readonly tenant: number;
  readonly stream: StreamKey;
  readonly foldHash: string;
}

/**
 * The newest snapshot under `foldHash`, or undefined; the state as a text, or as its bytes if it is
 * read in several transactions. Opens its own transactions, because a
 * large state may take longer to read than one may last. If another node saves a newer snapshot
 * meanwhile, loading starts again: without its snapshot, a long stream could not be read at all.
 */
export async function loadSnapshot(
  engine: Engine,
  place: SnapshotPlace,
  loading: Loading,
): Promise<LoadedSnapshot | undefined> {
  const loaded = await loadState<StateJson>(engine, place, loading, joinParts);
  if (loaded === undefined) return undefined;
  const { header, state } = loaded;
  return typeof state === "string"
    ? { ...header, stateJson: state }
    : { ...header, stateUtf8: state };
}

function joinParts(parts: readonly Bytes[], rest: Rest): Promise<StateJson> {
  return parts.length > PARTS_PER_READ ? bytesOfParts(parts, rest) : textOfParts(parts, rest);
}

/** The same with the bytes of any state. */
export async function loadSnapshotBytes(
  engine: Engine,
  place: SnapshotPlace,
  loading: Loading,
): Promise<SnapshotBytes | undefined> {
  const loaded = await loadState(engine, place, loading, bytesOfParts);
  return loaded && { ...loaded.header, stateUtf8: loaded.state };
}

interface Loaded<T> {
  readonly header: SnapshotHeader;
  readonly state: T;
}

/** `join` makes a state of its parts. */
async function loadState<T>(
  engine: Engine,
  { tenant, stream, foldHash }: SnapshotPlace,
  { rest, isUsable = () => true }: Loading,
  join: (parts: readonly Bytes[], rest: Rest) => Promise<T>,
): Promise<Loaded<T> | undefined> {
  for (let attempt = 0; attempt < LOADS_MAX; attempt++) {
    const first = await engine.snapshot(async (tx) => {
      const header = await readSnapshotHeader(tx, tenant, stream, foldHash);
      if (header === undefined || !isUsable(header)) return undefined;
      const range = keys.snapshotParts(tenant, stream, foldHash, header.length);
      // A large one is read when there is room for it.
      if (header.stateBytes > PARTS_PER_READ * PART_BYTES) return { header, range };
      return { header, range, parts: await tx.getRange(range, { limit: PARTS_PER_READ }) };
    });
    if (first === undefined) return undefined;
    const { header, range, parts } = first;
    if (parts !== undefined) return await joinAll(parts, header);
    const leave = await loadingRoom.enter(tenant, header.stateBytes);
    try {
      const all = await readAllParts(engine, range, rest);
      // Parts read in several transactions may be of two snapshots, unless the header is still
      // the same.
      const now = await engine.snapshot((tx) => readSnapshotHeader(tx, tenant, stream, foldHash));
      if (isSame(header, now)) return await joinAll(all, header);
    } finally {
      leave();
    }
  }
  return undefined;

  /** Undefined if a part is missing. */
  async function joinAll(
    pairs: readonly KeyValue[],
    header: SnapshotHeader,
  ): Promise<Loaded<T> | undefined> {
    const parts = pairs.map(({ value }) => value);
    if (sizeOf(parts) !== header.stateBytes) return undefined;
    return { header, state: await join(parts, rest) };
  }
}

function sizeOf(parts: readonly Bytes[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}

/** All parts of a snapshot, some in each transaction. */
async function readAllParts(
  engine: Engine,
  { begin, end }: KeyRange,
  rest: Rest,
): Promise<KeyValue[]> {
  const parts: KeyValue[] = [];
  for (let from = begin;;) {
    const range = { begin: from, end };
    const page = await engine.snapshot((tx) => tx.getRange(range, { limit: PARTS_PER_READ }));
    parts.push(...page);
    if (page.length < PARTS_PER_READ) return parts;
    from = keyAfter(page.at(-1)!.key);
    await rest();
  }
}

/** A snapshot to save. */
export interface StateToSave extends Omit<SnapshotHeader, "stateBytes"> {
  readonly state: StateJson;
}

export interface Saving {
  readonly rest: Rest;
  /** Called in the last transaction: whether the snapshot is still wanted. */
  readonly isWanted?: (tx: Transaction) => Promise<boolean>;
}

/**
 * Saves a snapshot and removes every other one of the stream. Opens its own transactions.
 * Returns false, and leaves what is stored, if a newer snapshot is there, if another node saves
 * one of this stream at the same time, if the stream was rewritten since, or if it is not wanted
 * any more.
 */
export async function saveSnapshot(
  engine: Engine,
  { tenant, stream, foldHash }: SnapshotPlace,
  snapshot: StateToSave,
  { rest, isWanted = () => Promise.resolve(true) }: Saving,
): Promise<boolean> {
  const { state, length, ...position } = snapshot;
  const parts = await partsOfState(state, rest);
  const before = await engine.snapshot((tx) => readSnapshotHeader(tx, tenant, stream, foldHash));
  if (before !== undefined && isNewer(before, snapshot)) return false;

  function setParts(tx: Transaction, first: number, end: number): Promise<void> {
    for (let part = first; part < end; part++) {
      tx.set(keys.snapshotPart(tenant, stream, foldHash, length, part), parts[part]!);
    }
    return Promise.resolve();
  }

  let first = 0;
  for (; parts.length - first > PARTS_PER_TRANSACTION; first += PARTS_PER_TRANSACTION) {
    // A state folded from events that were erased must not be stored after their erasure.
    const isKept = await engine.transact(async (tx) => {
      if (!await isGeneration(tx, tenant, stream, snapshot.generation)) return false;
      await setParts(tx, first, first + PARTS_PER_TRANSACTION);
      return true;
    });
    if (!isKept) return false;
  }
  return await engine.transact(async (tx) => {
    if (!await isGeneration(tx, tenant, stream, snapshot.generation)) return false;
    const now = await readSnapshotHeader(tx, tenant, stream, foldHash);
    // Another node that saved meanwhile has removed the parts written here.
    if (!isSame(now, before) || !await isWanted(tx)) {
      if (now?.length !== length) {
        tx.clearRange(keys.snapshotParts(tenant, stream, foldHash, length));
      }
      return false;
    }
    await setParts(tx, first, parts.length);
    clearOthers(tx, { tenant, stream, foldHash }, length);
    const header: SnapshotHeader = { length, ...position, stateBytes: sizeOf(parts) };
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
  { tenant, stream, foldHash }: SnapshotPlace,
  length: number,
): void {
  const all = keys.snapshots(tenant, stream);
  const own = keys.snapshotParts(tenant, stream, foldHash, length);
  tx.clearRange({ begin: all.begin, end: own.begin });
  tx.clearRange({ begin: own.end, end: all.end });
}

/** Removes the snapshots of an erased stream; folding its markers makes new ones. */
export async function removeSnapshots(
  tx: Transaction,
  { tenant, stream }: ErasedStream,
): Promise<Bytes | undefined> {
  return await clearPage(tx, tenant, keys.snapshots(tenant, stream));
}
