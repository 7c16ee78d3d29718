/** Lists the outbox of one tenant in an order that depends on neither the shards nor the tenant. */

import { assert } from "../../domain/assert.ts";
import type { OutboxPlace, OutboxWork } from "../../domain/reaction/outbox_entry.ts";
import { QUEUE_SHARDS } from "../../domain/fairness/work_share.ts";
import type { ReadTransaction } from "../../kv/engine.ts";
import { keyAfter, keys } from "../keys.ts";
import { openEntry } from "./entry_bytes.ts";
import { findOutbox, type UnreadEntry, wholeEntry } from "./outbox.ts";

export interface TenantOutboxPage {
  readonly works: readonly OutboxWork[];
  readonly isLast: boolean;
}

/** The same page with its entries as they were read. */
export interface FoundTenantPage {
  readonly works: readonly UnreadEntry[];
  readonly isLast: boolean;
}

export interface TenantOutboxRead {
  readonly after?: OutboxPlace;
  readonly limit: number;
  readonly shardBytesMax?: number;
}

/**
 * Entries after the place `after`, ordered by stream, index and number: some of them, or all if
 * `isLast`. From each shard at most `limit` are read, and about `shardBytesMax` bytes.
 */
export async function listTenantOutbox(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  read: TenantOutboxRead,
): Promise<TenantOutboxPage> {
  const { works, isLast } = await findTenantOutbox(tx, tenant, read);
  const opened: OutboxWork[] = [];
  for (const each of works) opened.push(openEntry(each.place, await wholeEntry(tx, each)));
  return { works: opened, isLast };
}

/** The same page without decoding its entries. */
export async function findTenantOutbox(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  { after, limit, shardBytesMax }: TenantOutboxRead,
): Promise<FoundTenantPage> {
  const shards = Array.from({ length: QUEUE_SHARDS.outbox }, (_, shard) => shard);
  const pages = await Promise.all(shards.map(async (shard) => {
    const start = after === undefined
      ? keys.tenantOutbox(shard, tenant).begin
      : keyAfter(keys.outbox(shard, tenant, after.stream, after.index, after.number));
    const { works, next } = await findOutbox(tx, shard, { start, limit, bytesMax: shardBytesMax });
    const own = works.filter(({ place }) => place.tenant === tenant);
    return { own, isLast: next === undefined || own.length < works.length };
  }));
  const all = pages.flatMap(({ own }) => own).sort((a, b) => comparePlaces(a.place, b.place));
  const cut = pages.filter(({ isLast }) => !isLast).map(({ own }) => own.at(-1)!.place);
  if (cut.length === 0) return { works: all, isLast: true };
  // Beyond the end of the shortest page there may be entries that were not read.
  const upTo = cut.reduce((a, b) => comparePlaces(a, b) < 0 ? a : b);
  const works = all.filter(({ place }) => comparePlaces(place, upTo) <= 0);
  assert(works.length > 0, "each page brings at least its own end");
  return { works, isLast: false };
}

/** The order of the keys, whose texts are ASCII. */
function comparePlaces(a: OutboxPlace, b: OutboxPlace): number {
  if (a.stream !== b.stream) return a.stream < b.stream ? -1 : 1;
  return a.index - b.index || a.number - b.number;
}
