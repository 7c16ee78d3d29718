/**
 * The embedded engine, with serializable transactions over one SQLite file on the calling
 * thread.
 *
 * A body reads at one version and buffers its writes. Waiting commits are checked for conflicts
 * in order and are written together as one commit group with one fsync; only then is any of them
 * acknowledged. The fsync is awaited, not blocked on: other bodies run meanwhile, but nothing
 * they have seen leaves the engine before it is durable. Bodies that lost run again. `README.md`
 * explains how this keeps the promises of the port.
 */

import {
  type Backup,
  type Bytes,
  type Engine,
  EngineClosed,
  type EngineMeasure,
  EngineUnavailable,
  type ReadTransaction,
  type SnapshotOptions,
  type Transaction,
  type TransactOptions,
  type Watch,
} from "../engine.ts";
import { openCalls } from "../calls.ts";
import { CAPABILITIES } from "../capabilities.ts";
import { type Backups, openBackups } from "./backup/backup_store.ts";
import { type Checkpoints, openCheckpoints } from "./checkpoints.ts";
import {
  applyGroup,
  type GroupChooser,
  hasManyRows,
  type Judged,
  judgeGroup,
  openGroupChooser,
  type Queued,
  weightOf,
} from "./commit_group.ts";
import * as occ from "../transaction/conflict_log.ts";
import { orderAhead } from "../transaction/buffered_transaction.ts";
import { openSqliteFile, type SqliteFile, type SqliteFileOptions } from "./file.ts";
import {
  type SqliteReading,
  SqliteSnapshot,
  SqliteTransaction,
  type TransactionHome,
} from "./transaction.ts";
import { openViews, type SqliteViews } from "./versions.ts";
import { CommitsLost } from "./writer.ts";
import {
  conflictsMaxMs,
  expirationsMax,
  lostTooOften,
  nextTurn,
  openTurns,
} from "../transaction/turns.ts";
import { openWatches } from "../watches.ts";

export interface SqliteEngineOptions extends SqliteFileOptions {
  /** A monotonic clock, in milliseconds. */
  readonly nowMs?: () => number;
  /** Resolves in the next turn of the event loop, in which the next group is committed. */
  readonly yieldBriefly?: () => Promise<void>;
  /** Starts the worker of the checkpoints now. Tests and commands hardly ever need one. */
  readonly isServing?: boolean;
}

type Body<T> = (tx: Transaction) => Promise<T>;
/** Where a commit conflicts, as the text of a key; undefined when it took place. */
type Conflict = string | undefined;
/** A transaction whose body is done and that waits for its commit group. */
interface Waiting extends Queued {
  readonly tx: SqliteTransaction;
  resolve(conflict: Conflict): void;
  reject(error: Error): void;
}

/**
 * Opens the store in the file `path`, creating it if there is none.
 * @throws {StoreInUse} when another process or engine has it open.
 */
export function openSqliteEngine(options: SqliteEngineOptions): Engine {
  return new SqliteEngine(openSqliteFile(options), options);
}

class SqliteEngine implements Engine {
  readonly capabilities = CAPABILITIES.sqlite;
  readonly #file: SqliteFile;
  readonly #views: SqliteViews;
  readonly #checkpoints: Checkpoints;
  readonly #backups: Backups;
  readonly #home: { -readonly [Part in keyof TransactionHome]: TransactionHome[Part] };
  readonly #nowMs: () => number;
  readonly #yieldBriefly: () => Promise<void>;
  readonly #watches = openWatches();
  readonly #turns = openTurns();
  readonly #calls = openCalls(() => this.#refuseClosed());
  readonly #log = occ.emptyConflictLog();
  #version: number;
  /** The newest version on disk: the one before `#version` while that is being synced. */
  #durableVersion: number;
  #syncing: Promise<void> | undefined;
  /** The running sync of the WAL, for commits that only the redo log makes durable so far. */
  #behind: Promise<void> | undefined;
  /** Set when a sync failed: the content of the disk is unknown then, so nothing goes on. */
  #broken: EngineUnavailable | undefined;
  readonly #breaking = Promise.withResolvers<Error>();
  readonly #queue: Waiting[] = [];
  readonly #chooser: GroupChooser<Waiting>;
  #isScheduled = false;
  #conflicts = 0;
  #closing: Promise<void> | undefined;

  constructor(file: SqliteFile, options: SqliteEngineOptions) {
    const { yieldBriefly = nextTurn, nowMs = performance.now.bind(performance) } = options;
    this.#file = file;
    this.#nowMs = nowMs;
    this.#yieldBriefly = yieldBriefly;
    this.#chooser = openGroupChooser(nowMs);
    this.#version = file.readVersion();
    this.#durableVersion = this.#version;
    this.#log.floor = this.#version;
    this.#views = openViews(file);
    this.#checkpoints = openCheckpoints(file, {
      giveUpOldVersions: () => this.#views.giveUpPinned(),
      flush: () => this.#flush(),
      untilFlushed: () => this.#untilFlushed(),
      onRelease: () => this.#schedule(),
      onBroken: (cause) => this.#break(cause),
      onUnnoted: (reason) => file.onUnnoted(reason),
    });
    const version = () => this.#version;
    this.#backups = openBackups(file.path, this.#checkpoints, { nowMs, version });
    this.#home = { views: this.#views, nowMs, isClosed: false, unsynced: undefined };
    if (options.isServing) this.#checkpoints.startWorker();
    if (!file.hasLeftLog) return;
    // A commit that another process left in a log is not revealed before it is on disk.
    this.#durableVersion = -1;
    this.#home.unsynced = { version: 0, written: undefined };
    this.#syncing = this.#sync(this.#version, [], occ.openWrittenGroup());
  }

  async transact<T>(body: Body<T>, { owner }: TransactOptions = {}): Promise<T> {
    this.#calls.begin();
    try {
      const startedMs = this.#nowMs();
      let expirations = 0;
      let endTurn: (() => void) | undefined;
      for (let attempt = 1;; attempt++) {
        const tx = new SqliteTransaction(this.#home);
        let conflict: Conflict;
        let isSubmitted = false;
        try {
          const value = await body(tx);
          if (hasManyRows(tx.buffer)) await orderAhead(tx.buffer, this.#nowMs, this.#yieldBriefly);
          tx.end();
          if (!tx.isExpired) {
            isSubmitted = true;
            conflict = await this.#commit(tx, owner);
            if (conflict === undefined) {
              if (this.#mayBeLost(tx.reading)) await this.#untilDurable();
              return value;
            }
          }
        } catch (error) {
          tx.end();
          // An error caused by expired reads is not the body's own; run it again. The outcome of a
          // commit is final, however long it took: run again, it could land twice.
          if (isSubmitted || !tx.isExpired) throw error;
        } finally {
          endTurn?.();
          endTurn = undefined;
        }
        if (conflict === undefined) {
          if (++expirations >= expirationsMax) tx.reading.refuse();
          continue;
        }
        if (this.#nowMs() - startedMs > conflictsMaxMs) throw lostTooOften(attempt);
        endTurn = await this.#turns.take(conflict);
      }
    } finally {
      this.#calls.end();
    }
  }

  async snapshot<T>(
    body: (tx: ReadTransaction) => Promise<T>,
    { isUnsynced = false }: SnapshotOptions = {},
  ): Promise<T> {
    this.#calls.begin();
    const snapshot = new SqliteSnapshot(this.#home);
    try {
      const value = await body(snapshot);
      if (!isUnsynced && this.#mayBeLost(snapshot.reading)) await this.#untilDurable();
      return value;
    } finally {
      snapshot.reading.end();
      this.#calls.end();
    }
  }

  durableVersion(): number | undefined {
    const isStill = this.#durableVersion === this.#version && this.#broken === undefined;
    return isStill && this.#closing === undefined ? this.#version : undefined;
  }

  watch(key: Bytes): Watch {
    this.#refuseClosed();
    return this.#watches.add(key);
  }

  backup(): Backup {
    this.#refuseClosed();
    return this.#backups.run();
  }

  async measure(): Promise<EngineMeasure> {
    this.#refuseClosed();
    return { conflicts: this.#conflicts, bytes: await this.#file.sizes() };
  }

  forget(): Promise<void> {
    return this.#calls.run(() => this.#checkpoints.empty());
  }

  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  async #close(): Promise<void> {
    await this.#backups.close();
    await this.#calls.untilIdle();
    this.#home.isClosed = true;
    await this.#syncing;
    await this.#behind;
    const isAtRest = await this.#checkpoints.close();
    this.#watches.close();
    this.#views.close();
    // The logs may be the only good copy; the next start reads them.
    if (this.#broken !== undefined || !isAtRest) return this.#file.abandon();
    await this.#file.close().catch((cause) => this.#break(cause));
  }

  #commit(tx: SqliteTransaction, owner: number | undefined): Promise<Conflict> | undefined {
    // A transaction that only read has seen one version, which is also its place in the order.
    if (!tx.hasWrites) return undefined;
    const weight = weightOf(tx.buffer, tx.checkSize());
    const { promise, resolve, reject } = Promise.withResolvers<Conflict>();
    this.#queue.push({ tx, weight, owner, resolve, reject });
    this.#schedule();
    return promise;
  }

  #schedule(): void {
    // Commits that wait during a sync, or while the WAL is held, are the next group.
    if (this.#queue.length === 0 || this.#isScheduled) return;
    if (this.#syncing !== undefined || this.#checkpoints.isHeld()) return;
    this.#isScheduled = true;
    const delayMs = this.#checkpoints.delayMs();
    if (delayMs > 0) setTimeout(this.#commitGroup, delayMs);
    else this.#yieldBriefly().then(this.#commitGroup);
  }

  readonly #commitGroup = (): void => {
    this.#isScheduled = false;
    if (this.#checkpoints.isHeld()) return;
    if (this.#home.isClosed || this.#broken !== undefined) {
      const refusal = this.#broken ?? new EngineClosed("The engine is closed");
      for (const { reject } of this.#queue.splice(0)) reject(refusal);
      return;
    }
    const group = this.#chooser.take(this.#queue);
    const version = this.#version + 1;
    const judged = judgeGroup(group, this.#log, version);
    this.#conflicts += judged.lost.length;
    for (const { one, conflict } of judged.lost) one.resolve(conflict);
    if (judged.accepted.length > 0) this.#store(version, judged);
    this.#schedule();
  };

  /** Writes a group and has it synced and acknowledged, or rejects all of it. */
  #store(version: number, { accepted, buffers, written }: Judged<Waiting>): void {
    let failure: EngineUnavailable | undefined;
    try {
      this.#views.beforeCommit(this.#nowMs());
      const isBySingleKeys = written.ranges.length === 0;
      this.#file.commit(version, (change) => applyGroup(change, buffers), isBySingleKeys);
      this.#version = version;
    } catch (cause) {
      if (cause instanceof CommitsLost) this.#break(cause);
      failure = new EngineUnavailable("The store cannot be written", { cause });
      this.#version = this.#storedVersion();
    }
    this.#views.afterCommit(this.#version);
    if (this.#version === version) {
      occ.recordGroup(this.#log, version, written, this.#oldestReadVersion());
    }
    if (failure !== undefined) { for (const one of accepted) one.reject(failure); }
    // Readers see a commit that landed although it threw, so it is synced all the same.
    const acknowledged = failure === undefined ? accepted : [];
    if (this.#version !== version) return;
    this.#home.unsynced = { version, written };
    this.#syncing = this.#sync(version, acknowledged, written);
  }

  /** Never rejects: a failed sync breaks the engine. */
  async #sync(
    version: number,
    accepted: readonly Waiting[],
    written: occ.WrittenGroup,
  ): Promise<void> {
    try {
      await this.#file.sync();
      this.#durableVersion = version;
      this.#home.unsynced = undefined;
    } catch (cause) {
      this.#break(cause);
    }
    this.#syncing = undefined;
    if (this.#broken !== undefined) {
      for (const one of [...accepted, ...this.#queue.splice(0)]) one.reject(this.#broken);
      return;
    }
    this.#watches.notify(written);
    for (const one of accepted) one.resolve(undefined);
    this.#behind ??= this.#syncBehind();
    this.#checkpoints.afterCommit();
    this.#schedule();
  }

  #flush(): boolean {
    try {
      this.#file.flush();
      return true;
    } catch (cause) {
      if (cause instanceof CommitsLost) this.#break(cause);
      return false;
    }
  }

  async #untilFlushed(): Promise<boolean> {
    await this.#syncing;
    await this.#behind;
    // Even if it cannot be flushed now, what is in the WAL must be on disk.
    if (this.#broken === undefined) this.#flush();
    try {
      if (this.#broken === undefined) await this.#file.syncAll();
    } catch (cause) {
      this.#break(cause);
    }
    return this.#broken === undefined;
  }

  /** Never rejects. */
  #syncBehind(): Promise<void> | undefined {
    return this.#file.syncBehind()?.catch((cause) => this.#break(cause))
      .finally(() => this.#behind = undefined);
  }

  failure = (): Error | undefined => this.#broken;

  untilBroken = (): Promise<Error> => this.#breaking.promise;

  #break(cause: unknown): void {
    if (this.#broken !== undefined) return;
    const message = "The disk did not confirm a write; restart the server to see what is kept";
    this.#broken = new EngineUnavailable(message, { cause });
    this.#breaking.resolve(this.#broken);
  }

  /** Whether what was read may be lost: it is of a commit that is still being synced. */
  #mayBeLost({ readsAt = 0, seesUnsynced }: Pick<SqliteReading, "readsAt" | "seesUnsynced">) {
    return seesUnsynced && readsAt > this.#durableVersion;
  }

  async #untilDurable(): Promise<void> {
    await this.#syncing;
    if (this.#broken !== undefined) throw this.#broken;
  }

  /** After a failed commit only the store knows whether it took place. */
  #storedVersion(): number {
    try {
      return this.#file.readVersion();
    } catch {
      return this.#version;
    }
  }

  #oldestReadVersion(): number {
    let oldest = this.#views.oldestVersion(this.#version);
    for (const { tx } of this.#queue) oldest = Math.min(oldest, tx.reading.readsAt ?? oldest);
    return oldest;
  }

  #refuseClosed(): void {
    if (this.#broken !== undefined) throw this.#broken;
    if (this.#closing !== undefined) throw new EngineClosed("The engine is closed");
  }
}
