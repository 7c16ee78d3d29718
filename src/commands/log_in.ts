/**
 * Accounts of operators: made on the command line, used to get a token. Neither an answer nor its
 * time tells whether an account exists. Decisions: section 19.
 */

import { explainPassword, nextLoginAttempt, normalizeEmail } from "../domain/account.ts";
import { accept, type Outcome, refuse } from "../domain/refusal.ts";
import type { Host } from "../host.ts";
import type { Engine } from "../kv/engine.ts";
import {
  clearLoginAttempts,
  readLoginAttempts,
  readUser,
  storeLoginAttempts,
  storeUser,
  type UserRecord,
} from "../store/users.ts";
import { type PasswordHasher, SALT_BYTES } from "./hash_password.ts";
import { type MintedToken, mintOperatorToken } from "./operator_token.ts";

/** What accounts need beside the store. */
export interface Accounts {
  readonly engine: Engine;
  readonly host: Host;
  readonly hasher: PasswordHasher;
  readonly jwtSecret: Uint8Array;
}

/** Refused: a bad email or password, and an email that has an account already. */
export async function addUser(
  { engine, host, hasher }: Accounts,
  email: string,
  password: string,
): Promise<Outcome<{ email: string }>> {
  const normalized = normalizeEmail(email);
  if (normalized === undefined) {
    const message = "email must be an address such as ops@example.com";
    return refuse({ kind: "operator_input_invalid", path: "email", message });
  }
  const fault = explainPassword(password);
  if (fault !== undefined) {
    return refuse({ kind: "operator_input_invalid", path: "password", message: fault });
  }
  const created_at = new Date(host.nowMs()).toISOString();
  const hashed = await hasher.hash(password, host.randomBytes(SALT_BYTES));
  const user: UserRecord = { email: normalized, password: hashed, created_at };
  return await engine.transact(async (tx): Promise<Outcome<{ email: string }>> => {
    if (await readUser(tx, normalized) !== undefined) {
      const message = `A user with email '${normalized}' exists already`;
      return refuse({ kind: "already_exists", path: "email", message });
    }
    storeUser(tx, user);
    return accept({ email: normalized });
  });
}

/** A token of 24 hours for the right password; ten wrong ones in a minute lock the account. */
export async function login(
  accounts: Accounts,
  email: string,
  password: string,
): Promise<Outcome<MintedToken>> {
  const { engine, host, hasher, jwtSecret } = accounts;
  const normalized = normalizeEmail(email);
  // No account can have such an email, so turning it away early tells nothing.
  if (normalized === undefined) return wrongLogin();
  if (!hasher.hasRoom()) return refuse({ kind: "login_locked", retryAfterSeconds: 1 });
  const attempt = await beginLogin(engine, normalized, host.nowMs());
  if (!attempt.ok) return attempt;
  if (!await hasher.verify(password, attempt.value?.password)) return wrongLogin();
  await engine.transact((tx) => Promise.resolve(clearLoginAttempts(tx, normalized)));
  const request = { secret: jwtSecret, subject: normalized, nowMs: host.nowMs() };
  return accept(await mintOperatorToken(request));
}

/** Counts the try before it is judged; gives the account, if there is one. */
function beginLogin(
  engine: Engine,
  email: string,
  nowMs: number,
): Promise<Outcome<UserRecord | undefined>> {
  return engine.transact(async (tx): Promise<Outcome<UserRecord | undefined>> => {
    const attempt = nextLoginAttempt(await readLoginAttempts(tx, email), nowMs);
    if (attempt.kind === "locked") {
      return refuse({ kind: "login_locked", retryAfterSeconds: attempt.retryAfterSeconds });
    }
    await storeLoginAttempts(tx, email, attempt.attemptsMs, nowMs);
    return accept(await readUser(tx, email));
  });
}

function wrongLogin(): Outcome<never> {
  return refuse({ kind: "unauthorized", message: "Wrong email or password" });
}
