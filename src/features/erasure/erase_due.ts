/**
 * Erases the streams whose grace period is over. The tombstone determines the next step, and
 * each step is one transaction that reads the tombstone and records its progress in it. So each
 * step happens exactly once, whichever process continues and however often. See
 * docs/reference/erasure.md.
 */

import { assert } from "../../domain/assert.ts";
import { type ErasureReceipt, signReceipt } from "../../domain/erasure/receipt.ts";
import { isOver, type RewriteResult, type Tombstone } from "../../domain/erasure/tombstone.ts";
import type { Lease } from "../../domain/fairness/lease.ts";
import { isOutage } from "../../domain/outage.ts";
import type { Host } from "../../host.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import { openTenantNumbers, type TenantNumbers } from "../base/tenant_numbers.ts";
import type { ErasedStream } from "../../store/erased_copies.ts";
import { readCurrentSigningKey } from "../../store/audit/signing_keys.ts";
import {
  clearErasure,
  type ErasurePlace,
  listErasures,
  markErasure,
  readTombstone,
  saveTombstone,
  waitForErasure,
} from "../../store/tombstones.ts";
import { clearTimer, type Timer } from "../../store/timers.ts";
import type { WorkShare } from "../base/share_work.ts";
import { finishImports } from "../base/activate_work.ts";
import { FIRST_COPY, removeCopies } from "./copies.ts";
import { rewriteStep } from "./rewrite_stream.ts";

export interface ErasureRunner {
  /**
   * Does some steps of each due erasure, for at most `limit` erasures, and returns the number
   * of steps. Stops early, between two steps, once `isStopping` returns true.
   */
  drain(limit: number, isStopping: () => boolean): Promise<number>;
}

/** Steps of one erasure before the next erasure has its turn. */
const TURN_STEPS = 50;

/** What is left after a step. */
type Rest = "more" | "receipt" | "over" | "lost";

export function createErasureRunner(engine: Engine, host: Host, share: WorkShare): ErasureRunner {
  const tenants = openTenantNumbers(engine);
  let last: ErasurePlace | undefined;

  async function drain(limit: number, isStopping: () => boolean): Promise<number> {
    const [lease] = await share.held("erasure");
    if (lease === undefined) return 0;
    const found = await nextErasures(limit);
    let steps = 0;
    for (const place of found) {
      const mayGoOn = () => !isStopping() && share.isRunning(lease);
      steps += await eraseSome(place, lease, mayGoOn).catch((error) => leaveAsItIs(place, error));
    }
    return steps;
  }

  /** Continues after the last page and wraps around, so that each erasure gets its turn. */
  async function nextErasures(limit: number): Promise<readonly ErasurePlace[]> {
    const after = last;
    const page = await engine.snapshot(async (tx) => {
      const rest = await listErasures(tx, after, limit);
      return rest.length > 0 ? rest : await listErasures(tx, undefined, limit);
    });
    last = page.length < limit ? undefined : page.at(-1);
    return page;
  }

  /** A stream that cannot be erased must not block the others. An outage is thrown instead. */
  function leaveAsItIs({ tenant, id }: ErasurePlace, error: unknown): number {
    if (!(error instanceof Error) || isOutage(error)) throw error;
    host.log("error", "A stream could not be erased", { tenant, id, reason: error.message });
    return 0;
  }

  async function eraseSome(
    place: ErasurePlace,
    lease: Lease,
    mayGoOn: () => boolean,
  ): Promise<number> {
    // After this, imported work is in the queues, where the removers look for copies.
    await finishImports(engine);
    for (let steps = 0; steps < TURN_STEPS; steps++) {
      if (!mayGoOn()) return steps;
      const rest = await engine.transact((tx) => step(tx, place, lease));
      if (rest === "receipt") await complete(place, lease);
      if (rest !== "more") return steps + 1;
      await host.yieldTurn();
    }
    return TURN_STEPS;
  }

  async function step(tx: Transaction, place: ErasurePlace, lease: Lease): Promise<Rest> {
    if (!await share.holds(tx, lease)) return "lost";
    const { tenant, id } = place;
    const tombstone = await readTombstone(tx, tenant, id);
    if (tombstone === undefined || isOver(tombstone)) {
      clearErasure(tx, place);
      return "over";
    }
    const nowMs = host.nowMs();
    const isEarly = tombstone.state === "pending" && nowMs < tombstone.executeAtMs;
    if (isEarly) {
      // The timer was fired too early, by a process whose clock was ahead. The erasure waits
      // again.
      clearErasure(tx, place);
      waitForErasure(tx, tenant, tombstone);
      return "over";
    }
    const next = await advance(tx, tenant, tombstone, nowMs);
    if (next === undefined) return "receipt";
    saveTombstone(tx, tenant, next);
    return "more";
  }

  /**
   * Finishes an erasure once everything is gone, from this machine's files as well: signs the
   * receipt and stores it in the tombstone.
   */
  async function complete(place: ErasurePlace, lease: Lease): Promise<void> {
    const { tenant, id } = place;
    await engine.forget?.();
    const tombstone = await engine.snapshot((tx) => readTombstone(tx, tenant, id));
    if (tombstone === undefined || isOver(tombstone)) return;
    const completed_at = new Date(host.nowMs()).toISOString();
    const receipt = await makeReceipt(engine, tenants, tenant, { ...tombstone, completed_at });
    await engine.transact(async (tx) => {
      if (!await share.holds(tx, lease)) return;
      const now = await readTombstone(tx, tenant, id);
      if (now === undefined || isOver(now)) return;
      saveTombstone(tx, tenant, { ...now, state: "completed", completed_at, receipt });
      clearErasure(tx, place);
    });
  }

  return { drain };
}

/** The tombstone after one step; undefined if only the receipt is left. */
async function advance(
  tx: Transaction,
  tenant: number,
  tombstone: Tombstone,
  nowMs: number,
): Promise<Tombstone | undefined> {
  // An imported tombstone has no removal progress, so all copies are searched.
  const { result, removal = FIRST_COPY } = tombstone;
  if (result === undefined) {
    const step = await rewriteStep(tx, tenant, tombstone);
    const { rewrite: _, ...before } = tombstone;
    if (step.kind === "more") return { ...before, state: "running", rewrite: step.rewrite };
    const executed_at = new Date(nowMs).toISOString();
    const swapped = { result: step.result, removal: FIRST_COPY, executed_at };
    return { ...before, state: "running", ...swapped };
  }
  if (removal.copy === undefined) return undefined;
  const erased = erasedStream(tenant, tombstone, result);
  return { ...tombstone, removal: await removeCopies(tx, erased, removal) };
}

function erasedStream(tenant: number, tombstone: Tombstone, result: RewriteResult): ErasedStream {
  return {
    tenant,
    stream: tombstone.key,
    length: result.event_count,
    generation: result.generation,
    tombstoneId: tombstone.id,
    erasedMs: Date.parse(tombstone.executed_at!),
  };
}

async function makeReceipt(
  engine: Engine,
  tenants: TenantNumbers,
  number: number,
  tombstone: Tombstone,
): Promise<ErasureReceipt> {
  const tenant = await tenants.find(number);
  assert(tenant !== undefined, "a stream is of an environment");
  const key = await engine.snapshot((tx) => readCurrentSigningKey(tx, tenant.instanceId));
  assert(key !== undefined, "every instance has a signing key");
  const { id, legal_basis = null, result, executed_at, completed_at } = tombstone;
  const { key: stream, reason, requested_at, requested_by } = tombstone;
  const { instanceId: instance_id, environment } = tenant;
  const times = {
    requested_at,
    requested_by,
    executed_at: executed_at!,
    completed_at: completed_at!,
  };
  const said = { tombstone_id: id, key: stream, reason, legal_basis };
  return await signReceipt({ instance_id, environment, ...said, ...times, ...result! }, key);
}

/** Hands erasures whose grace period is over to the runner. Returns how many there were. */
export async function fireErasureTimers(engine: Engine, timers: readonly Timer[]): Promise<number> {
  if (timers.length === 0) return 0;
  await engine.transact((tx) => {
    for (const timer of timers) {
      clearTimer(tx, timer);
      markErasure(tx, timer);
    }
    return Promise.resolve();
  });
  return timers.length;
}
