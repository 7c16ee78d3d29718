/**
 * Creates operator accounts (on the command line) and logs operators in to get a token. Neither
 * the answer nor its timing reveals whether an account exists. See docs/reference/operators.md.
 */

import {
  explainPassword,
  isKnownPlace,
  nextLoginAttempt,
  normalizeEmail,
  rememberPlace,
} from "../../domain/access/account.ts";
import { limits } from "../../domain/limits.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import {
  type AttemptKeys,
  attemptKeys,
  clearLoginAttempts,
  readLoginAttempts,
  readUser,
  storeLoginAttempts,
  storeUser,
  type UserRecord,
} from "../../store/access/users.ts";
import { type PasswordHasher, SALT_BYTES } from "./hash_password.ts";
import type { LoginGate } from "./login_gate.ts";
import { type MintedToken, mintOperatorToken } from "./operator_token.ts";

/** What accounts need besides the store. */
export interface Accounts {
  readonly engine: Engine;
  readonly host: Host;
  readonly hasher: PasswordHasher;
  readonly gate: LoginGate;
  readonly jwtSecret: Uint8Array;
}

/** Refuses a bad email, a bad password, and an email that already has an account. */
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

/** A login attempt. */
export interface LoginRequest {
  readonly email: string;
  readonly password: string;
  /** The address of the client, or the part of it that identifies one customer. */
  readonly network: string;
}

/**
 * Returns a 24-hour token for the right password. Ten wrong passwords in a minute from one
 * address lock the account for that address. A hundred from many addresses lock it for every
 * address from which its owner has not logged in before.
 */
export async function login(
  accounts: Accounts,
  { email, password, network }: LoginRequest,
): Promise<Outcome<MintedToken>> {
  const { engine, host, hasher, gate } = accounts;
  const normalized = normalizeEmail(email);
  // No account can have such an email, so the early refusal reveals nothing.
  if (normalized === undefined) return wrongLogin();
  const lockedMs = gate.lockedMs(network, host.monotonicMs());
  if (lockedMs > 0) return locked(Math.ceil(lockedMs / 1000));
  const digests = attemptKeys(normalized, network);
  const user = await engine.snapshot((tx) => readUser(tx, normalized));
  if (!hasher.hasRoom()) return locked(1);
  if (!await gate.enter(network, isKnown(user, digests, host.nowMs()))) return locked(1);
  try {
    return await judgeLogin(accounts, { email: normalized, password, network }, digests);
  } finally {
    gate.leave();
  }
}

async function judgeLogin(
  { engine, host, hasher, gate, jwtSecret }: Accounts,
  { email, password, network }: LoginRequest,
  digests: AttemptKeys,
): Promise<Outcome<MintedToken>> {
  const attempt = await beginLogin(engine, email, digests, host.nowMs());
  if (!attempt.ok) return attempt;
  if (!await hasher.verify(password, attempt.value?.password)) {
    gate.countFailed(network, host.monotonicMs());
    return wrongLogin();
  }
  await engine.transact(async (tx) => {
    clearLoginAttempts(tx, digests);
    const user = await readUser(tx, email);
    const { places = [] } = user ?? {};
    const remembered = rememberPlace(places, digests.fromAddress, host.nowMs());
    if (user !== undefined && remembered !== places) storeUser(tx, { ...user, places: remembered });
  });
  const request = { secret: jwtSecret, subject: email, nowMs: host.nowMs() };
  return accept(await mintOperatorToken(request));
}

/** Counts the attempt before it is judged. Returns the account, if there is one. */
function beginLogin(
  engine: Engine,
  email: string,
  digests: AttemptKeys,
  nowMs: number,
): Promise<Outcome<UserRecord | undefined>> {
  return engine.transact(async (tx): Promise<Outcome<UserRecord | undefined>> => {
    const user = await readUser(tx, email);
    const counted = [[digests.fromAddress, limits.failedLoginsPerMinuteMax]] as [string, number][];
    if (!isKnown(user, digests, nowMs)) {
      counted.push([digests.fromStrangers, limits.failedLoginsOfAccountPerMinuteMax]);
    }
    const attempts: [string, readonly number[]][] = [];
    for (const [digest, limit] of counted) {
      const attempt = nextLoginAttempt(await readLoginAttempts(tx, digest), nowMs, limit);
      if (attempt.kind === "locked") return locked(attempt.retryAfterSeconds);
      attempts.push([digest, attempt.attemptsMs]);
    }
    for (const [digest, attemptsMs] of attempts) {
      await storeLoginAttempts(tx, digest, attemptsMs, nowMs);
    }
    return accept(user);
  });
}

function isKnown(user: UserRecord | undefined, { fromAddress }: AttemptKeys, nowMs: number) {
  return isKnownPlace(user?.places ?? [], fromAddress, nowMs);
}

function locked(retryAfterSeconds: number): Outcome<never> {
  return refuse({ kind: "login_locked", retryAfterSeconds });
}

function wrongLogin(): Outcome<never> {
  return refuse({ kind: "unauthorized", message: "Wrong email or password" });
}
