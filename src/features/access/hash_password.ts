/**
 * Hashes passwords with scrypt (RFC 7914), off the main thread. Each run takes 32 MiB, and
 * anybody can cause one by logging in. So few run at once, and few may wait.
 */

import { scrypt, timingSafeEqual } from "node:crypto";
import { mayBePassword, normalizePassword } from "../../domain/access/account.ts";
import type { PasswordHash } from "../../store/access/users.ts";

/** One of the settings in the OWASP password storage guide: 32 MiB, about a quarter of a second. */
const COST = { cost: 2 ** 15, blockSize: 8, parallelization: 3 } as const;
const HASH_BYTES = 32;
const RUNNING_MAX = 2;
const WAITING_MAX = 64;

type ScryptCost = Pick<PasswordHash, "cost" | "blockSize" | "parallelization">;

export const SALT_BYTES = 16;

export interface PasswordHasher {
  /** False while so many wait that another login must be refused. */
  hasRoom(): boolean;
  hash(password: string, salt: Uint8Array): Promise<PasswordHash>;
  /**
   * Takes the same time whether or not the account exists. Without an account (`expected` is
   * undefined) it returns false.
   */
  verify(password: string, expected: PasswordHash | undefined): Promise<boolean>;
}

export function passwordHasher(): PasswordHasher {
  const waiting: (() => void)[] = [];
  let running = 0;

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (running >= RUNNING_MAX) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  }

  return {
    hasRoom: () => waiting.length < WAITING_MAX,
    async hash(password, salt) {
      const derived = await inTurn(() => deriveKey(password, salt, HASH_BYTES, COST));
      return { salt: salt.toHex(), hash: derived.toHex(), ...COST };
    },
    async verify(password, expected) {
      // No account has such a password, so the quick answer reveals nothing about any account.
      if (!mayBePassword(password)) return false;
      const against = expected ?? DECOY;
      const salt = Uint8Array.fromHex(against.salt);
      const hash = Uint8Array.fromHex(against.hash);
      const derived = await inTurn(() => deriveKey(password, salt, hash.length, against));
      return timingSafeEqual(derived, hash) && expected !== undefined;
    },
  };
}

/** Stands in for the stored hash if there is no account. */
const DECOY: PasswordHash = {
  salt: "00".repeat(SALT_BYTES),
  hash: "00".repeat(HASH_BYTES),
  ...COST,
};

/** scrypt(P, S, N, r, p, dkLen) of RFC 7914, section 6, over the password's normalized form. */
export function deriveKey(
  password: string,
  salt: Uint8Array,
  length: number,
  { cost, blockSize, parallelization }: ScryptCost,
): Promise<Uint8Array> {
  // Node's default limit of 32 MiB is just too low for 128 * N * r bytes plus overhead.
  const maxmem = 128 * blockSize * (cost + parallelization) + 2 ** 20;
  const options = { cost, blockSize, parallelization, maxmem };
  return new Promise((resolve, reject) => {
    scrypt(normalizePassword(password), salt, length, options, (error, key) => {
      if (error !== null) reject(error);
      else resolve(new Uint8Array(key));
    });
  });
}
