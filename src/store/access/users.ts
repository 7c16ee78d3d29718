/** Accounts of operators, and their failed logins of the last minute. */

import { hash } from "node:crypto";
import { attemptsAreOver, type LoginPlace } from "../../domain/access/account.ts";
import type { Bytes, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { keys } from "../keys.ts";

/** A password hashed by scrypt (RFC 7914), with all that is needed to hash it again. */
export interface PasswordHash {
  /** Lowercase hex, like `hash`. */
  readonly salt: string;
  readonly hash: string;
  readonly cost: number;
  readonly blockSize: number;
  readonly parallelization: number;
}

export interface UserRecord {
  /** As `normalizeEmail` returns it. */
  readonly email: string;
  readonly password: PasswordHash;
  readonly created_at: string;
  /** Places from which its owner has logged in. */
  readonly places?: readonly LoginPlace[];
}

/** Old records that each new one checks for removal: more than are ever added. */
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

/**
 * Digests under which failed logins of an account are counted: one for those from one address,
 * one for those from all strange addresses.
 */
export interface AttemptKeys {
  readonly fromAddress: string;
  readonly fromStrangers: string;
}

/** `fromAddress` is also the account's name for the address. */
export function attemptKeys(email: string, network: string): AttemptKeys {
  return {
    fromAddress: hash("sha256", `${email}\n${network}`, "hex"),
    fromStrangers: hash("sha256", email, "hex"),
  };
}

/**
 * Times in ms, oldest first. Kept for unknown emails too: a lock must not reveal which ones
 * exist.
 */
export async function readLoginAttempts(tx: Transaction, digest: string): Promise<number[]> {
  const value = await tx.get(keys.failedLogins(digest));
  return value === undefined ? [] : decodeRecord<number[]>(value);
}

/**
 * Stores the attempts, and removes some records that no longer count, because guesses at ever
 * new emails must not fill the store. Hashes spread the records, so the sweep begins at a random
 * place.
 */
export async function storeLoginAttempts(
  tx: Transaction,
  digest: string,
  attemptsMs: readonly number[],
  nowMs: number,
): Promise<void> {
  const key = keys.failedLogins(digest);
  const next = { begin: key, end: keys.allFailedLogins().end };
  const neighbours = await tx.unguarded.getRange(next, { limit: SWEPT_PER_ATTEMPT });
  for (const neighbour of neighbours) {
    if (!isOver(neighbour.value, nowMs)) continue;
    // Guarded now, because an attempt at this moment, perhaps on another node, must count.
    const current = await tx.get(neighbour.key);
    if (current !== undefined && isOver(current, nowMs)) tx.clear(neighbour.key);
  }
  tx.set(key, encodeRecord(attemptsMs));
}

export function clearLoginAttempts(tx: Transaction, digests: AttemptKeys): void {
  tx.clear(keys.failedLogins(digests.fromAddress));
  tx.clear(keys.failedLogins(digests.fromStrangers));
}

function isOver(value: Bytes, nowMs: number): boolean {
  return attemptsAreOver(decodeRecord<number[]>(value), nowMs);
}
