/**
 * What the engine needs of FoundationDB's client, as an interface, and what its error codes
 * mean. `foundationdb/binding.ts` binds the interface to the package; tests bind it to a script.
 */

import {
  type Bytes,
  EngineClosed,
  EngineLimitExceeded,
  EngineUnavailable,
  type KeyRange,
  type KeyValue,
  kvLimits,
} from "../engine.ts";

/** The outside world, as far as the engine needs it. */
export interface EngineHost {
  /** Milliseconds since 1970. */
  nowMs(): number;
  randomBytes(length: number): Bytes;
}

export interface ClientDatabase {
  createTransaction(): ClientTransaction;
  createWatching(): WatchingTransaction;
  /** Afterwards nothing may be asked of this database or its transactions. */
  close(): void;
}

/**
 * One native transaction. Its reads do not see its writes. Failures reject with an error that has a
 * numeric `code`.
 */
export interface ClientTransaction {
  readVersion(): Promise<bigint>;
  startAt(version: bigint): void;
  /**
   * To be called before its first request: the cluster then puts its version off before those of
   * others, when it has too much to do.
   */
  standBack(): void;
  /** @param isGuarded whether a later write of the key makes the commit fail with a conflict. */
  get(key: Bytes, isGuarded?: boolean): Promise<Bytes | undefined>;
  /**
   * The cluster's metadata version as of the version read. It comes with that version, so the
   * client asks nobody.
   */
  metadataVersion(): Promise<Bytes | undefined>;
  /** Changes the metadata version with the commit. */
  touchMetadata(): void;
  /** Guards nothing. */
  getRange(range: KeyRange, page: PageSize): Promise<ClientPage>;
  /** Makes the commit fail with a conflict if a key of the range was written since. */
  guard(range: KeyRange): void;
  set(key: Bytes, value: Bytes): void;
  clear(key: Bytes): void;
  clearRange(range: KeyRange): void;
  /** `operand`: 8 bytes, little-endian. */
  add(key: Bytes, operand: Bytes): void;
  setStamped(prefix: Bytes, suffix: Bytes, value: Bytes): void;
  commit(): Promise<void>;
  /** After a commit that wrote: the version from which on it is seen. */
  committedVersion(): bigint;
  /** After a commit that conflicted: the first key in conflict. */
  conflictingKey(): Promise<Bytes | undefined>;
  /** Waits as long as the client advises after the error, and resets the transaction. */
  onError(code: number): Promise<void>;
  /** Everything pending rejects with code 1025. */
  cancel(): void;
  /** Frees its memory at once; nothing may be asked of it afterwards. */
  release(): void;
}

/** A native transaction that only watches keys. */
export interface WatchingTransaction {
  /** Must be set before the commit, which arms it. */
  watch(key: Bytes): ClientWatch;
  commit(): Promise<void>;
  /** Everything pending rejects with code 1025. */
  cancel(): void;
}

export interface PageSize {
  readonly limit: number;
  readonly bytesMax: number;
  readonly reverse: boolean;
}

export interface ClientPage {
  readonly pairs: KeyValue[];
  /** Whether the range may have more beyond the last pair. */
  readonly more: boolean;
}

export interface ClientWatch {
  /** True on a change, false when cancelled. */
  readonly promise: Promise<boolean>;
  cancel(): void;
}

export const errorCodes = {
  tooOld: 1007,
  conflict: 1020,
  commitUnknown: 1021,
  versionChanged: 1039,
  transactionTooLarge: 2101,
  keyTooLarge: 2102,
  valueTooLarge: 2103,
} as const;

/**
 * Future version, storage process behind, memory limits of the proxies, throttling: the cluster
 * is there and will answer soon. A commit that fails with one of these has not landed.
 */
const passingCodes: ReadonlySet<number> = new Set([1009, 1037, 1042, 1051, 1078, 1213, 1223]);
const limitCodes: ReadonlySet<number> = new Set([
  errorCodes.transactionTooLarge,
  errorCodes.keyTooLarge,
  errorCodes.valueTooLarge,
]);

/** The code of an error of the client; undefined for any other error. */
export function codeOf(error: unknown): number | undefined {
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  return typeof code === "number" ? code : undefined;
}

/** Whether the same call may well succeed a moment later. */
export function isPassing(code: number | undefined): boolean {
  return code !== undefined && passingCodes.has(code);
}

export function isLimit(code: number | undefined): boolean {
  return code !== undefined && limitCodes.has(code);
}

/** Whether the call itself was wrong: a bug of ours, not a state of the cluster. */
export function isMisuse(code: number | undefined): boolean {
  return code !== undefined && code >= 2000 && code < 3000;
}

/** Why reading ended. The engine goes by this, whatever the body made of the error. */
export type ReadFailure = "expired" | "version lost" | "unavailable" | "misuse";

export function describeFailure(kind: ReadFailure, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const code = codeOf(cause);
  if (cause instanceof EngineUnavailable || cause instanceof EngineClosed) return cause;
  if (kind === "expired") {
    const message = `The transaction is older than ${kvLimits.transactionSecondsMax} seconds`;
    return new EngineLimitExceeded(message);
  }
  if (kind === "version lost") {
    return new EngineUnavailable("FoundationDB recovered meanwhile and gave up the version read");
  }
  if (kind === "misuse") return new Error(`FoundationDB refused a call: ${reason} (${code})`);
  return new EngineUnavailable(`FoundationDB cannot be read: ${reason} (${code})`, { cause });
}

export function cannotCommit(error: unknown): EngineUnavailable {
  const reason = error instanceof Error ? error.message : String(error);
  const message = `FoundationDB cannot be written: ${reason} (${codeOf(error)})`;
  return new EngineUnavailable(message, { cause: error });
}

export function noReply(seconds: number): EngineUnavailable {
  return new EngineUnavailable(
    `FoundationDB lost the replies to one transaction for ${seconds} seconds`,
  );
}

/** The outcome of one run of a body. */
export type Run<T> =
  | { readonly kind: "committed"; readonly value: T }
  | { readonly kind: "conflict"; readonly place: string }
  | { readonly kind: "expired" }
  /** What it read may have been old, and no commit tells. */
  | { readonly kind: "behind" }
  | { readonly kind: "passing"; readonly error: Error };

/** Why reading ended, and the error that says so. */
export interface FailedRead {
  readonly kind: ReadFailure;
  readonly error: Error;
}

export function afterFailedRead({ kind, error }: FailedRead): Run<never> {
  if (kind === "expired") return { kind: "expired" };
  if (kind === "version lost") return { kind: "passing", error: error };
  throw error;
}

/** One call of `transact`, through all its attempts. */
export interface Call {
  readonly expectsWrites: boolean;
  /** Whether it lets others go first. */
  readonly standsBack: boolean;
  /** When it began its first attempt. */
  startedMs: number | undefined;
  /** How long it has waited for commits. */
  busyMs: number;
  /** Whether the reply to one of its commits was lost. */
  mayHaveLanded: boolean;
  /** Whether its next run may read at an old version. */
  mayBeBehind: boolean;
}

export function newCall(
  { expectsWrites = false, readsUnguarded = false, standsBack = false } = {},
): Call {
  return {
    expectsWrites,
    standsBack,
    startedMs: undefined,
    busyMs: 0,
    mayHaveLanded: false,
    // The cluster puts off requests for a version, so whoever stands back has to ask for one.
    mayBeBehind: expectsWrites && !readsUnguarded && !standsBack,
  };
}

/** A body that throws may abandon reads; if those fail later, they must not end the process. */
export function heard<T>(read: Promise<T>): Promise<T> {
  read.catch(() => {});
  return read;
}
