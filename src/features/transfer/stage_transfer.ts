/**
 * Keeps the contents of a file under a tenant number that no environment has. Nobody can see
 * them there, and they are removed if the import fails. Transactions store about a megabyte
 * each, in file order.
 */

import { extendFrontierBy } from "../../domain/audit/frontier.ts";
import { type GeoPlace, geoPlaceOf } from "../../domain/geo/cells.ts";
import { storedPoint } from "../../domain/geo/stored_point.ts";
import type { SpecVersion } from "../../domain/spec/deployment.ts";
import { splitStreamKey, type StreamKey } from "../../domain/identifier.ts";
import type { EventItem, FileFault } from "../../domain/transfer/check_file.ts";
import type { LedgerRecord, StreamRecord } from "../../domain/transfer/record.ts";
import type { WorkItem } from "../../domain/transfer/work.ts";
import type { BlobVersion } from "../../domain/wasm/blob.ts";
import type { Bytes, Engine, Transaction } from "../../kv/engine.ts";
import { indexAggregate } from "../../store/streams/aggregates.ts";
import { storeBlob } from "../../store/blobs.ts";
import { addToLog, logCommit, type LogEntry } from "../../store/feed/commit_log.ts";
import { movePoint } from "../../store/streams/geo_index.ts";
import { type NamedLedgerEntry, storeLedgerEntry } from "../../store/streams/idempotency.ts";
import {
  clearTransferMark,
  clearTransferred,
  readTransferMark,
  setTransferMark,
  type TransferPlace,
} from "../../store/transfers.ts";
import { takeTenantNumber } from "../../store/access/instances.ts";
import { REBUILD_EVERY_BYTES } from "../../store/streams/rebuilds.ts";
import { keepSpec, makeSpecCurrent } from "../../store/specs.ts";
import type { StreamHead } from "../../store/streams/stream_head.ts";
import { placeEvents, readHead } from "../../store/streams/streams.ts";
import { originOf, storeWork } from "./stage_work.ts";

/** Bytes and items that one transaction stores. */
const BATCH_BYTES = 1024 * 1024;
const BATCH_PIECES = 2_000;
/** What an item counts besides its text. */
const PIECE_BYTES = 200;

export interface Stage {
  /** The tenant number under which everything is kept. */
  readonly tenant: number;
  /** True if {@link flush} has to be called before more is added. */
  readonly isFull: boolean;
  /** Ledger entries left out because their events are not in the file. */
  readonly ledgerLeftOut: number;
  /** Types with streams so long that they need snapshots to be readable. */
  readonly longTypes: ReadonlySet<string>;
  openStream(record: StreamRecord, line: number): void;
  /** Adds an event of the open stream. */
  addEvent(event: EventItem): void;
  closeStream(): void;
  addLedgerEntry(entry: LedgerRecord): void;
  /**
   * `bytes` is the size of its text. A large item must not follow others in a batch, so that it
   * fits.
   */
  addWork(work: WorkItem, bytes: number, line: number): void;
  hasRoomFor(bytes: number): boolean;
  addSpec(version: SpecVersion, text: string): void;
  /** Needs a transaction of its own: call `flush` before and after. */
  addBlob(blob: BlobVersion, file: Bytes, module: Bytes): void;
  makeSpecCurrent(version: number): void;
  /**
   * Stores what was added. Returns the fault of a stream that cannot continue where the file
   * says.
   */
  flush(): Promise<FileFault | undefined>;
}

/** Consecutive events of one stream. */
interface StreamPart {
  readonly record: StreamRecord;
  readonly line: number;
  readonly from: number;
  /** The chain hash before the first event. */
  readonly tipBefore: string | undefined;
  readonly events: EventItem[];
}

type Piece =
  | { readonly kind: "stream"; readonly part: StreamPart }
  | { readonly kind: "ledger"; readonly entry: NamedLedgerEntry }
  | { readonly kind: "work"; readonly work: WorkItem; readonly line: number }
  | { readonly kind: "spec"; readonly version: SpecVersion; readonly text: string }
  | {
    readonly kind: "blob";
    readonly blob: BlobVersion;
    readonly file: Bytes;
    readonly module: Bytes;
  }
  | { readonly kind: "current_spec"; readonly version: number };

/** Another import into the same environment has begun and has removed what this one stored. */
export class TransferOvertaken extends Error {
  override readonly name = "TransferOvertaken";
}

/** Begins anew: removes what an earlier import into the same environment left. */
export async function openStage(engine: Engine, place: TransferPlace): Promise<Stage> {
  const tenant = await engine.transact(async (tx) => {
    const left = await readTransferMark(tx, place);
    if (left !== undefined) clearTransferred(tx, left);
    const number = await takeTenantNumber(tx);
    setTransferMark(tx, place, number);
    return number;
  });
  let pieces: Piece[] = [];
  let bytes = 0;
  let ledgerLeftOut = 0;
  const longTypes = new Set<string>();
  let part: StreamPart | undefined;

  function add(piece: Piece, size: number): void {
    pieces.push(piece);
    bytes += size + PIECE_BYTES;
  }

  async function flush(): Promise<FileFault | undefined> {
    const batch = pieces;
    const size = { bytes, isBackground: true };
    const stored = await engine.transact((tx) => storeBatch(tx, place, tenant, batch), size);
    ledgerLeftOut += stored.ledgerLeftOut;
    for (const type of stored.longTypes) longTypes.add(type);
    pieces = [];
    bytes = 0;
    if (part !== undefined) part = startPart(part);
    return stored.fault;
  }

  /** The rest of a stream of which a part was just stored. */
  function startPart({ record, line, from, tipBefore, events }: StreamPart): StreamPart {
    const next = {
      record,
      line,
      from: from + events.length,
      tipBefore: events.at(-1)?.hash ?? tipBefore,
      events: [],
    };
    add({ kind: "stream", part: next }, 0);
    return next;
  }

  return {
    tenant,
    get isFull() {
      return bytes >= BATCH_BYTES || pieces.length >= BATCH_PIECES;
    },
    get ledgerLeftOut() {
      return ledgerLeftOut;
    },
    longTypes,
    openStream(record, line) {
      part = { record, line, from: record.from, tipBefore: record.tip, events: [] };
      add({ kind: "stream", part }, record.key.length);
    },
    addEvent(event) {
      part!.events.push(event);
      bytes += event.bytes;
    },
    closeStream() {
      part = undefined;
    },
    addLedgerEntry(entry) {
      add({ kind: "ledger", entry: nameEntry(entry) }, PIECE_BYTES);
    },
    addWork(work, size, line) {
      add({ kind: "work", work, line }, size);
    },
    hasRoomFor: (size) => pieces.length === 0 || bytes + size <= BATCH_BYTES,
    addSpec(version, text) {
      add({ kind: "spec", version, text }, text.length);
    },
    addBlob(blob, file, module) {
      add({ kind: "blob", blob, file, module }, file.length + module.length);
    },
    makeSpecCurrent(version) {
      add({ kind: "current_spec", version }, 0);
    },
    flush,
  };
}

/** @throws {TransferOvertaken} if the data under the number no longer belongs to this import. */
export async function requireTransferMark(
  tx: Transaction,
  place: TransferPlace,
  tenant: number,
): Promise<void> {
  if (await readTransferMark(tx, place) === tenant) return;
  throw new TransferOvertaken(
    `Another import into ${place.environment} of '${place.slug}' has begun; this one stops`,
  );
}

/** Removes what the import stored, unless another import has done so. */
export async function discardStage(
  engine: Engine,
  place: TransferPlace,
  tenant: number,
): Promise<void> {
  await engine.transact(async (tx) => {
    if (await readTransferMark(tx, place) !== tenant) return;
    clearTransferred(tx, tenant);
    clearTransferMark(tx, place);
  });
}

interface StoredBatch {
  readonly fault: FileFault | undefined;
  readonly ledgerLeftOut: number;
  readonly longTypes: readonly string[];
}

async function storeBatch(
  tx: Transaction,
  place: TransferPlace,
  tenant: number,
  batch: readonly Piece[],
): Promise<StoredBatch> {
  await requireTransferMark(tx, place, tenant);
  const heads = await readHeads(tx, tenant, batch);
  const longTypes: string[] = [];
  const log: LogEntry[] = [];
  let ledgerLeftOut = 0;
  for (const piece of batch) {
    if (piece.kind === "stream") {
      const { record: { key }, from, events } = piece.part;
      const fault = storePart(tx, tenant, piece.part, heads);
      if (fault !== undefined) return { fault, ledgerLeftOut, longTypes };
      if (events.length > 0) addToLog(log, key as StreamKey, from, events.length);
      const isLong = heads.get(key)!.bytes >= REBUILD_EVERY_BYTES;
      if (isLong) longTypes.push(splitStreamKey(key as StreamKey).type);
    } else if (piece.kind === "ledger") {
      if (hasAllEvents(piece.entry, heads)) storeLedgerEntry(tx, tenant, piece.entry);
      else ledgerLeftOut++;
    } else if (piece.kind === "work") {
      const message = await storeWork(tx, tenant, piece.work, heads);
      if (message !== undefined) {
        const fault = { line: piece.line, rule: "work_place", message };
        return { fault, ledgerLeftOut, longTypes };
      }
    } else if (piece.kind === "spec") keepSpec(tx, tenant, piece.version, piece.text);
    else if (piece.kind === "blob") {
      storeBlob(tx, tenant, { blob: piece.blob, file: piece.file, module: piece.module });
    } else makeSpecCurrent(tx, tenant, piece.version);
  }
  if (log.length > 0) logCommit(tx, tenant, log);
  return { fault: undefined, ledgerLeftOut, longTypes };
}

/** Heads of all streams that the batch concerns. Unguarded, because the mark guards the number. */
async function readHeads(
  tx: Transaction,
  tenant: number,
  batch: readonly Piece[],
): Promise<Map<string, StreamHead>> {
  const names = new Set<string>();
  for (const piece of batch) {
    if (piece.kind === "stream") names.add(piece.part.record.key);
    if (piece.kind === "ledger") piece.entry.written.targets.forEach(({ key }) => names.add(key));
    if (piece.kind === "work") {
      const origin = originOf(piece.work);
      if (origin !== undefined) names.add(origin.stream);
    }
  }
  const read = [...names].map(async (key) =>
    [key, await readHead(tx.unguarded, tenant, key as StreamKey)] as const
  );
  return new Map(await Promise.all(read));
}

/** Stores the part and puts the new head into `heads`. */
function storePart(
  tx: Transaction,
  tenant: number,
  { record, line, from, tipBefore, events }: StreamPart,
  heads: Map<string, StreamHead>,
): FileFault | undefined {
  const key = record.key as StreamKey;
  const before = heads.get(key)!;
  if (before.length !== from || before.tip !== tipBefore) {
    const message = before.length === from
      ? `${key} has another chain hash before event ${from} than the file says`
      : `${key} goes on at event ${from}, but the lines before brought ${before.length}`;
    return { line, rule: "stream_gap", message };
  }
  const last = events.at(-1);
  if (last === undefined) return undefined;
  const head: StreamHead = {
    length: from + events.length,
    bytes: events.reduce((sum, event) => sum + event.bytes, before.bytes),
    createdAt: record.created_at,
    updatedAt: record.updated_at,
    generation: record.generation,
    epoch: 0,
    tip: last.hash,
    peaks: growFrontier(before, events),
    place: newestPlace(events) ?? before.place,
  };
  movePoint(tx, tenant, key, { before: before.place, after: head.place });
  placeEvents({ tx, tenant, stream: key }, from, events, head);
  heads.set(key, head);
  if (from === 0) {
    const { type, id } = splitStreamKey(key);
    indexAggregate(tx, tenant, type, id);
  }
  return undefined;
}

/** The place of the last event with a point: the file does not contain the geo index. */
function newestPlace(events: readonly EventItem[]): GeoPlace | undefined {
  for (const { raw } of events.toReversed()) {
    const point = storedPoint(raw);
    if (point !== undefined) return geoPlaceOf(point);
  }
  return undefined;
}

/** The peaks of the stream's tree after these events. */
function growFrontier({ length, peaks }: StreamHead, events: readonly EventItem[]) {
  return extendFrontierBy({ count: length, peaks }, events.map(({ hash }) => hash)).peaks;
}

/** False for the entry of a write that came after the file's moment. */
function hasAllEvents(entry: NamedLedgerEntry, heads: ReadonlyMap<string, StreamHead>): boolean {
  return entry.written.targets.every(({ key, first, count }) =>
    first + count <= heads.get(key)!.length
  );
}

function nameEntry(record: LedgerRecord): NamedLedgerEntry {
  const { key, used, body_hash: bodyHash, form, request_id, implied_count, targets } = record;
  const written = {
    form,
    requestId: request_id,
    impliedCount: implied_count,
    targets: targets.map(([key, first, count]) => ({ key, first, count })),
  };
  return { key, used, bodyHash, written };
}
