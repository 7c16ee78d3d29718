/** Accounts of operators, and their logins that failed within the last minute. */

import { hash } from "node:crypto";
import { attemptsAreOver } from "../domain/account.ts";
import type { Bytes, ReadTransaction, Transaction } from "../kv/engine.ts";
import { decodeRecord, encodeRecord } from "./json_record.ts";
import { keys } from "./keys.ts";

/** A password as scrypt left it (RFC 7914), with all that is needed to do it again. */
export interface PasswordHash {
  /** Lowercase hex, as `hash`. */
  readonly salt: string;
  readonly hash: string;
  readonly cost: number;
  readonly blockSize: number;
  readonly parallelization: number;
}

export interface UserRecord {
  /** As `normalizeEmail` gives it. */
  readonly email: string;
  readonly password: PasswordHash;
  readonly created_at: string;
}

/** So many old records are looked at with each new one: more than are ever added. */
const SWEPT_PER_ATTEMPT = 4;

export async function readUser(
  tx: Pick<ReadTransaction, "get">,
  email: string,
): Promise<UserRecord | undefined> {
  const value = await tx.get(keys.user(email));
  return value && decodeRecord<UserRecord>(value);
}

export function storeUser(tx: Transaction, user: UserRecord): void {
  tx.set(keys.user(user.email), encodeRecord(user));
}

/** Times in ms, oldest first. Kept for unknown emails too: a lock must not tell who exists. */
export async function readLoginAttempts(tx: Transaction, email: string): Promise<number[]> {
  const value = await tx.get(keys.failedLogins(hashEmail(email)));
  return value === undefined ? [] : decodeRecord<number[]>(value);
}

/**
 * Keeps the attempts, and removes some that count no more: guesses at ever new emails must not
 * fill the store. Hashes spread the records, so the sweep begins at a random place.
 */
export async function storeLoginAttempts(
  tx: Transaction,
  email: string,
  attemptsMs: readonly number[],
  nowMs: number,
): Promise<void> {
  const key = keys.failedLogins(hashEmail(email));
  const next = { begin: key, end: keys.allFailedLogins().end };
  const neighbours = await tx.unguarded.getRange(next, { limit: SWEPT_PER_ATTEMPT });
  for (const neighbour of neighbours) {
    if (!isOver(neighbour.value, nowMs)) continue;
    // Guarded now: a try at this moment, perhaps on another node, must count.
    const current = await tx.get(neighbour.key);
    if (current !== undefined && isOver(current, nowMs)) tx.clear(neighbour.key);
  }
  tx.set(key, encodeRecord(attemptsMs));
}

export function clearLoginAttempts(tx: Transaction, email: string): void {
  tx.clear(keys.failedLogins(hashEmail(email)));
}

function isOver(value: Bytes, nowMs: number): boolean {
  return attemptsAreOver(decodeRecord<number[]>(value), nowMs);
}

function hashEmail(email: string): string {
  return hash("sha256", email, "hex");
}
