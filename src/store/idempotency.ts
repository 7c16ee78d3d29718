/**
 * The 24-hour ledger of keyed writes. Spec: "Idempotency key lifecycle". An entry commits with the
 * events it answers for, so a key is recorded exactly when its write landed.
 */

import { limits } from "../domain/limits.ts";
import type { IdempotencyClaim, Written } from "../domain/write.ts";
import type { Bytes, ReadTransaction, Transaction } from "../kv/engine.ts";
import { unpack } from "../kv/tuple.ts";
import { keys } from "./keys.ts";

/** What the ledger keeps of a write: enough to answer a replay word for word. */
interface LedgerEntry {
  /** Unix seconds of the last use; the entry ends a day later. */
  readonly used: number;
  readonly body: string;
  readonly written: Omit<Written, "replayed">;
}

export type LedgerAnswer =
  | { readonly kind: "unseen" }
  | { readonly kind: "mismatch" }
  | { readonly kind: "recorded"; readonly written: Written };

const SECONDS_PER_HOUR = 3600;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** What the ledger knows of `claim` at `now` (Unix seconds). An expired entry is unseen. */
export async function lookUpLedger(
  tx: Pick<ReadTransaction, "get" | "getRange">,
  tenant: number,
  claim: IdempotencyClaim,
  now: number,
): Promise<LedgerAnswer> {
  const entry = await readEntry(tx, tenant, claim.key);
  if (entry === undefined || isExpired(entry, now)) return { kind: "unseen" };
  if (entry.body !== claim.bodyHash) return { kind: "mismatch" };
  return { kind: "recorded", written: { ...entry.written, replayed: true } };
}

/** Records a landed write under its key; the same transaction appends its events. */
export function recordInLedger(
  tx: Transaction,
  tenant: number,
  claim: IdempotencyClaim,
  written: Written,
  now: number,
): void {
  const { replayed: _, ...kept } = written;
  setEntry(tx, tenant, claim.key, { used: now, body: claim.bodyHash, written: kept });
  tx.set(keys.ledgerDue(dueHour(now), tenant, claim.key), new Uint8Array(0));
}

/** A replay starts the entry's day anew. The due list finds out by itself. */
export async function touchLedger(
  tx: Transaction,
  tenant: number,
  claim: IdempotencyClaim,
  now: number,
): Promise<void> {
  const entry = await readEntry(tx, tenant, claim.key);
  if (entry === undefined || entry.used >= now) return;
  setEntry(tx, tenant, claim.key, { ...entry, used: now });
}

/**
 * Looks at up to `limit` entries that may have ended by `now`: removes those that have, and sets
 * the others due again. Gives how many it looked at.
 */
export async function sweepLedger(tx: Transaction, now: number, limit: number): Promise<number> {
  const { begin } = keys.ledgerDues();
  const end = keys.ledgerDue(Math.floor(now / SECONDS_PER_HOUR), 0, "");
  const due = await tx.getRange({ begin, end }, { limit });
  for (const { key } of due) {
    const [tenant, idempotencyKey] = unpack(key).slice(-2) as [number, string];
    tx.clear(key);
    const entry = await readEntry(tx, tenant, idempotencyKey);
    if (entry === undefined) continue;
    if (isExpired(entry, now)) clearEntry(tx, tenant, idempotencyKey);
    else tx.set(keys.ledgerDue(dueHour(entry.used), tenant, idempotencyKey), new Uint8Array(0));
  }
  return due.length;
}

function isExpired(entry: LedgerEntry, now: number): boolean {
  return entry.used + limits.idempotencyRetentionSeconds <= now;
}

/** The first full hour in which an entry used at `used` has ended. */
function dueHour(used: number): number {
  return Math.ceil((used + limits.idempotencyRetentionSeconds) / SECONDS_PER_HOUR);
}

async function readEntry(
  tx: Pick<ReadTransaction, "get" | "getRange">,
  tenant: number,
  idempotencyKey: string,
): Promise<LedgerEntry | undefined> {
  const value: Bytes | undefined = await tx.get(keys.ledger(tenant, idempotencyKey));
  return value && JSON.parse(decoder.decode(value)) as LedgerEntry;
}

function setEntry(tx: Transaction, tenant: number, idempotencyKey: string, entry: LedgerEntry) {
  tx.set(keys.ledger(tenant, idempotencyKey), encoder.encode(JSON.stringify(entry)));
}

function clearEntry(tx: Transaction, tenant: number, idempotencyKey: string): void {
  tx.clear(keys.ledger(tenant, idempotencyKey));
}
