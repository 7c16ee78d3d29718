/**
 * One attempt of one transaction on FoundationDB. Its own writes are kept here until the commit
 * and laid over what is read, and guards of ranges are passed to the client at the commit. So both
 * mean exactly what they mean on SQLite, and a read that fails for a passing reason can be repeated
 * at the same version without running the body again. A read of one key guards it in the same call,
 * because each call wakes the client's network thread.
 */

import {
  type Bytes,
  type KeyRange,
  type KeyValue,
  kvLimits,
  type RangeOptions,
  type ReadTransaction,
  type Transaction,
} from "../engine.ts";
import { textOf } from "../byte_text.ts";
import {
  type ClientDatabase,
  type ClientTransaction,
  codeOf,
  describeFailure,
  errorCodes,
  heard,
  isMisuse,
  isPassing,
  type ReadFailure,
} from "./client.ts";
import {
  capturedPrefix,
  type Captures,
  changesApart,
  changesOf,
  flagKey,
  partNumber,
  splitIntoValues,
  writesData,
} from "./changes.ts";
import { type KeyPlace, ownWritesIn, readWholeRange } from "./range.ts";
import type { SharedClient, SharedReads } from "./shared_reads.ts";
import type { Stalls, Tracked } from "./stalls.ts";
import { hashOf } from "../key_map.ts";
import { keyAfter } from "../tuple.ts";
import * as own from "../transaction/buffered_transaction.ts";
import { openSlices } from "../transaction/sort_in_slices.ts";
import { endsWithin, nextTurn } from "../transaction/turns.ts";

const ageMaxMs = kvLimits.transactionSecondsMax * 1000;
/** A version that is gone earlier than this was lost in a recovery of the cluster. */
const ageOfExpiryMs = ageMaxMs - 1000;
/** How long a read is repeated. */
const passingMsMax = 2000;
const standBackMsMax = 500;
/** Calls into the client between two looks at the clock. */
const callsPerLook = 256;
const pauseMs = 20;

/** What a transaction needs from its engine. */
export interface AttemptHome {
  readonly database: ClientDatabase;
  readonly stalls: Stalls;
  readonly place: KeyPlace;
  /** A monotonic clock, in milliseconds. */
  nowMs(): number;
  readonly isClosed: boolean;
  readonly captures: Captures;
}

export class FoundationdbTransaction extends own.BufferedTransaction<AttemptHome>
  implements Transaction {
  readonly #calls: Tracked;
  readonly unguarded: Pick<ReadTransaction, "get" | "getRange">;
  /** Undefined before the first read. */
  #client: ClientTransaction | undefined;
  /** What it reads in together with others; undefined if it does not. */
  #shared: SharedClient | undefined;
  #renewal: Promise<void> | undefined;
  #metadata: Promise<Bytes | undefined> | undefined;
  #startedMs: number | undefined;
  #hasRead = false;
  #failure: { readonly kind: ReadFailure; readonly error: Error } | undefined;
  #captured: readonly Bytes[] = [];
  /** Whether it has read something that its commit does not prove. */
  #hasReadUnguarded = false;
  /** Native transactions that were given up for a fresh one; their answers may still come. */
  readonly #left: ClientTransaction[] = [];
  /** Whether reads guarded keys in another native transaction than the one to commit. */
  #isRenewed = false;
  #isPreparing = false;
  #isReleased = false;

  /**
   * @param sharing if it may read in one native transaction with others; it must not write.
   * @param behind the version that it reads at, if that may not be the newest.
   */
  constructor(home: AttemptHome, readonly sharing?: SharedReads, readonly behind?: bigint) {
    super(home);
    this.#calls = home.stalls.track(() => this.cancel());
    this.unguarded = {
      get: (key) => {
        this.#hasReadUnguarded = true;
        return heard(this.#get(key, false));
      },
      getRange: (range, options) => {
        this.#hasReadUnguarded = true;
        return heard(this.#getRange(range, options, false));
      },
    };
  }

  get(key: Bytes): Promise<Bytes | undefined> {
    return heard(this.#get(key, true));
  }

  getRange(range: KeyRange, options?: RangeOptions): Promise<KeyValue[]> {
    return heard(this.#getRange(range, options, true));
  }

  readVersion(): Promise<bigint> {
    this.#hasReadUnguarded = true;
    return heard(this.#read((client) => client.readVersion()));
  }

  // The rest is for the engine alone.

  /** Whether a commit proves that what the body did is right although it read an old version. */
  get isProvenByCommit(): boolean {
    return this.hasWrites && !this.#hasReadUnguarded;
  }

  /** The version from which on the commit is seen. */
  committedVersion(): bigint {
    return this.#own().committedVersion();
  }

  get failure(): { readonly kind: ReadFailure; readonly error: Error } | undefined {
    return this.#failure;
  }

  /** Whether it has been reading for longer than a transaction may last. */
  get isTooOld(): boolean {
    return this.#ageMs() > ageMaxMs;
  }

  /** How a version of this age was lost: to time, or to a recovery of the cluster. */
  get howTooOld(): "expired" | "version lost" {
    return this.#ageMs() >= ageOfExpiryMs ? "expired" : "version lost";
  }

  /** Waits for something that must happen before the first read. */
  waitFor(condition: Promise<unknown>): Promise<void> {
    return this.#calls.wait(condition);
  }

  /** Ends reading and writing by the body; what it did is kept for the commit. */
  end(): void {
    this.isOver = true;
  }

  /**
   * Finds out whether a backup runs, which then needs what this transaction changes. Returns the
   * values in which the changes are stored.
   */
  async capture(): Promise<readonly Bytes[]> {
    if (!writesData(this.buffer) || !await this.#isBackupRunning()) return [];
    return this.#captured = splitIntoValues(changesOf(this.buffer));
  }

  /** The changes are stored already, under this id. */
  captureApart(id: Bytes): void {
    this.#captured = [changesApart(id)];
  }

  async #isBackupRunning(): Promise<boolean> {
    const { captures } = this.home;
    if (this.#metadata === undefined) this.expectCommit();
    const version = await this.#metadata;
    const metadata = version && textOf(version);
    if (captures.known === undefined || captures.known.metadata !== metadata) {
      const flag = await this.#read((client) => client.get(this.home.place.key(flagKey)), true);
      captures.known = { metadata, isRunning: flag !== undefined };
    }
    return captures.known.isRunning;
  }

  /** Gets its version after everybody else or, after half a second, among them. */
  async standBack(): Promise<void> {
    const client = this.#own();
    client.standBack();
    if (await endsWithin(client.readVersion(), standBackMsMax)) return;
    client.cancel();
    this.#left.push(client);
    this.#client = undefined;
  }

  /** Begins to read what the commit will need. */
  expectCommit(): void {
    this.#metadata = heard(this.#read((client) => client.metadataVersion(), true));
  }

  /**
   * Hands guards and writes to the client, in time slices.
   * @throws {EngineLimitExceeded} when they are too large; then nothing was sent.
   */
  async prepareCommit(): Promise<void> {
    this.checkSize();
    this.#isPreparing = true;
    const { place, nowMs } = this.home;
    const client = this.#own();
    const rest = openSlices(nowMs, nextTurn);
    let calls = 0;
    if (this.#isRenewed) {
      for (const { key } of this.guards.keys.entries) {
        const begin = place.key(key);
        client.guard({ begin, end: keyAfter(begin) });
        if (++calls % callsPerLook === 0) await rest();
      }
    }
    for (const range of this.guards.ranges) client.guard(place.range(range));
    for (const range of this.buffer.cleared) client.clearRange(place.range(range));
    for (const { key, value, delta } of this.buffer.writes.entries) {
      const stored = place.key(key);
      if (value !== undefined) client.set(stored, value);
      else if (delta === undefined) client.clear(stored);
      else client.add(stored, own.addToCounter(undefined, delta));
      if (++calls % callsPerLook === 0) await rest();
    }
    for (const { prefix, suffix, value } of this.buffer.stamped) {
      client.setStamped(place.key(prefix), suffix, value);
    }
    this.#prepareCapture(client);
  }

  #prepareCapture(client: ClientTransaction): void {
    const { buffer } = this;
    // Whoever begins or ends a backup tells all processes of the cluster.
    if (buffer.writes.has(flagKey, hashOf(flagKey)) || own.isCleared(buffer, flagKey)) {
      client.touchMetadata();
    }
    if (!writesData(buffer)) return;
    const begin = this.home.place.key(flagKey);
    client.guard({ begin, end: keyAfter(begin) });
    for (const [number, part] of this.#captured.entries()) {
      client.setStamped(this.home.place.key(capturedPrefix), partNumber(number), part);
    }
  }

  /** Rejects as the client does, or with EngineUnavailable when the cluster does not answer. */
  sendCommit(): Promise<void> {
    return this.#calls.answer(this.#own().commit());
  }

  /** The key that a commit conflicted with; the first guard if the cluster does not say. */
  async findConflict(): Promise<string> {
    try {
      const key = await this.#calls.answer(this.#own().conflictingKey());
      if (key !== undefined) return textOf(key);
    } catch {
      // Not knowing the key costs only speed.
    }
    const [first] = this.guards.keys.entries;
    return first === undefined ? this.guards.ranges[0]?.begin ?? "" : textOf(first.key);
  }

  /** Waits as long as the client advises after an error of the commit. */
  async backOff(code: number): Promise<void> {
    await this.#calls.answer(this.#own().onError(code));
  }

  /** Nothing may be asked of the transaction afterwards. */
  release(): void {
    this.isOver = true;
    this.#isReleased = true;
    this.#calls.end();
    this.#shared?.leave();
    if (this.#client !== this.#shared?.client) this.#client?.release();
    for (const client of this.#left) client.release();
  }

  cancel(): void {
    this.#shared?.cancel();
    if (this.#client !== this.#shared?.client) this.#client?.cancel();
  }

  /** The native transaction of the first read or, if nothing was read, of the commit. */
  #own(): ClientTransaction {
    if (this.#client !== undefined) return this.#client;
    if (this.home.isClosed) own.refuseEnded(true);
    this.#shared = this.sharing?.join();
    this.#client = this.#shared?.client ?? this.home.database.createTransaction();
    if (this.behind !== undefined) this.#client.startAt(this.behind);
    return this.#client;
  }

  async #get(key: Bytes, isGuarded: boolean): Promise<Bytes | undefined> {
    this.checkCall(key);
    const hash = hashOf(key);
    const write = own.findWrite(this.buffer, key, hash);
    if (write !== undefined && write.delta === undefined) return write.value;
    if (write === undefined && own.isCleared(this.buffer, key)) return undefined;
    const isNew = isGuarded && !this.guards.keys.has(key, hash);
    if (isNew) this.guards.keys.put({ key, hash });
    const stored = await this.#read((client) => client.get(this.home.place.key(key), isNew));
    return write === undefined ? stored : own.addToCounter(stored, write.delta!);
  }

  async #getRange(
    range: KeyRange,
    options: RangeOptions = {},
    isGuarded: boolean,
  ): Promise<KeyValue[]> {
    this.refuseOver();
    const wanted = { begin: textOf(range.begin), end: textOf(range.end) };
    if (wanted.begin >= wanted.end || (options.limit ?? Infinity) <= 0) return [];
    const ownWrites = ownWritesIn(this.buffer, wanted);
    const { pairs, read } = await readWholeRange(
      async (part, size) => {
        const stored = this.home.place.range(part);
        if (textOf(stored.begin) >= textOf(stored.end)) return { pairs: [], more: false };
        const page = await this.#read((client) => client.getRange(stored, size));
        return { ...page, pairs: this.home.place.bare(page.pairs) };
      },
      ownWrites,
      wanted,
      options,
    );
    if (isGuarded) this.guards.ranges.push(...own.unownedParts(ownWrites, read));
    return pairs;
  }

  /** Asks the cluster, again and again while it says that it will answer soon. */
  async #read<T>(
    call: (client: ClientTransaction) => Promise<T>,
    isForEngine = false,
  ): Promise<T> {
    let refusedMs: number | undefined;
    for (;;) {
      if (!isForEngine) this.refuseOver();
      if (this.#failure !== undefined) throw this.#failure.error;
      this.#startedMs ??= this.home.nowMs();
      if (this.isTooOld) throw this.#fail("expired", undefined);
      const client = this.#own();
      try {
        const value = await this.#calls.answer(call(client));
        this.#hasRead = true;
        return value;
      } catch (error) {
        const code = codeOf(error);
        refusedMs ??= this.home.nowMs();
        const mayRetry = isPassing(code) || code === errorCodes.versionChanged;
        if (!mayRetry || this.home.nowMs() - refusedMs > passingMsMax) {
          throw this.#failFor(code, error);
        }
        await this.#renew(client);
      }
    }
  }

  #failFor(code: number | undefined, error: unknown): Error {
    if (code === errorCodes.tooOld) return this.#fail(this.howTooOld, error);
    return this.#fail(isMisuse(code) ? "misuse" : "unavailable", error);
  }

  /** Only the first failure counts: later ones follow from it. */
  #fail(kind: ReadFailure, cause: unknown): Error {
    return (this.#failure ??= { kind, error: describeFailure(kind, cause) }).error;
  }

  /**
   * Continues with a fresh native transaction at the same version. One renewal serves all reads.
   */
  async #renew(failed: ClientTransaction): Promise<void> {
    if (this.#client !== failed) return;
    this.#renewal ??= this.#replace(failed).finally(() => this.#renewal = undefined);
    await this.#renewal;
  }

  async #replace(failed: ClientTransaction): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    // The client knows the version without asking, unless the request for it is what failed.
    const version = await this.#calls.answer(failed.readVersion()).catch(() => undefined);
    // What was handed to a client for the commit is not in a fresh one.
    if (this.#isReleased || this.#isPreparing) return;
    if (version === undefined && this.#hasRead) throw this.#fail("version lost", undefined);
    const fresh = this.home.database.createTransaction();
    if (version !== undefined) fresh.startAt(version);
    // Other reads may still be waiting for the old one, so it is left to finish.
    if (failed !== this.#shared?.client) this.#left.push(failed);
    this.#client = fresh;
    this.#isRenewed = true;
    this.#metadata = undefined;
  }

  #ageMs(): number {
    return this.#startedMs === undefined ? 0 : this.home.nowMs() - this.#startedMs;
  }
}
