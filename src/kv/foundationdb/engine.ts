/**
 * The distributed engine, which runs transactions on FoundationDB until a commit has landed.
 * `foundationdb/binding.ts` opens it. `README.md` explains how it keeps the promises of the port.
 *
 * What may be done after a failed commit depends on what is known about it:
 * - Conflict, too old, throttled, too large: it has not landed. The body runs again, or the call
 *   is refused.
 * - 1021, reply lost: it may have landed. The client reports this only after it has committed a
 *   transaction that conflicts with the lost one, so the lost one has landed or never will. That
 *   is what `exactly_once.ts` requires; its marker then tells which of the two happened.
 * - No reply at all within four seconds: the call is cancelled, and the commit may STILL LAND
 *   LATER. A rerun could then land too, or read what the first attempt wrote and refuse itself.
 *   So nothing runs again, and the caller gets EngineUnavailable. If the caller repeats the call
 *   under an idempotency key, the repeat is serialized with the late commit, because both read
 *   and write the entry of that key.
 */

import { openCalls } from "../calls.ts";
import { CAPABILITIES } from "../capabilities.ts";
import {
  type Backup,
  type Bytes,
  type Engine,
  EngineClosed,
  EngineLimitExceeded,
  type EngineMeasure,
  EngineUnavailable,
  kvLimits,
  type ReadTransaction,
  type Transaction,
  type TransactOptions,
  type Watch,
} from "../engine.ts";
import { type BackupPace, type Backups, openClusterBackups } from "./backup.ts";
import { storeApart } from "./changes.ts";
import { CommitUnknown, type Marks, openMarks, transactExactlyOnce } from "./exactly_once.ts";
import {
  afterFailedRead,
  type Call,
  cannotCommit,
  type ClientDatabase,
  codeOf,
  type EngineHost,
  errorCodes,
  isLimit,
  isMisuse,
  isPassing,
  newCall,
  noReply,
  type Run,
} from "./client.ts";
import { openKeyPlace } from "./range.ts";
import { openSharedReads, type SharedReads } from "./shared_reads.ts";
import { ClusterSilent, openStalls, type StallLimits, type Stalls } from "./stalls.ts";
import { type AttemptHome, FoundationdbTransaction } from "./transaction.ts";
import { type FoundationdbWatches, openFoundationdbWatches } from "./watches.ts";
import { refuseExpired } from "../transaction/buffered_transaction.ts";
import {
  conflictsMaxMs,
  expirationsMax,
  lostTooOften,
  openSpacing,
  openTurns,
} from "../transaction/turns.ts";

export type { EngineHost };

export interface FoundationdbEngineOptions {
  readonly database: ClientDatabase;
  readonly host: EngineHost;
  /** Prefix of all keys of the engine: at most 4 bytes, or the longest keys would not fit. */
  readonly prefix?: Bytes;
  /** A monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
  readonly stallLimits?: StallLimits;
  readonly failurePauseMs?: number;
  readonly backupPace?: BackupPace;
}

/** How long the cluster may put a call off. */
const passingMaxMs = 4_000;
/**
 * After this many conflicts in a row, which taking turns has not prevented, the call backs off
 * to give others in the cluster time.
 */
const conflictsWithoutPause = 3;
/**
 * The version of the last commit of this process is read at for this long. The older it is, the
 * more often other processes have written since, and the run was in vain.
 */
const behindMsMax = 100;
/** Captured changes that would make a transaction larger than this are stored before it. */
const bytesWithCaptureMax = 9_000_000;

export class FoundationdbEngine implements Engine {
  readonly capabilities = CAPABILITIES.foundationdb;
  readonly #home: AttemptHome & { isClosed: boolean };
  readonly #host: EngineHost;
  readonly #stalls: Stalls;
  readonly #watches: FoundationdbWatches;
  readonly #sharing: SharedReads;
  readonly #turns = openTurns();
  readonly #spacing = openSpacing((error) => error instanceof ClusterSilent);
  readonly #backups: Backups;
  readonly #calls = openCalls(() => this.#refuseClosing());
  readonly #running = new Set<FoundationdbTransaction>();
  readonly #marks: Marks;
  #isClosing = false;
  #conflicts = 0;
  /** Of the last commit of this process. */
  #committed = { version: 0n, atMs: -Infinity };
  #closing: Promise<void> | undefined;

  constructor(options: FoundationdbEngineOptions) {
    const { database, host, failurePauseMs } = options;
    const place = openKeyPlace(options.prefix ?? new Uint8Array());
    this.#host = host;
    this.#stalls = openStalls(options.stallLimits);
    const stalls = this.#stalls;
    this.#home = {
      database,
      stalls,
      place,
      nowMs: options.nowMs ?? (() => performance.now()),
      isClosed: false,
      captures: { known: undefined },
    };
    this.#watches = openFoundationdbWatches({
      database,
      stalls,
      stored: place.key,
      failurePauseMs,
    });
    this.#sharing = openSharedReads(database);
    const backups = this.#backups = openClusterBackups(this, host, options.backupPace);
    this.#marks = openMarks(this, host, () => {
      // Other programs may have cleared the store without telling.
      this.#home.captures.known = undefined;
      return backups.sweep();
    });
  }

  transact<T>(body: (tx: Transaction) => Promise<T>, options?: TransactOptions): Promise<T> {
    const { owner, bytes = 0, isBackground, isBulk } = options ?? {};
    const isLarge = bytes > kvLimits.largeBytesMin;
    const call = newCall({ ...options, standsBack: isLarge || isBackground });
    if (!isLarge && !isBulk) return this.#calls.run(() => this.#transact(body, call));
    const restsFor = () => isBackground ? 0 : call.busyMs;
    return this.#calls.run(() =>
      this.#spacing.run(
        { owner, restsFor },
        (hold) => this.#transact((tx) => hold(() => body(tx)), call),
      )
    );
  }

  #transact<T>(body: (tx: Transaction) => Promise<T>, call = newCall()): Promise<T> {
    const attempt = (inner: typeof body) => this.#runUntilCommitted(inner, call);
    return transactExactlyOnce(attempt, body, this.#marks.next());
  }

  snapshot<T>(body: (tx: ReadTransaction) => Promise<T>): Promise<T> {
    return this.#calls.run(() => {
      const armed = this.#watches.armed();
      if (armed !== undefined) return this.#read(this.#begin(), body, armed);
      const { promise, resolve } = Promise.withResolvers<T>();
      const sharing = this.#sharing;
      sharing.begin(() => resolve(this.#read(this.#begin(sharing), body)));
      return promise;
    });
  }

  async #read<T>(
    tx: FoundationdbTransaction,
    body: (tx: ReadTransaction) => Promise<T>,
    condition?: Promise<unknown>,
  ): Promise<T> {
    try {
      if (condition !== undefined) await tx.waitFor(condition);
      const { get, getRange } = tx.unguarded;
      return await body({ get, getRange, readVersion: () => tx.readVersion() });
    } finally {
      this.#end(tx);
    }
  }

  /** Other processes write too. */
  durableVersion(): undefined {}

  watch(key: Bytes): Watch {
    this.#refuseClosing();
    return this.#watches.add(key);
  }

  backup(): Backup {
    this.#refuseClosing();
    return this.#backups.run();
  }

  measure(): Promise<EngineMeasure> {
    return Promise.resolve({ conflicts: this.#conflicts });
  }

  // The cluster looks after its own files.
  forget(): Promise<void> {
    return Promise.resolve();
  }

  failure(): undefined {}

  untilBroken(): Promise<never> {
    return new Promise(() => {});
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    this.#marks.close();
    // A backup is not waited for. It only tells the cluster that it has ended.
    const ended = this.#backups.close();
    if (ended !== undefined) await ended;
    this.#isClosing = true;
    this.#spacing.close(new EngineClosed("The engine is closed"));
    await this.#calls.untilIdle();
    this.#home.isClosed = true;
    for (const tx of this.#running) tx.cancel();
    await this.#watches.close();
    this.#stalls.close();
    this.#home.database.close();
  }

  #begin(sharing?: SharedReads, behind?: bigint): FoundationdbTransaction {
    const tx = new FoundationdbTransaction(this.#home, sharing, behind);
    this.#running.add(tx);
    return tx;
  }

  #end(tx: FoundationdbTransaction): void {
    this.#running.delete(tx);
    tx.release();
  }

  /**
   * A call that begins after `watch()` must not read an older version than the watch compares
   * with.
   */
  #untilWatchesSee(tx: FoundationdbTransaction): Promise<void> | undefined {
    const armed = this.#watches.armed();
    return armed && tx.waitFor(armed);
  }

  /**
   * Runs `body` again after conflicts and similar failures; its last run is committed when this
   * resolves.
   * @throws {CommitUnknown} when the last commit has landed or never will, and it is unknown
   * which.
   */
  async #runUntilCommitted<T>(body: (tx: Transaction) => Promise<T>, call: Call): Promise<T> {
    call.startedMs ??= this.#home.nowMs();
    // True only after lost replies: the first attempt begins at once.
    if (this.#elapsedMs(call) > conflictsMaxMs) throw noReply(conflictsMaxMs / 1000);
    let expirations = 0;
    let conflicts = 0;
    let endTurn: (() => void) | undefined;
    for (;;) {
      const tx = this.#begin(undefined, call.mayBeBehind ? this.#behind() : undefined);
      call.mayBeBehind = false;
      let run: Run<T>;
      try {
        run = await this.#run(tx, body, call);
        if (run.kind === "conflict" && ++conflicts > conflictsWithoutPause) {
          await tx.backOff(errorCodes.conflict);
        }
      } finally {
        this.#end(tx);
        endTurn?.();
        endTurn = undefined;
      }
      if (run.kind === "committed") return run.value;
      if (run.kind === "behind") continue;
      const elapsedMs = this.#elapsedMs(call);
      if (run.kind === "expired") {
        if (++expirations < expirationsMax) continue;
        // A refusal would claim that nothing has landed.
        if (call.mayHaveLanded) throw noReply(conflictsMaxMs / 1000);
        refuseExpired();
      } else if (run.kind === "passing") {
        if (elapsedMs > passingMaxMs) throw run.error;
      } else {
        if (elapsedMs > conflictsMaxMs) throw lostTooOften(conflicts);
        endTurn = await this.#turns.take(run.place);
      }
    }
  }

  async #run<T>(
    tx: FoundationdbTransaction,
    body: (tx: Transaction) => Promise<T>,
    call: Call,
  ): Promise<Run<T>> {
    await this.#untilWatchesSee(tx);
    if (call.standsBack) await tx.standBack();
    if (call.expectsWrites || call.standsBack) tx.expectCommit();
    let value: T;
    try {
      value = await body(tx);
    } catch (error) {
      if (tx.behind !== undefined && tx.failure === undefined) return { kind: "behind" };
      // An error caused by failed reads is not the body's own; the failure is handled below.
      if (tx.failure === undefined) throw error;
    }
    tx.end();
    if (tx.failure !== undefined) return afterFailedRead(tx.failure);
    if (tx.behind !== undefined && !tx.isProvenByCommit) return { kind: "behind" };
    if (!tx.hasWrites) return { kind: "committed", value: value! };
    if (tx.isTooOld) return { kind: "expired" };
    try {
      await this.#capture(tx);
      await tx.prepareCommit();
    } catch (error) {
      if (tx.failure === undefined) throw error;
      return afterFailedRead(tx.failure);
    }
    const sentMs = this.#home.nowMs();
    const failed = await tx.sendCommit().then(() => undefined, (error: unknown) => ({ error }));
    call.busyMs += this.#home.nowMs() - sentMs;
    if (failed !== undefined) {
      if (codeOf(failed.error) === errorCodes.commitUnknown) call.mayHaveLanded = true;
      return await this.#afterFailedCommit(tx, failed.error);
    }
    const version = tx.committedVersion();
    if (version > this.#committed.version) this.#committed = { version, atMs: this.#home.nowMs() };
    this.#watches.notify({ keys: tx.buffer.writes, ranges: tx.buffer.cleared });
    return { kind: "committed", value: value! };
  }

  /** An old version to read at; undefined if none is new enough. */
  #behind(): bigint | undefined {
    const { version, atMs } = this.#committed;
    return this.#home.nowMs() - atMs < behindMsMax ? version : undefined;
  }

  /** Lets a backup that runs know what the transaction changes. */
  async #capture(tx: FoundationdbTransaction): Promise<void> {
    const parts = await tx.capture();
    const bytes = parts.reduce((sum, { length }) => sum + length, 0);
    if (bytes === 0 || tx.checkSize() + bytes <= bytesWithCaptureMax) return;
    const id = this.#host.randomBytes(16);
    await storeApart((body) => this.#transact(body), id, parts);
    tx.captureApart(id);
  }

  /**
   * Returns failures after which the body may run again, and throws all others: see the head of
   * this file.
   */
  async #afterFailedCommit(tx: FoundationdbTransaction, error: unknown): Promise<Run<never>> {
    const code = codeOf(error);
    const isOld = code === errorCodes.conflict || code === errorCodes.tooOld;
    if (isOld && tx.behind !== undefined) return { kind: "behind" };
    if (code === errorCodes.conflict) {
      this.#conflicts++;
      return { kind: "conflict", place: await tx.findConflict() };
    }
    if (code === errorCodes.commitUnknown) {
      throw new CommitUnknown("FoundationDB lost the reply to a commit", { cause: error });
    }
    if (code === errorCodes.tooOld) {
      if (tx.howTooOld === "expired") return { kind: "expired" };
      return { kind: "passing", error: cannotCommit(error) };
    }
    if (isPassing(code)) {
      await tx.backOff(code!);
      return { kind: "passing", error: cannotCommit(error) };
    }
    if (isLimit(code)) throw new EngineLimitExceeded((error as Error).message, { cause: error });
    if (isMisuse(code)) throw error;
    if (error instanceof EngineUnavailable) throw error;
    throw cannotCommit(error);
  }

  #elapsedMs({ startedMs }: Call): number {
    return this.#home.nowMs() - startedMs!;
  }

  #refuseClosing(): void {
    if (this.#isClosing) throw new EngineClosed("The engine is closed");
  }
}
