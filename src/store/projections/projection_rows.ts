/**
 * The rows of projections, and the index of which of them show something of a stream. A row is a
 * pure function of the states of its sources, so a transfer leaves rows out and the receiving
 * store computes them again.
 */

import type { ProjectionPlace, ProjectionRow } from "../../domain/projection/ready_projection.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import { type Bytes, kvLimits, type ReadTransaction, type Transaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { keyAfter, keys } from "../keys.ts";
import { utf8Of } from "../../kv/slab.ts";
import { clearLargeValue, setLargeValue, wholeBytes, wholeValue } from "../large_value.ts";
import { endOfValue } from "../../domain/json_text/members.ts";
import { parseJson } from "../../domain/json_text/parse_json.ts";
import { TextSet } from "../../domain/lookup/text_map.ts";

/** A stream as a row shows it: its generation, and how many of its events. */
export type SourceMark = readonly [stream: StreamKey, generation: number, length: number];

/** A row with what is needed to keep it up to date. */
export interface StoredRow extends ProjectionRow {
  /** Generation of the aggregate's stream: grows when that is rewritten. */
  readonly generation: number;
  /** Streams other than its own that it shows something of, or would if they had events. */
  readonly sources: readonly SourceMark[];
  /** Streams that every row of its projection shows: they are in no index. */
  readonly includes: readonly SourceMark[];
  /** Bytes of the whole value: above the engine's limit it is in pieces. */
  readonly bytes: number;
}

/** A row as it is stored under its key; `data` come behind these, and `error` behind them. */
interface RowHead {
  readonly position: number;
  readonly generation: number;
  readonly updated_at: number | null;
  readonly sources: readonly SourceMark[];
  readonly includes: readonly SourceMark[];
}

const decoder = new TextDecoder();
const DATA = ',"data":';
const ERROR = ',"error":{';

type Reads = Pick<ReadTransaction, "get" | "getRange">;

/** Undefined if there is none. */
export async function readProjectionRow(
  tx: Reads,
  place: ProjectionPlace,
  key: string,
): Promise<StoredRow | undefined> {
  const found = await findProjectionRow(tx, place, key);
  return found && decodeRow(key, await found.whole());
}

/** A row that is there, of which neither the pieces are read nor the text is parsed yet. */
export interface FoundRow {
  /** Bytes of the whole value. */
  readonly bytes: number;
  whole(): Promise<Bytes>;
}

/** For callers that look at the size before they read a row. Undefined if there is none. */
export async function findProjectionRow(
  tx: Reads,
  { tenant, number, version }: ProjectionPlace,
  key: string,
): Promise<FoundRow | undefined> {
  const rowKey = keys.projectionRow(tenant, number, version, key);
  const value = await tx.get(rowKey);
  if (value === undefined) return undefined;
  return { bytes: wholeBytes(value), whole: () => wholeValue(tx, tenant, rowKey, value) };
}

export interface KeysPage {
  /** The last key of the page before; any text. */
  readonly after?: string;
  readonly limit: number;
}

export interface RowsPage extends KeysPage {
  /** The page ends with the row that reaches this many bytes. */
  readonly bytesMax: number;
}

/** Rows in byte-wise order of their keys; none after the last one. */
export async function readProjectionRows(
  tx: Reads,
  { tenant, number, version }: ProjectionPlace,
  { after, limit, bytesMax }: RowsPage,
): Promise<StoredRow[]> {
  const range = keys.projectionRows(tenant, number, version);
  const begin = after === undefined
    ? range.begin
    : keyAfter(keys.projectionRow(tenant, number, version, after));
  const pairs = await tx.getRange({ begin, end: range.end }, { limit, bytesMax });
  const rows: StoredRow[] = [];
  let bytes = 0;
  // One after the other: the range has counted the header of a large row, but not its pieces.
  for (const { key, value } of pairs) {
    const name = unpack(key).at(-1) as string;
    const row = decodeRow(name, await wholeValue(tx, tenant, key, value));
    rows.push(row);
    bytes += row.bytes;
    if (bytes >= bytesMax) break;
  }
  return rows;
}

const KEYS_BYTES_MAX = 1024 * 1024;

/** Keys alone: as many as asked for, if there are so many, however large the rows are. */
export async function readProjectionRowKeys(
  tx: Pick<Reads, "getRange">,
  { tenant, number, version }: ProjectionPlace,
  { after, limit }: KeysPage,
): Promise<string[]> {
  const { begin: first, end } = keys.projectionRows(tenant, number, version);
  const found: string[] = [];
  let begin = after === undefined
    ? first
    : keyAfter(keys.projectionRow(tenant, number, version, after));
  while (found.length < limit) {
    const options = { limit: limit - found.length, bytesMax: KEYS_BYTES_MAX, keysOnly: true };
    const pairs = await tx.getRange({ begin, end }, options);
    const last = pairs.at(-1);
    if (last === undefined) break;
    for (const { key } of pairs) found.push(unpack(key).at(-1) as string);
    begin = keyAfter(last.key);
  }
  return found;
}

/** A row as it is to be stored; made before the transaction, so that its size is known. */
export interface EncodedRow {
  readonly key: string;
  readonly sources: readonly SourceMark[];
  readonly value: Bytes;
}

/** Begins with a {@link RowHead}. The text of the data is not looked at. */
export function encodeRow(row: Omit<StoredRow, "bytes">): EncodedRow {
  const { key, position, generation, updatedAt: updated_at, sources, includes, dataJson, error } =
    row;
  const record: RowHead = { position, generation, updated_at, sources, includes };
  const head = JSON.stringify(record);
  const end = error === undefined ? "}" : `,"error":${JSON.stringify(error)}}`;
  return { key, sources, value: utf8Of(`${head.slice(0, -1)}${DATA}${dataJson}${end}`) };
}

/** Whether the row is stored as it is to be; much faster than parsing both. */
export function isStoredAs(row: EncodedRow | undefined, stored: Bytes | undefined): boolean {
  if (row === undefined || stored?.length !== row.value.length) return false;
  // Bounded: by the size of a row.
  for (let at = 0; at < stored.length; at++) if (stored[at] !== row.value[at]) return false;
  return true;
}

/**
 * Sets a row and its entries in the index of sources. `before` was read in the same transaction.
 */
export function setProjectionRow(
  tx: Transaction,
  place: ProjectionPlace,
  before: Omit<StoredRow, "dataJson"> | undefined,
  after: EncodedRow,
): void {
  const { tenant, number, version } = place;
  const key = keys.projectionRow(tenant, number, version, after.key);
  if (before !== undefined && before.bytes > kvLimits.valueBytesMax) {
    clearLargeValue(tx, tenant, key);
  }
  setLargeValue(tx, tenant, key, after.value);
  const old = new TextSet(before?.sources.map(([stream]) => stream));
  for (const [stream] of after.sources) {
    if (!old.delete(stream)) tx.set(sourceKey(place, stream, after.key), new Uint8Array(0));
  }
  for (const stream of old) tx.clear(sourceKey(place, stream, after.key));
}

/** Removes a row that was read in the same transaction. */
export function clearProjectionRow(
  tx: Transaction,
  place: ProjectionPlace,
  row: Omit<StoredRow, "dataJson">,
): void {
  const { tenant, number, version } = place;
  const key = keys.projectionRow(tenant, number, version, row.key);
  if (row.bytes > kvLimits.valueBytesMax) clearLargeValue(tx, tenant, key);
  else tx.clear(key);
  for (const [stream] of row.sources) tx.clear(sourceKey(place, stream, row.key));
}

/** At most `limit` rows that show something of a stream, after the row `after`. */
export async function listRowsOfSource(
  tx: Pick<ReadTransaction, "getRange">,
  { tenant, number, version }: ProjectionPlace,
  stream: StreamKey,
  { after, limit }: KeysPage,
): Promise<string[]> {
  const range = keys.projectionSourcesOf(tenant, number, version, stream);
  const begin = after === undefined
    ? range.begin
    : keyAfter(keys.projectionSource(tenant, number, version, stream, after));
  const pairs = await tx.getRange({ begin, end: range.end }, { limit, keysOnly: true });
  return pairs.map(({ key }) => unpack(key).at(-1) as string);
}

function sourceKey(
  { tenant, number, version }: ProjectionPlace,
  stream: StreamKey,
  row: string,
): Bytes {
  return keys.projectionSource(tenant, number, version, stream, row);
}

/**
 * The row in `value`, which is the whole one; its data are not parsed. A quote within a text is
 * escaped, so the first name `data` is the record's own: nothing before it has names.
 */
export function decodeRow(key: string, value: Bytes): StoredRow {
  const text = decoder.decode(value);
  const at = text.indexOf(DATA);
  const head: RowHead = parseJson(`${text.slice(0, at)}}`);
  const { updated_at: updatedAt, ...about } = head;
  const begin = at + DATA.length;
  // Data may have a member of this name, too.
  const end = text.includes(ERROR, begin) ? endOfValue(text, begin) : text.length - 1;
  const rest: Pick<StoredRow, "error"> = parseJson(`{${text.slice(end + 1) || "}"}`);
  const dataJson = text.slice(begin, end);
  return { key, ...about, updatedAt, error: rest.error, dataJson, bytes: value.length };
}
