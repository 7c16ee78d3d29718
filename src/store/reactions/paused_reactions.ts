/**
 * Environments whose reactions an operator has paused. Their outbox waits where it is. Timers
 * that come due are put aside, so that they do not stand in front of those of others; afterwards
 * they go back page by page.
 */

import type { Bytes, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { unpack } from "../../kv/tuple.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { keys } from "../keys.ts";
import { clearTimer, setTimer, type Timer, type TimerKind } from "../timers.ts";

export interface ReactionPause {
  /** `resuming`: everything goes on, and timers that were put aside are on their way back. */
  readonly state: "paused" | "resuming";
  /** ISO 8601 UTC. */
  readonly since: string;
  /** The operator. */
  readonly by: string;
}

type Reads = Pick<ReadTransaction, "get" | "getRange">;

const PRESENT = new Uint8Array(0);

/** Guarded. */
export async function readPause(tx: Reads, tenant: number): Promise<ReactionPause | undefined> {
  const value = await tx.get(keys.pause(tenant));
  return value && decodeRecord<ReactionPause>(value);
}

/** Stores what holds from now on, and tells all nodes. Undefined: nothing is paused. */
export function savePause(
  tx: Transaction,
  tenant: number,
  pause: ReactionPause | undefined,
): void {
  if (pause === undefined) tx.clear(keys.pause(tenant));
  else tx.set(keys.pause(tenant), encodeRecord(pause));
  tx.add(keys.pauseSignal(), 1n);
}

/** All pauses by tenant. Operators pause few environments at a time, a restore all. */
export async function listPauses(tx: Reads): Promise<Map<number, ReactionPause>> {
  const pairs = await tx.getRange(keys.pauses());
  return new Map(
    pairs.map(({ key, value }) => [
      unpack(key).at(-1) as number,
      decodeRecord<ReactionPause>(value),
    ]),
  );
}

/** Puts timers of one environment aside, if it is still paused. */
export async function putAside(
  tx: Transaction,
  tenant: number,
  timers: readonly Timer[],
): Promise<void> {
  if ((await readPause(tx, tenant))?.state !== "paused") return;
  for (const timer of timers) {
    clearTimer(tx, timer);
    tx.set(asideKey(timer), PRESENT);
  }
}

/** Removes a timer from those put aside, if it is there. */
export function clearAside(tx: Transaction, timer: Timer): void {
  tx.clear(asideKey(timer));
}

/** Puts the first `limit` timers back into the queue, and ends the pause with the last of them. */
export async function putBack(tx: Transaction, tenant: number, limit: number): Promise<number> {
  if ((await readPause(tx, tenant))?.state !== "resuming") return 0;
  const pairs = await tx.getRange(keys.asideTimers(tenant), { limit });
  for (const { key } of pairs) {
    const [dueMs, kind, id] = unpack(key).slice(-3) as [number, TimerKind, string];
    tx.clear(key);
    setTimer(tx, { dueMs, tenant, kind, id });
  }
  if (pairs.length < limit) savePause(tx, tenant, undefined);
  return pairs.length;
}

function asideKey({ tenant, dueMs, kind, id }: Timer): Bytes {
  return keys.asideTimer(tenant, dueMs, kind, id);
}
