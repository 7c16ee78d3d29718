/**
 * Reads the heads of an environment, one segment per transaction. A head never goes back and
 * the events below it never change. So the head alone identifies the content of a stream, and
 * its events may be read later, in as many transactions as it takes.
 */

import type { BlobVersion } from "../../domain/wasm/blob.ts";
import type { SpecVersion } from "../../domain/spec/deployment.ts";
import type { StreamKey } from "../../domain/stream_key.ts";
import type { Host } from "../../host.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { listStreams } from "../../store/streams/aggregates.ts";
import { listBlobs } from "../../store/blobs.ts";
import { listSpecVersions, readCurrentVersion } from "../../store/specs.ts";
import type { StreamHead } from "../../store/streams/stream_head.ts";
import { readHead } from "../../store/streams/streams.ts";
import { scanWork, type SegmentLimits, WORK_BEGIN, type WorkSegment } from "./scan_work.ts";

export interface ListedHead {
  readonly key: StreamKey;
  readonly head: StreamHead;
}

/** What one transaction saw: consecutive heads in the order of the listing. */
export interface HeadSegment {
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

/** Reads the next heads after `after`; `alongside` is read at the same version. */
export async function scanSegment<T>(
  engine: Engine,
  host: Host,
  tenant: number,
  after: StreamKey | undefined,
  limits: SegmentLimits,
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
        const work = await scanWork(tx, host, tenant, WORK_BEGIN, { limits, endMs });
        return { version, heads, isLast: true, work, beside };
      }
      last = batch.at(-1);
      const isFull = heads.length >= limits.heads || host.nowMs() >= endMs;
      if (isFull) return { version, heads, isLast: false, work: undefined, beside };
    }
  });
}
