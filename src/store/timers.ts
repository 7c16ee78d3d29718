/** Timers, ordered by the time they are due, so that those far off cost nothing. */

import { shardOf } from "../domain/fairness/work_share.ts";
import type { Bytes, ReadTransaction, Transaction } from "../kv/engine.ts";
import { unpack } from "../kv/tuple.ts";
import { keyAfter, keys } from "./keys.ts";

/** What is due: a scheduled event, a saga, a lane, an erasure. */
export type TimerKind = "scheduled" | "saga" | "delivery" | "erasure";

export interface Timer {
  /** Milliseconds since 1970. */
  readonly dueMs: number;
  readonly tenant: number;
  readonly kind: TimerKind;
  /** Id of what is due, within the tenant. */
  readonly id: string;
}

const PRESENT = new Uint8Array(0);

export function setTimer(tx: Transaction, timer: Timer): void {
  tx.set(timerKey(timer), PRESENT);
}

export function clearTimer(tx: Transaction, timer: Timer): void {
  tx.clear(timerKey(timer));
}

export interface DueTimersPage {
  readonly nowMs: number;
  readonly limit: number;
  readonly after?: Timer;
}

/**
 * At most `limit` timers of one shard that are due at `nowMs`, earliest first; only those behind
 * `after`, if given.
 */
export async function listDueTimers(
  tx: Pick<ReadTransaction, "getRange">,
  shard: number,
  { nowMs, limit, after }: DueTimersPage,
): Promise<Timer[]> {
  const begin = after === undefined ? keys.timers(shard).begin : keyAfter(timerKey(after));
  const range = { begin, end: keys.timer(shard, nowMs + 1, 0, "", "") };
  const pairs = await tx.getRange(range, { limit, keysOnly: true });
  return pairs.map(({ key }) => decodeTimer(key));
}

/** The first timer of a shard, due or not; the first one behind `after`, if that is given. */
export async function readFirstTimer(
  tx: Pick<ReadTransaction, "getRange">,
  shard: number,
  after?: Timer,
): Promise<Timer | undefined> {
  const { begin, end } = keys.timers(shard);
  const range = { begin: after === undefined ? begin : keyAfter(timerKey(after)), end };
  const [pair] = await tx.getRange(range, { limit: 1 });
  return pair && decodeTimer(pair.key);
}

export function timerShard({ tenant, id }: Pick<Timer, "tenant" | "id">): number {
  return shardOf("timer", `${tenant}/${id}`);
}

function timerKey(timer: Timer): Bytes {
  const { dueMs, tenant, kind, id } = timer;
  return keys.timer(timerShard(timer), dueMs, tenant, kind, id);
}

function decodeTimer(key: Bytes): Timer {
  const [dueMs, tenant, kind, id] = unpack(key).slice(-4) as [number, number, TimerKind, string];
  return { dueMs, tenant, kind, id };
}
