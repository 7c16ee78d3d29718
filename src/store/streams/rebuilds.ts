/** Snapshots to rebuild in the background: of single streams, and of whole types after a deploy. */

import { type StreamKey, streamKey } from "../../domain/identifier.ts";
import { shardOf } from "../../domain/fairness/work_share.ts";
import type { Bytes, KeyValue, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { keyAfter, keys } from "../keys.ts";

/** The background brings a stream's snapshot up to date after this many stored bytes. */
export const REBUILD_EVERY_BYTES = 4 * 1024 * 1024;

export interface StreamRebuild {
  readonly tenant: number;
  readonly stream: StreamKey;
}

export interface TypeRebuild {
  readonly tenant: number;
  readonly type: string;
  /** The last id that is done; undefined at the start. */
  readonly done: string | undefined;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function enqueueStreamRebuild(tx: Transaction, tenant: number, stream: StreamKey): void {
  tx.set(rebuildKey({ tenant, stream }), new Uint8Array(0));
}

/** At most `limit` streams that wait in one shard, behind a place in it. */
export async function listStreamRebuilds(
  tx: Pick<ReadTransaction, "getRange">,
  shard: number,
  limit: number,
  behind?: { readonly tenant: number; readonly stream: string },
): Promise<StreamRebuild[]> {
  const { begin, end } = keys.rebuilds(shard);
  const from = behind && keyAfter(keys.rebuild(shard, behind.tenant, behind.stream));
  const pairs = await tx.getRange({ begin: from ?? begin, end }, { limit });
  return pairs.map(({ key }) => {
    const [tenant, stream] = unpack(key).slice(-2) as [number, StreamKey];
    return { tenant, stream };
  });
}

/** Guarded, so that a stream which is put on the list at this moment stays there. */
export async function settleStreamRebuild(tx: Transaction, rebuild: StreamRebuild): Promise<void> {
  const key = rebuildKey(rebuild);
  if (await tx.get(key) !== undefined) tx.clear(key);
}

function rebuildKey({ tenant, stream }: StreamRebuild): Bytes {
  return keys.rebuild(shardOf("rebuild", `${tenant}/${stream}`), tenant, stream);
}

/** A later call for the same type starts it again. */
export function enqueueTypeRebuild(tx: Transaction, tenant: number, type: string): void {
  tx.set(keys.rebuildType(tenant, type), new Uint8Array(0));
}

/** The first type of the next environment behind `tenant`, or else from the beginning. */
export async function nextTypeRebuild(
  tx: Pick<ReadTransaction, "getRange">,
  tenant = 0,
): Promise<TypeRebuild | undefined> {
  const { begin, end } = keys.rebuildTypes();
  const behind = { begin: keys.rebuildType(tenant + 1, ""), end };
  const [next] = await tx.getRange(behind, { limit: 1 });
  return decodeTypeRebuild(next ?? (await tx.getRange({ begin, end }, { limit: 1 }))[0]);
}

function decodeTypeRebuild(pair: KeyValue | undefined): TypeRebuild | undefined {
  if (pair === undefined) return undefined;
  const [tenant, type] = unpack(pair.key).slice(-2) as [number, string];
  const done = pair.value.length === 0 ? undefined : decoder.decode(pair.value);
  return { tenant, type, done };
}

/**
 * Advances a type: its `ids` become rebuilds of streams, and the cursor moves to the last of
 * them. Without ids the type is done.
 */
export function advanceTypeRebuild(tx: Transaction, work: TypeRebuild, ids: readonly string[]) {
  for (const id of ids) enqueueStreamRebuild(tx, work.tenant, streamKey(work.type, id));
  const key = keys.rebuildType(work.tenant, work.type);
  const last = ids.at(-1);
  if (last === undefined) tx.clear(key);
  else tx.set(key, encoder.encode(last));
}
