/**
 * Takes the data of an erased stream out of projections. The rewrite is put into the commit log,
 * so that the upkeep refreshes all rows that show the stream. Rows that still show the old
 * generation lose their data at once, because some may never be refreshed. See
 * docs/reference/erasure.md.
 */

import type { JsonObject } from "../../domain/json.ts";
import type { ProjectionPlace } from "../../domain/projection/ready_projection.ts";
import { splitStreamKey, type StreamKey } from "../../domain/identifier.ts";
import type { Bytes, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { pack, unpack } from "../../kv/tuple.ts";
import { logCommit, signalCommits } from "../feed/commit_log.ts";
import {
  decodeProjection,
  listProjectionValues,
  projectionPlaceOf,
  type ProjectionRecord,
  readProjection,
} from "./projections.ts";
import { noteRowChange } from "./row_changes.ts";
import {
  decodeRow,
  encodeRow,
  findProjectionRow,
  listRowsOfSource,
  readProjectionRowKeys,
  setProjectionRow,
  type SourceMark,
  type StoredRow,
} from "./projection_rows.ts";
import { addRetry } from "./projection_work.ts";
import { openWatchedTypes } from "../reactions/watched_types.ts";

/** A stream that was rewritten. */
export interface RewrittenStream {
  readonly tenant: number;
  readonly stream: StreamKey;
  /** Generation of the stream since the rewrite. */
  readonly generation: number;
  /** When it was rewritten, in milliseconds since 1970. */
  readonly erasedMs: number;
}

const PAGE_ROWS = 100;
/** Stored bytes of rows after which a transaction looks at no more of them. */
const PAGE_BYTES = 4 * 1024 * 1024;

/** Call this in the transaction that sets the rewritten head. */
export async function logRewrite(
  tx: Transaction,
  tenant: number,
  stream: StreamKey,
): Promise<void> {
  logCommit(tx, tenant, [{ kind: "erased", stream }]);
  const { logged } = await openWatchedTypes().read(tx, tenant);
  if (logged.has(splitStreamKey(stream).type)) signalCommits(tx);
}

/**
 * Takes the data out of the next rows that show an older generation of the stream. Call it after
 * the rewrite. Returns where to go on; undefined when there are no more.
 */
export async function eraseFromProjections(
  tx: Transaction,
  erased: RewrittenStream,
  after: Bytes | undefined,
): Promise<Bytes | undefined> {
  const found = await nextVersion(tx, erased, readProgress(after));
  if (found === undefined) return undefined;
  if (!("place" in found)) return pack([found.name, found.version]);
  const { name, place, row } = found;
  const keys = await rowsOf(tx, found, erased.stream, row);
  let { last } = keys;
  let bytes = 0;
  if (keys.own !== undefined) await eraseRow(tx, found, keys.own, erased);
  for (const key of keys.shown) {
    bytes += await eraseRow(tx, found, key, erased);
    if (bytes < PAGE_BYTES) continue;
    last = key;
    break;
  }
  return last === undefined ? pack([name, place.version + 1]) : pack([name, place.version, last]);
}

/** The projections before the name are done, and of that one the versions before this. */
interface LookedThrough {
  readonly name: string;
  readonly version: number;
}

interface ErasureProgress extends LookedThrough {
  /** The last row of the version that is done. */
  readonly row?: string | undefined;
}

/** Earlier builds went by the numbers of projections: such an erasure begins again. */
function readProgress(after: Bytes | undefined): ErasureProgress | undefined {
  if (after === undefined) return undefined;
  const [name, version, row] = unpack(after) as [string | number, number, string | undefined];
  return typeof name === "string" ? { name, version, row } : undefined;
}

interface ErasedVersion {
  readonly name: string;
  readonly place: ProjectionPlace;
  readonly isReady: boolean;
  readonly document: JsonObject;
  /** The last row that is done. */
  readonly row?: string | undefined;
}

/** Bytes of definitions that one transaction decodes; it takes a few milliseconds. */
const LOOK_BYTES = 128 * 1024;

/**
 * The next version that reads the type of the stream, or how far this transaction has looked for
 * one. Undefined at the end.
 */
async function nextVersion(
  tx: Pick<ReadTransaction, "get" | "getRange">,
  erased: RewrittenStream,
  from: ErasureProgress | undefined,
): Promise<ErasedVersion | LookedThrough | undefined> {
  const { tenant } = erased;
  if (from !== undefined) {
    const { name, version, row } = from;
    const record = await readProjection(tx, tenant, name);
    const next = versionsOf(record, erased).find(({ place }) => place.version >= version);
    if (next !== undefined) return next.place.version === version ? { ...next, row } : next;
  }
  let after: LookedThrough | undefined = from;
  for (let bytes = 0; bytes < LOOK_BYTES;) {
    const page = { bytesMax: LOOK_BYTES - bytes };
    const values = await listProjectionValues(tx, tenant, after?.name, page);
    if (values.length === 0) return undefined;
    for (const value of values) {
      const record = decodeProjection(value);
      const [next] = versionsOf(record, erased);
      if (next !== undefined) return next;
      after = { name: record.name, version: record.versions + 1 };
      bytes += value.length;
    }
  }
  return after;
}

/** Those that read the type of the stream, in order. */
function versionsOf(
  record: ProjectionRecord | undefined,
  { tenant, stream }: RewrittenStream,
): ErasedVersion[] {
  if (record === undefined) return [];
  const { type } = splitStreamKey(stream);
  const { name, ready, building } = record;
  return [ready, building].flatMap((version) => {
    if (version === undefined || !version.types.includes(type)) return [];
    const place = projectionPlaceOf(tenant, record, version);
    return [{ name, place, isReady: version === ready, document: version.document }];
  }).sort((a, b) => a.place.version - b.place.version);
}

interface RowsToErase {
  /** The stream's own row, at the beginning. */
  readonly own: string | undefined;
  readonly shown: readonly string[];
  readonly last: string | undefined;
}

/**
 * The next rows that may show the stream, and the last one of a full page; no `last` at the end.
 */
async function rowsOf(
  tx: Transaction,
  { place, document }: ErasedVersion,
  stream: StreamKey,
  after: string | undefined,
): Promise<RowsToErase> {
  const { type, id } = splitStreamKey(stream);
  const isIncluded = Object.values((document.include ?? {}) as JsonObject).includes(stream);
  const page = { after, limit: PAGE_ROWS };
  const shown = isIncluded
    ? await readProjectionRowKeys(tx.unguarded, place, page)
    : await listRowsOfSource(tx.unguarded, place, stream, page);
  const own = after === undefined && document.for_each === type ? id : undefined;
  return { own, shown, last: shown.length < PAGE_ROWS ? undefined : shown.at(-1) };
}

/**
 * Keeps what the row is about and made from: the upkeep compares it when it refreshes the row. The
 * data are not parsed, which may take 50 ms. Returns the bytes that were stored.
 */
async function eraseRow(
  tx: Transaction,
  { place, isReady }: ErasedVersion,
  key: string,
  { stream, generation, erasedMs }: RewrittenStream,
): Promise<number> {
  const found = await findProjectionRow(tx, place, key);
  if (found === undefined) return 0;
  const row = decodeRow(key, await found.whole());
  const isEmpty = row.dataJson === "null" && !row.error?.message;
  if (isEmpty || !showsOlder(row, stream, generation)) return row.bytes;
  const error = row.error && { ...row.error, message: "" };
  setProjectionRow(tx, place, row, encodeRow({ ...row, dataJson: "null", error }));
  // The message is also kept there.
  if (error !== undefined) addRetry(tx, place, { dueMs: error.nextTryMs, row: key }, "");
  if (isReady) noteRowChange(tx, place, key, erasedMs);
  return row.bytes;
}

function showsOlder(row: StoredRow, stream: StreamKey, generation: number): boolean {
  const marks: readonly SourceMark[] = [...row.sources, ...row.includes];
  const mark = marks.find(([each]) => each === stream);
  // A row that does not have the stream as a source is the stream's own.
  return (mark?.[1] ?? row.generation) < generation;
}
