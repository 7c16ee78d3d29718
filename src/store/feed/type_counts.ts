/**
 * How many aggregates and events each type of an environment has, counted from the commit log up to
 * a place in it. Writers count nothing: who reads the counts adds what was logged behind the place,
 * and a worker moves the place forward. See docs/internals/feed.md.
 */

import type { Pieces } from "../../domain/fairness/pieces.ts";
import { FEED_START, type LogPlace } from "../../domain/feed/place.ts";
import { splitStreamKey } from "../../domain/identifier.ts";
import type { ReadTransaction, Transaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { keyAfter, keys } from "../keys.ts";
import { type LogEntry, readLog } from "./commit_log.ts";

export interface TypeCount {
  readonly aggregates: number;
  readonly events: number;
}

/** By aggregate type. */
export type TypeCounts = ReadonlyMap<string, TypeCount>;

const NOTHING: TypeCount = { aggregates: 0, events: 0 };

/** Everything up to there is in the stored counts. */
export async function readCountedPlace(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
): Promise<LogPlace> {
  const value = await tx.get(keys.countedPlace(tenant));
  return value === undefined ? FEED_START : decodeRecord<{ readonly place: LogPlace }>(value).place;
}

/** The stored counts of at most `limit` types behind `start`, by name. */
export async function readTypeCounts(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  { start, limit }: { readonly start?: string; readonly limit?: number } = {},
): Promise<Map<string, TypeCount>> {
  const { begin, end } = keys.typeCounts(tenant);
  const first = start === undefined ? begin : keyAfter(keys.typeCount(tenant, start));
  const pairs = await tx.getRange({ begin: first, end }, limit === undefined ? {} : { limit });
  return new Map(
    pairs.map(({ key, value }) => [unpack(key).at(-1) as string, decodeRecord<TypeCount>(value)]),
  );
}

/** What a part of the log adds to the counts. */
export interface LoggedCounts {
  readonly added: TypeCounts;
  readonly records: number;
  /** Everything up to there was counted. */
  readonly place: LogPlace;
  readonly isAtEnd: boolean;
}

/** What is looked at in all, and at once. */
const RECORDS_MAX = 4_000;
const RECORDS_AT_ONCE = 250;
const BYTES_AT_ONCE = 64 * 1024;
const LOOKS_MAX = 32;

/** With so many types, a transaction that moves the counts goes no further. */
const MOVED_TYPES_MAX = 1_000;
/** Counts of types that are moved between two pauses. */
const MOVED_AT_ONCE = 50;

/**
 * Counts what the log has behind a place; of a long part only the beginning, and little more than
 * `typesMax` types.
 */
export async function countLogged(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  after: LogPlace,
  { pieces, typesMax = Infinity }: { readonly pieces: Pieces; readonly typesMax?: number },
): Promise<LoggedCounts> {
  const added = new Map<string, TypeCount>();
  let [place, records, isAtEnd] = [after, 0, false];
  for (let looks = 0; looks < LOOKS_MAX && records < RECORDS_MAX && !isAtEnd; looks++) {
    if (added.size >= typesMax) break;
    const page = { after: place, limit: RECORDS_AT_ONCE, bytesMax: BYTES_AT_ONCE };
    const read = await readLog(tx, tenant, page);
    for (const { entries } of read) countEntries(added, entries);
    place = read.at(-1)?.place ?? place;
    records += read.length;
    isAtEnd = read.length === 0;
    await pieces.rest();
  }
  return { added, records, place, isAtEnd };
}

/** An aggregate counts with its first event. Erasures leave a marker for each event. */
export function countEntries(counts: Map<string, TypeCount>, entries: readonly LogEntry[]): void {
  for (const entry of entries) {
    if (entry.kind !== "appended") continue;
    const { type } = splitStreamKey(entry.stream);
    const { aggregates, events } = counts.get(type) ?? NOTHING;
    const isNew = entry.first === 0;
    const count = { aggregates: isNew ? aggregates + 1 : aggregates, events: events + entry.count };
    counts.set(type, count);
  }
}

export function sumOfCounts(a: TypeCount = NOTHING, b: TypeCount = NOTHING): TypeCount {
  return { aggregates: a.aggregates + b.aggregates, events: a.events + b.events };
}

/** Moves the counts forward by a part of the log. */
export async function moveTypeCounts(
  tx: Transaction,
  tenant: number,
  pieces: Pieces,
): Promise<LoggedCounts> {
  // Guarded, and whoever changes a count moves the place.
  const before = await readCountedPlace(tx, tenant);
  const request = { pieces, typesMax: MOVED_TYPES_MAX };
  const logged = await countLogged(tx.unguarded, tenant, before, request);
  if (logged.records === 0) return logged;
  const types = [...logged.added];
  for (let from = 0; from < types.length; from += MOVED_AT_ONCE) {
    await pieces.rest();
    await Promise.all(
      types.slice(from, from + MOVED_AT_ONCE).map(async ([type, added]) => {
        const key = keys.typeCount(tenant, type);
        const value = await tx.unguarded.get(key);
        const stored = value && decodeRecord<TypeCount>(value);
        tx.set(key, encodeRecord(sumOfCounts(stored, added)));
      }),
    );
  }
  tx.set(keys.countedPlace(tenant), encodeRecord({ place: logged.place }));
  return logged;
}
