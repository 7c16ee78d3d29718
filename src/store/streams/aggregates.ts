/** The index of ids behind the aggregate listing, in byte-wise order of the canonical id. */

import { Buffer } from "node:buffer";
import { splitStreamKey, type StreamKey, streamKey } from "../../domain/identifier.ts";
import type { ReadTransaction, Transaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { keyAfter, keys } from "../keys.ts";

const PRESENT = new Uint8Array(0);

/** Called with the first event of a stream. */
export function indexAggregate(tx: Transaction, tenant: number, type: string, id: string): void {
  tx.set(keys.aggregate(tenant, type, id), PRESENT);
}

/**
 * At most `limit` ids after `start` (exclusive; any text), in byte-wise order; with `prefix`, only
 * those that begin so.
 */
export async function listAggregateIds(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  type: string,
  page: { readonly start?: string; readonly prefix?: string; readonly limit: number },
): Promise<string[]> {
  const all = keys.aggregates(tenant, type);
  const range = page.prefix === undefined ? all : keys.aggregatesWith(tenant, type, page.prefix);
  const after = page.start === undefined
    ? range.begin
    : keyAfter(keys.aggregate(tenant, type, page.start));
  const begin = Buffer.compare(after, range.begin) > 0 ? after : range.begin;
  if (Buffer.compare(begin, range.end) >= 0) return [];
  const options = { limit: page.limit, keysOnly: true };
  const pairs = await tx.getRange({ begin, end: range.end }, options);
  // The first key of all is the prefix that all keys share, and one byte.
  const common = all.begin.length - 1;
  return pairs.map(({ key }) => unpack(key.subarray(common))[0] as string);
}

/** At most `limit` streams of all types after `after`, by type, then id, both byte-wise. */
export async function listStreams(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  page: { readonly after?: StreamKey; readonly limit: number },
): Promise<StreamKey[]> {
  const range = keys.allAggregates(tenant);
  const begin = page.after === undefined ? range.begin : keyAfter(aggregateKey(tenant, page.after));
  const options = { limit: page.limit, keysOnly: true };
  const pairs = await tx.getRange({ begin, end: range.end }, options);
  return pairs.map(({ key }) => {
    const [type, id] = unpack(key).slice(-2) as [string, string];
    return streamKey(type, id);
  });
}

/** Whether {@link listStreams} has a stream after another one. */
export function isListedAfter(stream: StreamKey, other: StreamKey): boolean {
  // Any tenant will do.
  return Buffer.compare(aggregateKey(1, stream), aggregateKey(1, other)) > 0;
}

function aggregateKey(tenant: number, stream: StreamKey) {
  const { type, id } = splitStreamKey(stream);
  return keys.aggregate(tenant, type, id);
}
