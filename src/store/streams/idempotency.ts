/**
 * The ledger of idempotency keys, which remembers keyed writes for 24 hours. An entry commits
 * with the events it answers for, so a key is recorded exactly when its write landed. See
 * docs/reference/writing.md.
 */

import { limits } from "../../domain/limits.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { IdempotencyClaim, Written } from "../../domain/write/write.ts";
import type { Bytes, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { bytesOfHex } from "../../kv/slab.ts";
import { pack, unpack } from "../../kv/tuple.ts";
import { keyAfter, keys } from "../keys.ts";

/** The ledger's record of a write, enough to answer a replay word for word. */
export interface LedgerEntry {
  /** Unix seconds of the last use; the entry expires a day later. */
  readonly used: number;
  readonly bodyHash: string;
  readonly written: Omit<Written, "replayed">;
}

export type LedgerAnswer =
  | { readonly kind: "unseen" }
  | { readonly kind: "mismatch" }
  | { readonly kind: "recorded"; readonly written: Written };

/** The entry under the key of `claim`, expired or not. */
export function readLedger(
  tx: Pick<ReadTransaction, "get">,
  tenant: number,
  { key }: IdempotencyClaim,
): Promise<LedgerEntry | undefined> {
  return tx.get(keys.ledger(tenant, key)).then((value) => value && decodeEntry(value));
}

/**
 * The recorded answer for a key, or a mismatch if the body differs. Undefined for an unknown
 * key.
 */
export async function answerFromLedger(
  tx: Transaction,
  tenant: number,
  idempotency: IdempotencyClaim,
  now: number,
): Promise<Outcome<Written> | undefined> {
  const entry = await readLedger(tx, tenant, idempotency);
  return answerRepeated(tx, tenant, { idempotency, entry }, now);
}

/** The same for an entry that the transaction has read. */
export function answerRepeated(
  tx: Transaction,
  tenant: number,
  { idempotency, entry }: {
    readonly idempotency: IdempotencyClaim;
    readonly entry: LedgerEntry | undefined;
  },
  now: number,
): Outcome<Written> | undefined {
  if (entry === undefined) return undefined;
  const answer = answerFromEntry(entry, idempotency, now);
  if (answer.kind === "unseen") return undefined;
  if (answer.kind === "mismatch") return refuse({ kind: "idempotency_mismatch" });
  touchLedger(tx, tenant, { key: idempotency.key, entry }, now);
  return accept(answer.written);
}

/** The answer that `entry` gives to `claim` at `now` (Unix seconds). An expired entry is unseen. */
export function answerFromEntry(
  entry: LedgerEntry | undefined,
  claim: IdempotencyClaim,
  now: number,
): LedgerAnswer {
  if (entry === undefined || isExpired(entry, now)) return { kind: "unseen" };
  if (entry.bodyHash !== claim.bodyHash) return { kind: "mismatch" };
  return { kind: "recorded", written: { ...entry.written, replayed: true } };
}

/** Records a landed write under its key; the same transaction appends its events. */
export function recordInLedger(
  tx: Transaction,
  tenant: number,
  { key, bodyHash }: IdempotencyClaim,
  { used, written }: Pick<LedgerEntry, "used" | "written">,
): void {
  setEntry(tx, tenant, key, { used, bodyHash, written });
}

/** A replay restarts the entry's day. */
export function touchLedger(
  tx: Transaction,
  tenant: number,
  { key, entry }: { readonly key: string; readonly entry: LedgerEntry },
  now: number,
): void {
  if (entry.used < now) setEntry(tx, tenant, key, { ...entry, used: now });
}

/** Where a sweep goes on: after which key of which tenant. */
export interface LedgerCursor {
  readonly tenant: number;
  /** Undefined: at the tenant's first key. */
  readonly after?: string;
}

/** The result of one step of a sweep. */
export interface LedgerSweep {
  readonly removed: number;
  /** Where to go on; undefined when the tenant is done. */
  readonly next: LedgerCursor | undefined;
}

/**
 * Removes the expired ones of the next `limit` entries of a tenant. Walking the ledger is
 * cheaper than a due mark for each write.
 */
export async function sweepLedger(
  tx: Transaction,
  { tenant, after }: LedgerCursor,
  now: number,
  limit: number,
): Promise<LedgerSweep> {
  const all = keys.ledgers(tenant);
  const begin = after === undefined ? all.begin : keyAfter(keys.ledger(tenant, after));
  const pairs = await tx.unguarded.getRange({ begin, end: all.end }, { limit });
  let removed = 0;
  for (const { key, value } of pairs) {
    if (!isExpired(decodeEntry(value), now)) continue;
    // Guarded now, because a replay at this moment keeps the entry.
    const current = await tx.get(key);
    if (current === undefined || !isExpired(decodeEntry(current), now)) continue;
    tx.clear(key);
    removed++;
  }
  const last = pairs.at(-1);
  if (last === undefined || pairs.length < limit) return { removed, next: undefined };
  return { removed, next: { tenant, after: unpack(last.key).at(-1) as string } };
}

/** An entry and the key it is stored under. */
export interface NamedLedgerEntry extends LedgerEntry {
  readonly key: string;
}

/** At most `limit` entries after the key `after`, expired ones included. */
export async function listLedger(
  tx: Pick<ReadTransaction, "getRange">,
  { tenant, after }: LedgerCursor,
  limit: number,
): Promise<NamedLedgerEntry[]> {
  const all = keys.ledgers(tenant);
  const begin = after === undefined ? all.begin : keyAfter(keys.ledger(tenant, after));
  const pairs = await tx.getRange({ begin, end: all.end }, { limit });
  return pairs.map(({ key, value }) => ({
    key: unpack(key).at(-1) as string,
    ...decodeEntry(value),
  }));
}

/** Stores an entry as it was. */
export function storeLedgerEntry(tx: Transaction, tenant: number, entry: NamedLedgerEntry): void {
  setEntry(tx, tenant, entry.key, entry);
}

/** Whether the entry's day is over at `now` (Unix seconds). */
export function isExpired(entry: LedgerEntry, now: number): boolean {
  return entry.used + limits.idempotencyRetentionSeconds <= now;
}

function setEntry(
  tx: Transaction,
  tenant: number,
  idempotencyKey: string,
  entry: LedgerEntry,
): void {
  tx.set(keys.ledger(tenant, idempotencyKey), encodeEntry(entry));
}

/** A tuple, because it is a third of the size of JSON and every keyed event writes one. */
function encodeEntry({ used, bodyHash, written }: LedgerEntry): Bytes {
  const { form, requestId, impliedCount, targets } = written;
  const parts = [used, bytesOfHex(bodyHash), form, requestId, impliedCount];
  for (const { key, first, count } of targets) parts.push(key, first, count);
  return pack(parts);
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
