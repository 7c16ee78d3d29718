/**
 * Records of the deployment as a whole: its first start, its shared secrets, and what its
 * processes have taken from rate limits.
 */

import type { Bytes, ReadTransaction, Transaction } from "../kv/engine.ts";
import { decodeRecord, encodeRecord } from "./json_record.ts";
import { keys } from "./keys.ts";
import type { RateKind } from "../domain/limits/plan.ts";
import type { SharedWindow } from "../domain/limits/rate_share.ts";

export interface FirstStartRecord {
  readonly instance_id: string;
  /** For people: a path and the name of a machine. */
  readonly place: string;
  /** ISO 8601 UTC. */
  readonly made_at: string;
  /** Present if its keys are those for development, which everybody knows. */
  readonly dev_keys?: true;
}

/** Records where the keys of the first start were written, for later starts on other machines. */
export function storeFirstStart(tx: Transaction, record: FirstStartRecord): void {
  tx.set(keys.firstStart(), encodeRecord(record));
}

export async function readFirstStart(
  tx: Pick<ReadTransaction, "get">,
): Promise<FirstStartRecord | undefined> {
  const value = await tx.get(keys.firstStart());
  return value && decodeRecord<FirstStartRecord>(value);
}

/** What the processes have taken from a rate limit of the instance. */
export async function readSharedWindow(
  tx: Pick<ReadTransaction, "get">,
  instanceId: string,
  kind: RateKind,
): Promise<SharedWindow | undefined> {
  const value = await tx.get(keys.rateShare(instanceId, kind));
  return value && decodeRecord<SharedWindow>(value);
}

export function storeSharedWindow(
  tx: Transaction,
  instanceId: string,
  kind: RateKind,
  window: SharedWindow,
): void {
  tx.set(keys.rateShare(instanceId, kind), encodeRecord(window));
}

/** A secret that all nodes share. */
export function readSecret(
  tx: Pick<ReadTransaction, "get">,
  name: string,
): Promise<Bytes | undefined> {
  return tx.get(keys.secret(name));
}

export function storeSecret(tx: Transaction, name: string, secret: Bytes): void {
  tx.set(keys.secret(name), secret);
}
