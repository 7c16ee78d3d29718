/**
 * Decides which events an anchor covers, by dividing writes into epochs. Every write transaction
 * reads the epoch, guarded, and stores it in the heads it sets; a cut is the transaction that
 * ends an epoch. So each write is wholly before or wholly after a cut, however many streams it
 * is about. See docs/reference/audit.md.
 *
 * The first write to a stream within an epoch leaves a mark with what the stream was before. The
 * marks tell what has changed since a cut, and what a stream was at the latest one. Before the
 * first cut (epoch 0) nothing is marked, because the first anchor looks at every stream.
 */

import { assert } from "../../domain/assert.ts";
import {
  decodeFrontier,
  EMPTY_FRONTIER,
  encodeFrontier,
  type Frontier,
} from "../../domain/audit/frontier.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Bytes, KeyRange, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { viewOf } from "../../kv/slab.ts";
import { pack, unpack } from "../../kv/tuple.ts";
import { keyAfter, keys } from "../keys.ts";
import { decodeHead, type HeadOfStream, type StreamHead, type StreamWrite } from "./stream_head.ts";

/** The number of cuts so far. */
export async function readEpoch(tx: Pick<ReadTransaction, "get">, tenant: number): Promise<number> {
  const value = await tx.get(keys.auditEpoch(tenant));
  return value === undefined ? 0 : unpack(value)[0] as number;
}

/** From this commit on, writes belong to another epoch. */
export function setEpoch(tx: Transaction, tenant: number, epoch: number): void {
  tx.set(keys.auditEpoch(tenant), pack([epoch]));
}

/** Notes that a write of `epoch` changes the stream whose head was `before`. */
export function markChange(
  { tx, tenant, stream }: StreamWrite,
  before: StreamHead,
  epoch: number,
): void {
  if (epoch === 0 || (before.length > 0 && before.epoch >= epoch)) return;
  tx.set(keys.auditChange(tenant, epoch, stream), encodeMark(before));
}

/** A stream as it was at a cut. */
export type StreamAtCut = Frontier & { readonly generation: number };

/** A stream as it was at the latest cut, which ended epoch `cut`; empty if it did not exist yet. */
export async function readAtCut(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
  stream: StreamKey,
  cut: number,
): Promise<StreamAtCut> {
  const head = decodeHead(await tx.get(keys.head(tenant, stream)));
  return asAtCut(tx, tenant, { stream, head }, cut);
}

/** The same for a stream with its head. Needs no read, unless it was written since. */
export function asAtCut(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
  { stream, head }: HeadOfStream,
  cut: number,
): StreamAtCut | Promise<StreamAtCut> {
  const { length: count, peaks, generation } = head;
  if (head.epoch <= cut) return { count, peaks, generation };
  return tx.get(keys.auditChange(tenant, cut + 1, stream)).then((mark) => {
    assert(mark !== undefined, "a stream that was written since the latest cut has a mark");
    return { ...decodeMark(mark), generation };
  });
}

/** A stream that was changed in an epoch, and what it was before; empty if it did not exist yet. */
export interface ChangedStream {
  readonly stream: StreamKey;
  readonly before: Frontier;
}

/** Some of the changes that no anchor covers. */
export interface ChangePage {
  /** The last epoch that an anchor covers; undefined if its changes are not there any more. */
  readonly covered?: number;
  /** The mark that ended the page before. */
  readonly after?: Bytes;
  readonly limit: number;
}

/** At most `limit` changes in epochs up to `cut`, epoch by epoch. */
export async function listChanged(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  cut: number,
  { covered, after, limit }: ChangePage,
): Promise<{ readonly changed: ChangedStream[]; readonly last: Bytes | undefined }> {
  const { begin, end } = changesUpTo(tenant, cut);
  const first = covered === undefined ? begin : keys.auditChangesOf(tenant, covered).end;
  const from = after === undefined ? first : keyAfter(after);
  const pairs = await tx.getRange({ begin: from, end }, { limit });
  const changed = pairs.map(({ key, value }) => ({
    stream: unpack(key).at(-1) as StreamKey,
    before: decodeMark(value),
  }));
  return { changed, last: pairs.at(-1)?.key };
}

/**
 * Forgets at most `limit` changes of epochs up to `cut`, which an anchor covers. Returns whether
 * there may be more: clearing a million rows at once would hold up everybody.
 */
export async function clearChanges(
  tx: Transaction,
  tenant: number,
  cut: number,
  limit: number,
): Promise<boolean> {
  const { begin, end } = changesUpTo(tenant, cut);
  // Unguarded, because nothing is written to epochs that have ended.
  const pairs = await tx.unguarded.getRange({ begin, end }, { limit, keysOnly: true });
  const last = pairs.at(-1);
  if (last !== undefined) tx.clearRange({ begin, end: keyAfter(last.key) });
  return pairs.length === limit;
}

function changesUpTo(tenant: number, cut: number): KeyRange {
  return { begin: keys.auditChanges(tenant).begin, end: keys.auditChangesOf(tenant, cut).end };
}

/** The counter of rewritten streams, in hex: a cut is void if it has changed since. */
export async function readRewrites(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
): Promise<string> {
  return (await tx.get(keys.auditRewrites(tenant)))?.toHex() ?? "";
}

export function countRewrite(tx: Transaction, tenant: number): void {
  tx.add(keys.auditRewrites(tenant), 1n);
}

const COUNT_BYTES = 8;

/** The length (a double), then the peaks. */
function encodeMark({ length, peaks }: StreamHead): Bytes {
  const packed = encodeFrontier({ count: length, peaks });
  const bytes = new Uint8Array(COUNT_BYTES + packed.length);
  viewOf(bytes).setFloat64(0, length);
  bytes.set(packed, COUNT_BYTES);
  return bytes;
}

function decodeMark(bytes: Bytes): Frontier {
  const count = viewOf(bytes).getFloat64(0);
  return count === 0 ? EMPTY_FRONTIER : decodeFrontier(count, bytes.subarray(COUNT_BYTES));
}
