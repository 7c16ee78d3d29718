/**
 * Reads the streams of an environment for an export: first their heads, one segment per
 * transaction, then the events that still have to be exported. What came to the streams later is
 * found in the commit log (`read_changes.ts`).
 *
 * A head never goes back and the events below it never change. So the head alone identifies the
 * content of a stream, and its events may be read later, in as many transactions as it takes.
 * Many small streams share a transaction; a large stream is read in pages. The next group is
 * read while the last one is written.
 */

import { type ChainHash, extendChain } from "../../domain/audit/chain.ts";
import type { LogPlace } from "../../domain/feed/place.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { logEnd } from "../../store/feed/fill.ts";
import type { StreamHead } from "../../store/streams/stream_head.ts";
import {
  type EventWindow,
  type IndexedEvent,
  readEvents,
} from "../../store/streams/stream_events.ts";
import { readHead } from "../../store/streams/streams.ts";
import type { BlobVersion } from "../../domain/wasm/blob.ts";
import type { SpecVersion } from "../../domain/spec/deployment.ts";
import type { Host } from "../../host.ts";
import { listStreams } from "../../store/streams/aggregates.ts";
import { listBlobs } from "../../store/blobs.ts";
import { listSpecVersions, readCurrentVersion } from "../../store/specs.ts";
import { scanWork, type SegmentLimits, WORK_BEGIN, type WorkSegment } from "./scan_work.ts";

export interface ListedHead {
  readonly key: StreamKey;
  readonly head: StreamHead;
}

/** What one transaction saw: consecutive heads in the order of the listing. */
interface HeadSegment {
  /** The version of the store that was read. */
  readonly version: bigint;
  /** Where the commit log ended: the heads have what was logged up to there, and no more. */
  readonly place: LogPlace;
  readonly heads: readonly ListedHead[];
  /** False if the environment has more streams after the last head. */
  readonly isLast: boolean;
  /** Set with the last heads: the pending work, as far as the transaction could read it. */
  readonly work: WorkSegment | undefined;
}

/** The specs and blobs at one version of the store. */
export interface SpecState {
  readonly versions: readonly SpecVersion[];
  readonly blobs: readonly BlobVersion[];
  readonly current: number | undefined;
}

export const SEGMENT_LIMITS: SegmentLimits = { batch: 1_000, heads: 50_000, milliseconds: 3_000 };

export function readSpecState(tx: ReadTransaction, tenant: number): Promise<SpecState> {
  return Promise.all([
    listSpecVersions(tx, tenant),
    readCurrentVersion(tx, tenant),
    listBlobs(tx, tenant),
  ]).then(([versions, current, blobs]) => ({ versions, current, blobs }));
}

export interface SegmentStart {
  readonly tenant: number;
  readonly after: StreamKey | undefined;
  readonly limits: SegmentLimits;
}

/** Reads the next heads after `after`; `alongside` is read at the same version. */
export async function scanSegment<T>(
  engine: Engine,
  host: Host,
  { tenant, after, limits }: SegmentStart,
  alongside: (tx: ReadTransaction) => Promise<T>,
): Promise<HeadSegment & { readonly beside: T }> {
  return await engine.snapshot(async (tx) => {
    const version = await tx.readVersion();
    const [place, beside] = await Promise.all([logEnd(tx, tenant), alongside(tx)]);
    const beganMs = host.nowMs();
    const heads: ListedHead[] = [];
    let last = after;
    for (;;) {
      const batch = await listStreams(tx, tenant, { after: last, limit: limits.batch });
      const found = await Promise.all(batch.map((key) => readHead(tx, tenant, key)));
      for (const [index, key] of batch.entries()) heads.push({ key, head: found[index]! });
      const endMs = beganMs + limits.milliseconds;
      if (batch.length < limits.batch) {
        const work = await scanWork(tx, host, tenant, { place: WORK_BEGIN, limits, endMs });
        return { version, place, heads, isLast: true, work, beside };
      }
      last = batch.at(-1);
      const isFull = heads.length >= limits.heads || host.nowMs() >= endMs;
      if (isFull) return { version, place, heads, isLast: false, work: undefined, beside };
    }
  });
}

/** Events of a stream that the file does not have yet: from index `from`, up to `to`, exclusive. */
export interface Delta {
  readonly key: StreamKey;
  /** May have events behind `to`, which another delta will have. */
  readonly head: StreamHead;
  readonly from: number;
  readonly to: number;
}

/** Consecutive events of one delta. `isLast` is true for the page that reaches its end. */
export interface DeltaPage {
  readonly delta: Delta;
  readonly events: readonly IndexedEvent[];
  readonly isFirst: boolean;
  readonly isLast: boolean;
  /** Only with the first page: the chain hash of the event before it, if there is one. */
  readonly tipBefore: ChainHash | undefined;
  /** The chain hash of the last event. */
  readonly tip: ChainHash;
}

/** The source changed in a way that a file cannot represent. */
export class ExportDisturbed extends Error {
  override readonly name = "ExportDisturbed";
}

const PAGE_BYTES = 1024 * 1024;
const GROUP_BYTES = 512 * 1024;
const GROUP_STREAMS = 200;

/** The pages of all deltas, in order. */
export async function* readDeltas(
  engine: Engine,
  tenant: number,
  deltas: readonly Delta[],
): AsyncGenerator<DeltaPage> {
  const groups = groupDeltas(deltas);
  let reading = readGroup(engine, tenant, groups[0]);
  for (const [index, group] of groups.entries()) {
    const firstPages = await reading;
    reading = readGroup(engine, tenant, groups[index + 1]);
    // The `await` above meets a failure; until then it must not count as unhandled.
    reading.catch(() => {});
    for (const [place, delta] of group.entries()) {
      yield* followPages(engine, tenant, delta, firstPages[place]!);
    }
  }
}

function groupDeltas(deltas: readonly Delta[]): Delta[][] {
  const groups: Delta[][] = [];
  let room = { streams: 0, bytes: 0 };
  for (const delta of deltas) {
    // How many bytes these events have is not known, so it is what they have on average.
    const bytes = delta.head.bytes * (delta.to - delta.from) / delta.head.length;
    if (room.streams === 0 || room.bytes < bytes) {
      groups.push([]);
      room = { streams: GROUP_STREAMS, bytes: GROUP_BYTES };
    }
    groups.at(-1)!.push(delta);
    room = { streams: room.streams - 1, bytes: room.bytes - bytes };
  }
  return groups;
}

/** Reads the first page of each delta of the group, all at one version. */
function readGroup(
  engine: Engine,
  tenant: number,
  group: readonly Delta[] = [],
): Promise<IndexedEvent[][]> {
  if (group.length === 0) return Promise.resolve([]);
  return engine.snapshot((tx) =>
    Promise.all(
      group.map((delta) =>
        readEvents(tx, tenant, delta.key, windowOf(delta, Math.max(0, delta.from - 1)))
      ),
    )
  );
}

function windowOf({ head: { generation }, to }: Delta, from: number): EventWindow {
  return { from, to, bytesMax: PAGE_BYTES, generation };
}

/** The first page begins with the event before the delta, for its chain hash. */
async function* followPages(
  engine: Engine,
  tenant: number,
  delta: Delta,
  firstPage: IndexedEvent[],
): AsyncGenerator<DeltaPage> {
  const { key, head, from, to } = delta;
  let length = Math.max(0, from - 1);
  let tip: ChainHash | undefined;
  for (let page = firstPage;;) {
    // No events are left there if the stream was rewritten.
    if (page.length === 0) await explainBreak(engine, tenant, delta, length);
    const isFirst = page === firstPage;
    const before = isFirst && from > 0 ? page[0] : undefined;
    for (const { index, raw, hash } of page) {
      tip = index < from ? hash : extendChain(tip, raw);
      if (index !== length || hash !== tip) await explainBreak(engine, tenant, delta, index);
      length++;
    }
    const isLast = length === to;
    const isAtHead = isLast && to === head.length;
    if (isAtHead && tip !== head.tip) await explainBreak(engine, tenant, delta, length - 1);
    const events = before === undefined ? page : page.slice(1);
    yield { delta, events, isFirst, isLast, tipBefore: before?.hash, tip: tip! };
    if (isLast) return;
    page = await engine.snapshot((tx) => readEvents(tx, tenant, key, windowOf(delta, length)));
  }
}

/**
 * Explains events that do not chain: the stream was rewritten meanwhile, or the store is
 * damaged.
 */
async function explainBreak(
  engine: Engine,
  tenant: number,
  { key, head }: Delta,
  index: number,
): Promise<never> {
  const now = await engine.snapshot((tx) => readHead(tx, tenant, key));
  if (now.generation !== head.generation) throw rewritten(key);
  throw new Error(`The store is damaged: event ${index} of ${key} breaks the stream's hash chain`);
}

export function rewritten(key: StreamKey): ExportDisturbed {
  return new ExportDisturbed(`The stream ${key} was rewritten during the export. Run it again`);
}
