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
import { listProjections, projectionPlaceOf } from "./projections.ts";
import { noteRowChange } from "./row_changes.ts";
import {
  decodeRowText,
  encodeRow,
  findProjectionRow,
  listRowsOfSource,
  readProjectionRowKeys,
  setProjectionRow,
  type SourceMark,
  type StoredRowText,
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
  const [number, version, row] = after === undefined
    ? [0, 0, undefined]
    : unpack(after) as [number, number, string | undefined];
  const versions = await versionsOf(tx, erased);
  const next = versions.find(({ place }) =>
    place.number > number || (place.number === number && place.version >= version)
  );
  if (next === undefined) return undefined;
  const isSame = next.place.number === number && next.place.version === version;
  const keys = await rowsOf(tx, next, erased.stream, isSame ? row : undefined);
  let { last } = keys;
  let bytes = 0;
  if (keys.own !== undefined) await eraseRow(tx, next, keys.own, erased);
  for (const key of keys.shown) {
    bytes += await eraseRow(tx, next, key, erased);
    if (bytes < PAGE_BYTES) continue;
    last = key;
    break;
  }
  const { place } = next;
  return last === undefined
    ? pack([place.number, place.version + 1])
    : pack([place.number, place.version, last]);
}

interface ErasedVersion {
  readonly place: ProjectionPlace;
  readonly isReady: boolean;
  readonly document: JsonObject;
}

/** By number, then version. */
async function versionsOf(
  tx: Pick<ReadTransaction, "get" | "getRange">,
  { tenant }: RewrittenStream,
): Promise<ErasedVersion[]> {
  const records = await listProjections(tx, tenant);
  return records.flatMap((record) =>
    [record.ready, record.building].flatMap((version) => {
      if (version === undefined) return [];
      const { document } = version;
      return [{
        place: projectionPlaceOf(tenant, record, version),
        isReady: version === record.ready,
        document,
      }];
    })
  ).sort((a, b) => a.place.number - b.place.number || a.place.version - b.place.version);
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
  const row = decodeRowText(key, await found.whole());
  const isEmpty = row.dataJson === "null" && !row.error?.message;
  if (isEmpty || !showsOlder(row, stream, generation)) return row.bytes;
  const error = row.error && { ...row.error, message: "" };
  setProjectionRow(tx, place, row, encodeRow({ ...row, data: null, error }));
  // The message is also kept there.
  if (error !== undefined) addRetry(tx, place, { dueMs: error.nextTryMs, row: key }, "");
  if (isReady) noteRowChange(tx, place, key, erasedMs);
  return row.bytes;
}

function showsOlder(row: StoredRowText, stream: StreamKey, generation: number): boolean {
  const marks: readonly SourceMark[] = [...row.sources, ...row.includes];
  const mark = marks.find(([each]) => each === stream);
  // A row that does not have the stream as a source is the stream's own.
  return (mark?.[1] ?? row.generation) < generation;
}
