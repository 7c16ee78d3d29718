/**
 * Requests to erase a stream: makes them, cancels them during the grace period, and reads them.
 * See docs/reference/erasure.md.
 */

import {
  checkWish,
  newTombstone,
  type Tombstone,
  TOMBSTONE_ID_RANDOM_BYTES,
  tombstoneId,
  type TombstonePage,
  type TombstoneView,
  type TombstoneWish,
  viewTombstone,
} from "../../domain/erasure/tombstone.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import {
  parseIdentifier,
  splitStreamKey,
  type StreamKey,
  streamKey,
} from "../../domain/identifier.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import type { SpecCache } from "../base/current_spec.ts";
import { readHead } from "../../store/streams/streams.ts";
import {
  findOpenTombstone,
  listTombstones as listRecords,
  markErasure,
  readTombstone as readRecord,
  saveTombstone,
  stopWaiting,
  waitForErasure,
} from "../../store/tombstones.ts";
import { checkStart, cutPage, pageLimit } from "../../domain/list_page.ts";

/** The input of a request. */
export type ErasureRequest =
  & Omit<TombstoneWish, "grace_hours">
  & { readonly grace_hours?: number; readonly requestedBy: string };

export interface ErasureTools {
  readonly engine: Engine;
  readonly host: Host;
  readonly specs: SpecCache;
}

/** Once this resolves, the stream will be erased unless the request is cancelled in time. */
export async function requestErasure(
  { engine, host, specs }: ErasureTools,
  tenant: Tenant,
  request: ErasureRequest,
): Promise<Outcome<Tombstone>> {
  const wish = checkWish(request, tenant.environment);
  if (!wish.ok) return wish;
  const named = namedStreams(await specs.current(tenant.number), request.key);
  if (!named.ok) return named;
  const nowMs = host.nowMs();
  const id = tombstoneId(nowMs, host.randomBytes(TOMBSTONE_ID_RANDOM_BYTES));
  return await engine.transact(async (tx): Promise<Outcome<Tombstone>> => {
    const key = await findStream(tx, tenant.number, named.value);
    if (key === undefined) return refuse({ kind: "stream_not_found" });
    const tombstone = newTombstone(id, { ...wish.value, key }, request.requestedBy, nowMs);
    const open = await findOpenTombstone(tx, tenant.number, key);
    if (open !== undefined && open !== id) {
      const message = `${key} is to be erased already, by ${open}`;
      return refuse({ kind: "already_exists", path: "key", message });
    }
    saveTombstone(tx, tenant.number, tombstone);
    if (tombstone.executeAtMs > nowMs) waitForErasure(tx, tenant.number, tombstone);
    else markErasure(tx, { tenant: tenant.number, id });
    return accept(tombstone);
  });
}

/** An erasure that a later life of a restored store knows. */
export interface LaterErasure {
  readonly tenant: number;
  readonly tombstone: Tombstone;
}

/**
 * Requests what was erased, or was to be, after the moment to which a store was restored. What had
 * begun by then is due at once. Streams that the restored store does not have are left out.
 * Returns how many were requested.
 */
export async function repeatErasures(
  engine: Engine,
  nowMs: number,
  erasures: Iterable<LaterErasure>,
): Promise<number> {
  let repeated = 0;
  for (const { tenant, tombstone: later } of erasures) {
    if (later.state === "cancelled") continue;
    const isRepeated = await engine.transact(async (tx) => {
      if ((await readHead(tx.unguarded, tenant, later.key)).length === 0) return false;
      const openId = await findOpenTombstone(tx, tenant, later.key);
      const open = openId === undefined ? undefined : await readRecord(tx, tenant, openId);
      if (open !== undefined) stopWaiting(tx, tenant, open);
      const { key, reason, legal_basis, grace_hours, requested_by } = later;
      const wish = { key, reason, grace_hours, ...(legal_basis !== undefined && { legal_basis }) };
      const id = open?.id ?? later.id;
      const executeAtMs = later.state === "pending" ? later.executeAtMs : nowMs;
      const tombstone: Tombstone = {
        ...newTombstone(id, wish, requested_by, nowMs),
        execute_at: new Date(executeAtMs).toISOString(),
        executeAtMs,
      };
      saveTombstone(tx, tenant, tombstone);
      if (executeAtMs > nowMs) waitForErasure(tx, tenant, tombstone);
      else markErasure(tx, { tenant, id });
      return true;
    });
    if (isRepeated) repeated++;
  }
  return repeated;
}

/** Longer than any stream key. */
const KEY_CHARACTERS_MAX = 512;

/**
 * The streams that `<type>:<id>` may name: the one with the canonical id, and the one with
 * exactly this key. The latter is needed because types and singletons may be gone from the spec
 * while their streams still exist.
 */
function namedStreams({ singletons }: CompiledSpec, key: string): Outcome<StreamKey[]> {
  const { type, id } = splitStreamKey(key as StreamKey);
  if (type === "" || id === "" || !key.includes(":") || key.length > KEY_CHARACTERS_MAX) {
    const message = "key must be that of a stream: <type>:<id>";
    return refuse({ kind: "operator_input_invalid", path: "key", message });
  }
  const literal = key.toWellFormed() as StreamKey;
  const identifier = parseIdentifier(id, singletons);
  return accept(
    identifier === undefined ? [literal] : [streamKey(type, identifier.value), literal],
  );
}

/** The first of the streams that has events. */
async function findStream(
  tx: Transaction,
  tenant: number,
  named: readonly StreamKey[],
): Promise<StreamKey | undefined> {
  const heads = await Promise.all(named.map((key) => readHead(tx.unguarded, tenant, key)));
  return named.find((_, index) => heads[index]!.length > 0);
}

/** Once this resolves, nothing is erased. Refuses with 409 once the erasure has begun. */
export async function cancelErasure(
  { engine, host }: Pick<ErasureTools, "engine" | "host">,
  tenant: Tenant,
  id: string,
): Promise<Outcome<Tombstone>> {
  const cancelled_at = new Date(host.nowMs()).toISOString();
  return await engine.transact(async (tx): Promise<Outcome<Tombstone>> => {
    const tombstone = await readRecord(tx, tenant.number, id);
    if (tombstone === undefined) return refuseTombstone();
    if (tombstone.state === "cancelled") return accept(tombstone);
    if (tombstone.state !== "pending") {
      return refuse({ kind: "erasure_begun", state: tombstone.state });
    }
    const cancelled: Tombstone = { ...tombstone, state: "cancelled", cancelled_at };
    saveTombstone(tx, tenant.number, cancelled);
    stopWaiting(tx, tenant.number, tombstone);
    return accept(cancelled);
  });
}

/** Longer than any id. */
const ID_CHARACTERS_MAX = 64;

function refuseTombstone() {
  const message = "There is no such erasure request";
  return refuse({ kind: "not_found", message });
}

export async function showTombstone(
  engine: Engine,
  tenant: Tenant,
  id: string,
): Promise<Outcome<TombstoneView>> {
  if (id.length > ID_CHARACTERS_MAX) return refuseTombstone();
  const found = await engine.snapshot((tx) => readRecord(tx, tenant.number, id));
  return found === undefined ? refuseTombstone() : accept(viewTombstone(found));
}

/** Newest first. */
export async function showTombstones(
  engine: Engine,
  tenant: Tenant,
  request: { readonly limit?: number; readonly start?: string },
): Promise<Outcome<TombstonePage>> {
  const { start, limit } = request;
  const checked = checkStart(start, ID_CHARACTERS_MAX);
  if (!checked.ok) return checked;
  const found = await engine.snapshot((tx) =>
    listRecords(tx, tenant.number, { start, limit: pageLimit(limit) + 1 })
  );
  return accept(cutPage(found.map(viewTombstone), limit, ({ id }) => id));
}
