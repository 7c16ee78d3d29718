/**
 * The anchors of an environment, numbered from 1, and the blocks of their trees. A block has the
 * hash over 1,024 streams and the key of the first of them. With one anchor's blocks and the
 * chunks of `tree_chunks.ts` any stream can be proved, and no tree is kept whole. See
 * docs/reference/audit.md.
 */

import { assert } from "../../domain/assert.ts";
import type { InstanceAnchor } from "../../domain/audit/anchor.ts";
import type { TreeBlock } from "../../domain/audit/tree_blocks.ts";
import type { ReadTransaction, Transaction } from "../../kv/engine.ts";
import { pack, unpack } from "../../kv/tuple.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { keys } from "../keys.ts";
import { setLargeValue, wholeValue } from "../large_value.ts";

type Reads = Pick<ReadTransaction, "get" | "getRange">;

/** The cut for which an anchor is being made. */
export interface AnchorBuild {
  /** The epoch that the cut ended (`audit_cuts.ts`). */
  readonly cut: number;
  /** The result of `readRewrites` in the transaction of the cut. */
  readonly rewrites: string;
  /** ISO 8601 UTC, before the cut. */
  readonly created_at: string;
  /** Random id of its worker. Another one means that another worker has taken over. */
  readonly attempt: string;
  /** When its worker was last seen, in milliseconds since 1970. */
  readonly seen_ms: number;
}

export interface AnchorState {
  /** Number of the newest anchor; 0 before the first. */
  readonly newest: number;
  /** The last epoch that the newest anchor covers, if changes of such epochs are still marked. */
  readonly covered?: number;
  readonly building?: AnchorBuild;
}

/** An anchor with its number in the order of its environment. */
export interface NumberedAnchor {
  readonly number: number;
  readonly anchor: InstanceAnchor;
}

export async function readAnchorState(tx: Reads, tenant: number): Promise<AnchorState> {
  const value = await tx.get(keys.auditState(tenant));
  return value === undefined ? { newest: 0 } : decodeRecord<AnchorState>(value);
}

export function setAnchorState(tx: Transaction, tenant: number, state: AnchorState): void {
  tx.set(keys.auditState(tenant), encodeRecord(state));
}

export function storeAnchor(
  tx: Transaction,
  tenant: number,
  { number, anchor }: NumberedAnchor,
  blocks: readonly TreeBlock[],
): void {
  tx.set(keys.anchor(tenant, number), encodeRecord(anchor));
  tx.set(keys.anchorNumber(tenant, anchor.id), pack([number]));
  const text = blocks.map(({ hash, first }) => `${hash} ${first}`).join("\n");
  setLargeValue(tx, tenant, keys.anchorBlocks(tenant, number), encoder.encode(text));
}

/** The anchor with the id, or the newest one. */
export async function readAnchor(
  tx: Reads,
  tenant: number,
  id?: string,
): Promise<NumberedAnchor | undefined> {
  if (id === undefined) return (await listAnchors(tx, tenant, { limit: 1 }))[0];
  const value = await tx.get(keys.anchorNumber(tenant, id));
  if (value === undefined) return undefined;
  const number = unpack(value)[0] as number;
  return { number, anchor: decodeRecord((await tx.get(keys.anchor(tenant, number)))!) };
}

/** At most `limit` anchors, newest first; only those older than the number `before`. */
export async function listAnchors(
  tx: Reads,
  tenant: number,
  page: { readonly before?: number; readonly limit: number },
): Promise<NumberedAnchor[]> {
  const { begin, end: last } = keys.anchors(tenant);
  const end = page.before === undefined ? last : keys.anchor(tenant, page.before);
  const pairs = await tx.getRange({ begin, end }, { limit: page.limit, reverse: true });
  return pairs.map(({ key, value }) => ({
    number: unpack(key).at(-1) as number,
    anchor: decodeRecord<InstanceAnchor>(value),
  }));
}

/** The blocks of a stored anchor, by key. */
export async function readBlocks(tx: Reads, tenant: number, number: number): Promise<TreeBlock[]> {
  const key = keys.anchorBlocks(tenant, number);
  const value = await tx.get(key);
  if (value === undefined) return [];
  const text = decoder.decode(await wholeValue(tx, tenant, key, value));
  return text.split("\n").map((line) => {
    assert(line[64] === " ", "a block has its hash and its first key");
    return { hash: line.slice(0, 64), first: line.slice(65) };
  });
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
