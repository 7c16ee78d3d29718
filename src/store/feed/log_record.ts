/**
 * The form of a record of the commit log: what one transaction did to streams, in order.
 *
 * Records are small, because every write stores one. Layout: format byte, then the entries. An
 * entry is a byte of flags, the aggregate type (length, UTF-8; left out if it is that of the entry
 * before), the id (16 bytes for a UUID, otherwise length and UTF-8), and, for appended events, the
 * index of the first one and their number. Numbers have seven bits in a byte, the lowest first.
 */

import { assert } from "../../domain/assert.ts";
import { splitStreamKey, type StreamKey, streamKey } from "../../domain/stream_key.ts";
import type { Bytes } from "../../kv/engine.ts";
import { newBytes, utf8Of } from "../../kv/slab.ts";

/** What a transaction did to a stream. */
export type LogEntry =
  /** Appended `count` events from the index `first`. */
  | {
    readonly kind: "appended";
    readonly stream: StreamKey;
    readonly first: number;
    readonly count: number;
  }
  /** Replaced the stream's events with erasure markers. */
  | { readonly kind: "erased"; readonly stream: StreamKey }
  /** Nothing new: for readers of states that had not seen earlier events of the stream. */
  | { readonly kind: "touched"; readonly stream: StreamKey };

/** Adds events to a log; to its last entry, if they go on where that ends. */
export function addToLog(log: LogEntry[], stream: StreamKey, first: number, count: number): void {
  const last = log.at(-1);
  if (last?.kind === "appended" && last.stream === stream && last.first + last.count === first) {
    log[log.length - 1] = { ...last, count: last.count + count };
  } else log.push({ kind: "appended", stream, first, count });
}

const FORMAT = 1;
const KINDS = ["appended", "erased", "touched"] as const;
const KIND_MASK = 3;
const SAME_TYPE = 4;
const UUID_ID = 8;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const UUID_BYTES = 16;
/** Flags, lengths and two numbers. */
const ENTRY_OVERHEAD_BYTES_MAX = 1 + 2 * 5 + 2 * 8;

const decoder = new TextDecoder();

/** Encodes as many leading entries as fit into `bytesMax`, and at least one. */
export function encodeEntries(
  entries: readonly LogEntry[],
  bytesMax: number,
): { readonly record: Bytes; readonly count: number } {
  const parts: Bytes[] = [];
  let size = 1;
  let typeBefore: string | undefined;
  for (const entry of entries) {
    const { type, id } = splitStreamKey(entry.stream);
    const part = encodeEntry(entry, type === typeBefore ? undefined : type, id);
    if (parts.length > 0 && size + part.length > bytesMax) break;
    parts.push(part);
    size += part.length;
    typeBefore = type;
  }
  const record = newBytes(size);
  record[0] = FORMAT;
  let at = 1;
  for (const part of parts) {
    record.set(part, at);
    at += part.length;
  }
  return { record, count: parts.length };
}

function encodeEntry(entry: LogEntry, type: string | undefined, id: string): Bytes {
  const typeBytes = type === undefined ? undefined : utf8Of(type);
  const isUuid = UUID.test(id);
  const idBytes = isUuid ? undefined : utf8Of(id);
  const room = (typeBytes?.length ?? 0) + (idBytes?.length ?? UUID_BYTES);
  const bytes = newBytes(room + ENTRY_OVERHEAD_BYTES_MAX);
  const kind = KINDS.indexOf(entry.kind);
  bytes[0] = kind | (type === undefined ? SAME_TYPE : 0) | (isUuid ? UUID_ID : 0);
  let at = 1;
  if (typeBytes !== undefined) {
    at = putNumber(bytes, at, typeBytes.length);
    bytes.set(typeBytes, at);
    at += typeBytes.length;
  }
  if (idBytes === undefined) {
    bytes.subarray(at, at + UUID_BYTES).setFromHex(id.replaceAll("-", ""));
    at += UUID_BYTES;
  } else {
    at = putNumber(bytes, at, idBytes.length);
    bytes.set(idBytes, at);
    at += idBytes.length;
  }
  if (entry.kind === "appended") {
    at = putNumber(bytes, at, entry.first);
    at = putNumber(bytes, at, entry.count);
  }
  return bytes.subarray(0, at);
}

export function decodeEntries(record: Bytes): LogEntry[] {
  assert(record[0] === FORMAT, "a record of the commit log has its format");
  const entries: LogEntry[] = [];
  const from = { bytes: record, at: 1 };
  let type = "";
  while (from.at < record.length) {
    const flags = record[from.at++]!;
    if ((flags & SAME_TYPE) === 0) type = takeText(from);
    const id = (flags & UUID_ID) === 0 ? takeText(from) : takeUuid(from);
    const stream = streamKey(type, id);
    const kind = KINDS[flags & KIND_MASK];
    assert(kind !== undefined, "an entry of the commit log is of a known kind");
    if (kind === "appended") {
      const first = takeNumber(from);
      entries.push({ kind, stream, first, count: takeNumber(from) });
    } else entries.push({ kind, stream });
  }
  assert(from.at === record.length, "a record of the commit log ends with an entry");
  return entries;
}

/** Bytes, and how far they have been read. */
interface Reading {
  readonly bytes: Bytes;
  at: number;
}

function putNumber(bytes: Bytes, at: number, value: number): number {
  let rest = value;
  // Divided, because shifts have 32 bits only.
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) | 128;
  bytes[at++] = rest;
  return at;
}

function takeNumber(from: Reading): number {
  let value = 0;
  for (let weight = 1;; weight *= 128) {
    const byte = from.bytes[from.at++];
    assert(byte !== undefined, "a record of the commit log is whole");
    value += (byte & 127) * weight;
    if (byte < 128) return value;
  }
}

function takeText(from: Reading): string {
  const length = takeNumber(from);
  const text = decoder.decode(from.bytes.subarray(from.at, from.at + length));
  from.at += length;
  return text;
}

function takeUuid(from: Reading): string {
  const hex = from.bytes.subarray(from.at, from.at + UUID_BYTES).toHex();
  from.at += UUID_BYTES;
  const [a, b, c, d] = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `${a}-${b}-${c}-${d}-${hex.slice(20)}`;
}
