/**
 * Reads the streams of an environment for an export: first their heads, one segment per
 * transaction, then the events that still have to be exported.
 *
 * A head never goes back and the events below it never change. So the head alone identifies the
 * content of a stream, and its events may be read later, in as many transactions as it takes.
 * Many small streams share a transaction; a large stream is read in pages. The next group is
 * read while the last one is written.
 */

import { extendChain } from "../../domain/audit/chain.ts";
import type { StreamKey } from "../../domain/stream_key.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import type { StreamHead } from "../../store/streams/stream_head.ts";
import { type IndexedEvent, readEvents } from "../../store/streams/stream_events.ts";
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
  readonly heads: readonly ListedHead[];
  /** False if the environment has more streams after the last head. */
  readonly isLast: boolean;
  /** Set with the last heads: the pending work, as far as the transaction could read it. */
  readonly work: WorkSegment | undefined;
}

/** The specs and blobs at the same version as the first segment of a round. */
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
    const beside = await alongside(tx);
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
        return { version, heads, isLast: true, work, beside };
      }
      last = batch.at(-1);
      const isFull = heads.length >= limits.heads || host.nowMs() >= endMs;
      if (isFull) return { version, heads, isLast: false, work: undefined, beside };
    }
  });
}

/** How far a stream was written before; nothing at first. */
export interface Reached {
  readonly length: number;
  readonly bytes: number;
  readonly tip: string | undefined;
}

export interface Delta {
  readonly key: StreamKey;
  readonly head: StreamHead;
  readonly from: Reached;
}

/** Consecutive events of one delta. `isLast` is true for the page that reaches its head. */
export interface DeltaPage {
  readonly delta: Delta;
  readonly events: readonly IndexedEvent[];
  readonly isFirst: boolean;
  readonly isLast: boolean;
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
    const bytes = delta.head.bytes - delta.from.bytes;
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
    Promise.all(group.map(({ key, head, from }) =>
      readEvents(tx, tenant, key, {
        from: from.length,
        to: head.length,
        bytesMax: PAGE_BYTES,
        generation: head.generation,
      })
    ))
  );
}

async function* followPages(
  engine: Engine,
  tenant: number,
  delta: Delta,
  firstPage: IndexedEvent[],
): AsyncGenerator<DeltaPage> {
  const { key, head } = delta;
  let { length, tip } = delta.from;
  let events = firstPage;
  for (;;) {
    // No events are left there if the stream was rewritten.
    if (events.length === 0) await explainBreak(engine, tenant, delta, length);
    for (const { index, raw, hash } of events) {
      tip = extendChain(tip, raw);
      if (index !== length || hash !== tip) await explainBreak(engine, tenant, delta, index);
      length++;
    }
    const isLast = length === head.length;
    if (isLast && tip !== head.tip) await explainBreak(engine, tenant, delta, length - 1);
    const isFirst = events === firstPage;
    yield { delta, events, isFirst, isLast };
    if (isLast) return;
    const { generation } = head;
    const window = { from: length, to: head.length, bytesMax: PAGE_BYTES, generation };
    events = await engine.snapshot((tx) => readEvents(tx, tenant, key, window));
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
