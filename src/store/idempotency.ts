/**
 * The 24-hour ledger of keyed writes. Spec: "Idempotency key lifecycle". An entry commits with the
 * events it answers for, so a key is recorded exactly when its write landed.
 */

import { limits } from "../domain/limits.ts";
import type { IdempotencyClaim, Written } from "../domain/write.ts";
import type { Bytes, ReadTransaction, Transaction } from "../kv/engine.ts";
import { pack, unpack } from "../kv/tuple.ts";
import { keys } from "./keys.ts";

/** What the ledger keeps of a write: enough to answer a replay word for word. */
interface LedgerEntry {
  /** Unix seconds of the last use; the entry ends a day later. */
  readonly used: number;
  readonly bodyHash: string;
  readonly written: Omit<Written, "replayed">;
}

export type LedgerAnswer =
  | { readonly kind: "unseen" }
  | { readonly kind: "mismatch" }
  | { readonly kind: "recorded"; readonly written: Written };

const SECONDS_PER_HOUR = 3600;
const NO_SUFFIX = new Uint8Array(0);

/** What the ledger knows of `claim` at `now` (Unix seconds). An expired entry is unseen. */
export async function lookUpLedger(
  tx: Pick<ReadTransaction, "get" | "getRange">,
  tenant: number,
  claim: IdempotencyClaim,
  now: number,
): Promise<LedgerAnswer> {
  const entry = await readEntry(tx, tenant, claim.key);
  if (entry === undefined || isExpired(entry, now)) return { kind: "unseen" };
  if (entry.bodyHash !== claim.bodyHash) return { kind: "mismatch" };
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
  setEntry(tx, tenant, claim.key, { used: now, bodyHash: claim.bodyHash, written: kept });
  setDue(tx, tenant, claim.key, now);
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
  const end = keys.ledgerDue(Math.floor(now / SECONDS_PER_HOUR));
  const due = await tx.getRange({ begin, end }, { limit });
  for (const { key, value } of due) {
    const [tenant, idempotencyKey] = unpack(value) as [number, string];
    tx.clear(key);
    const entry = await readEntry(tx, tenant, idempotencyKey);
    if (entry === undefined) continue;
    if (isExpired(entry, now)) tx.clear(keys.ledger(tenant, idempotencyKey));
    else setDue(tx, tenant, idempotencyKey, entry.used);
  }
  return due.length;
}

/** In commit order within the hour, so that marks of many writes lie side by side. */
function setDue(tx: Transaction, tenant: number, idempotencyKey: string, used: number): void {
  tx.setStamped(keys.ledgerDue(dueHour(used)), NO_SUFFIX, pack([tenant, idempotencyKey]));
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
  const value = await tx.get(keys.ledger(tenant, idempotencyKey));
  return value && decodeEntry(value);
}

function setEntry(
  tx: Transaction,
  tenant: number,
  idempotencyKey: string,
  entry: LedgerEntry,
): void {
  tx.set(keys.ledger(tenant, idempotencyKey), encodeEntry(entry));
}

/** A tuple: a third of the size of JSON, and written for every keyed event. */
function encodeEntry({ used, bodyHash, written }: LedgerEntry): Bytes {
  const { form, requestId, impliedCount, targets } = written;
  const places = targets.flatMap(({ key, first, count }) => [key, first, count]);
  return pack([used, Uint8Array.fromHex(bodyHash), form, requestId, impliedCount, ...places]);
}

function decodeEntry(value: Bytes): LedgerEntry {
  const [used, bodyHash, form, requestId, impliedCount, ...places] = unpack(value) as [
    number,
    Bytes,
    Written["form"],
    string,
    number,
    ...(string | number)[],
  ];
  const targets: { key: string; first: number; count: number }[] = [];
  for (let at = 0; at < places.length; at += 3) {
    const [key, first, count] = places.slice(at, at + 3) as [string, number, number];
    targets.push({ key, first, count });
  }
  return { used, bodyHash: bodyHash.toHex(), written: { form, targets, impliedCount, requestId } };
}
