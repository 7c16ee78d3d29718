/**
 * THE EMBEDDED ENGINE: serializable transactions over one SQLite file, all on the calling thread.
 *
 * A body reads at one version and buffers its writes. Commits that wait are checked for conflicts
 * in order and go together into one SQLite transaction with one fsync; only then is any of them
 * acknowledged. The fsync is waited for, not blocked on: meanwhile other bodies run, but nothing
 * they have seen leaves the engine before it is durable. Those that lost run again. See
 * `README.md` for why it keeps the port's contract.
 */

import {
  type Bytes,
  type Engine,
  EngineClosed,
  type EngineMeasure,
  EngineUnavailable,
  type ReadTransaction,
  type SnapshotOptions,
  type Transaction,
  type Watch,
} from "./engine.ts";
import { openCalls } from "./calls.ts";
import { type Checkpoints, openCheckpoints } from "./checkpoints.ts";
import { openGroupChooser } from "./commit_group.ts";
import * as occ from "./conflict_log.ts";
import { applyGroup } from "./group_change.ts";
import { refuseExpired } from "./size_limits.ts";
import { openSqliteFile, type SqliteFile, type SqliteFileOptions } from "./sqlite_file.ts";
import { SqliteSnapshot, type TransactionHome } from "./sqlite_reading.ts";
import { SqliteTransaction } from "./sqlite_transaction.ts";
import { openViews, type SqliteViews } from "./sqlite_views.ts";
import { CommitsLost } from "./sqlite_writer.ts";
import { nextTurn, openTurns } from "./turns.ts";
import { openWatches } from "./watches.ts";

export interface SqliteEngineOptions extends SqliteFileOptions {
  /** A clock that only goes forward, in milliseconds. */
  readonly nowMs?: () => number;
  /** The next turn of the event loop, in which the next group is committed. */
  readonly yieldBriefly?: () => Promise<void>;
}

/** Where a commit conflicts: the text of a key. Undefined when it took place. */
type Conflict = string | undefined;

/** A transaction whose body is done, waiting for its group. */
interface Waiting {
  readonly tx: SqliteTransaction;
  resolve(conflict: Conflict): void;
  reject(error: Error): void;
}

/** Losing for so long, a transaction gives up. */
const conflictsMaxMs = 10_000;
/** Bodies that take longer than a transaction may last are run so often. */
const expirationsMax = 3;
/**
 * Opens the store in the file `path`, making it if there is none.
 * @throws {StoreInUse} when another process or engine has it open.
 */
export function openSqliteEngine(options: SqliteEngineOptions): Engine {
  const { nowMs = () => performance.now(), yieldBriefly = nextTurn } = options;
  return new SqliteEngine(openSqliteFile(options), nowMs, yieldBriefly);
}

class SqliteEngine implements Engine {
  readonly #file: SqliteFile;
  readonly #views: SqliteViews;
  readonly #checkpoints: Checkpoints;
  readonly #home: TransactionHome;
  readonly #nowMs: () => number;
  readonly #yieldBriefly: () => Promise<void>;
  readonly #watches = openWatches();
  readonly #turns = openTurns();
  readonly #calls = openCalls(() => this.#refuseClosed());
  readonly #log = occ.emptyConflictLog();
  #version: number;
  /** The newest version that is on the disk: `#version`, or the one before while that is synced. */
  #durableVersion: number;
  #syncing: Promise<void> | undefined;
  /** Of what is durable by the redo log, and is to be so without. */
  #behind: Promise<void> | undefined;
  /** Set when a sync failed: what is on the disk is not known any more, so nothing goes on. */
  #broken: EngineUnavailable | undefined;
  readonly #breaking = Promise.withResolvers<Error>();
  readonly #queue: Waiting[] = [];
  readonly #chooser = openGroupChooser<Waiting>(({ tx }) => tx.rows);
  #isScheduled = false;
  #conflicts = 0;
  #closing: Promise<void> | undefined;
  #isClosed = false;

  constructor(file: SqliteFile, nowMs: () => number, yieldBriefly: () => Promise<void>) {
    this.#file = file;
    this.#nowMs = nowMs;
    this.#yieldBriefly = yieldBriefly;
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
    this.#home = { views: this.#views, nowMs, isClosed: () => this.#isClosed };
    if (file.hasLeftLog) this.#syncLeftLog();
  }

  /** Nobody is told of a commit that another process left in the log before it is on the disk. */
  #syncLeftLog(): void {
    this.#durableVersion = -1;
    this.#syncing = this.#sync(this.#version, [], occ.openWrittenGroup());
  }

  transact<T>(body: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#calls.run(() => this.#transact(body));
  }

  async snapshot<T>(
    body: (tx: ReadTransaction) => Promise<T>,
    { isUnsynced = false }: SnapshotOptions = {},
  ): Promise<T> {
    this.#calls.begin();
    const snapshot = new SqliteSnapshot(this.#home);
    try {
      const value = await body(snapshot);
      const { readsAt } = snapshot.reading;
      if (!isUnsynced && !this.#isDurable(readsAt)) await this.#untilDurable();
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
    await this.#calls.untilIdle();
    this.#isClosed = true;
    await this.#syncing;
    await this.#behind;
    const isAtRest = await this.#checkpoints.close();
    this.#watches.close();
    this.#views.close();
    // The logs may be the only good copy: the next start reads them.
    if (this.#broken !== undefined || !isAtRest) return this.#file.abandon();
    await this.#file.close().catch((cause) => this.#break(cause));
  }

  async #transact<T>(body: (tx: Transaction) => Promise<T>): Promise<T> {
    const startedMs = this.#nowMs();
    let expirations = 0;
    let endTurn: (() => void) | undefined;
    for (let attempt = 1;; attempt++) {
      const tx = new SqliteTransaction(this.#home);
      let conflict: Conflict;
      let isSubmitted = false;
      try {
        const value = await body(tx);
        tx.end();
        if (!tx.isExpired) {
          isSubmitted = true;
          conflict = await this.#commit(tx);
          if (conflict === undefined) {
            if (!this.#isDurable(tx.readsAt)) await this.#untilDurable();
            return value;
          }
        }
      } catch (error) {
        tx.end();
        // What a body throws because its reads were refused is no word of its own. What a commit
        // says is final, however long it took: run again, it could land twice.
        if (isSubmitted || !tx.isExpired) throw error;
      } finally {
        endTurn?.();
        endTurn = undefined;
      }
      if (conflict === undefined) {
        if (++expirations >= expirationsMax) refuseExpired();
        continue;
      }
      if (this.#nowMs() - startedMs > conflictsMaxMs) {
        throw new EngineUnavailable(
          `The transaction lost against others ${attempt} times in ${
            conflictsMaxMs / 1000
          } seconds`,
        );
      }
      endTurn = await this.#turns.take(conflict);
    }
  }

  #commit(tx: SqliteTransaction): Promise<Conflict> | undefined {
    // What only read has seen one version, and so is where that version is in the order.
    if (!tx.hasWrites) return undefined;
    tx.checkSize();
    return new Promise((resolve, reject) => {
      this.#queue.push({ tx, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    // What waits during a sync, or while the log is held, is the next group.
    if (this.#queue.length === 0 || this.#isScheduled) return;
    if (this.#syncing !== undefined || this.#checkpoints.isHeld()) return;
    this.#isScheduled = true;
    const delayMs = this.#checkpoints.delayMs();
    if (delayMs > 0) setTimeout(() => this.#commitGroup(), delayMs);
    else this.#yieldBriefly().then(() => this.#commitGroup());
  }

  #commitGroup(): void {
    this.#isScheduled = false;
    if (this.#checkpoints.isHeld()) return;
    this.#commitWaiting();
    this.#schedule();
  }

  #commitWaiting(): void {
    if (this.#isClosed || this.#broken !== undefined) {
      const refusal = this.#broken ?? new EngineClosed("The engine is closed");
      for (const { reject } of this.#queue.splice(0)) reject(refusal);
      return;
    }
    const group = this.#chooser.take(this.#queue);
    const version = this.#version + 1;
    const written = occ.openWrittenGroup();
    const accepted: Waiting[] = [];
    for (const one of group) {
      const { guards, readsAt } = one.tx;
      const conflict = readsAt === undefined
        ? undefined
        : occ.findConflict(this.#log, written, guards, readsAt);
      if (conflict !== undefined) {
        this.#conflicts++;
        one.resolve(conflict);
        continue;
      }
      one.tx.stampAndNote(version, accepted.length, written);
      accepted.push(one);
    }
    if (accepted.length > 0) this.#store(version, accepted, written);
  }

  /** Writes a group and has it synced and acknowledged, or rejects all of it. */
  #store(version: number, accepted: readonly Waiting[], written: occ.WrittenGroup): void {
    let failure: EngineUnavailable | undefined;
    try {
      this.#views.beforeCommit(this.#nowMs());
      const buffers = accepted.map(({ tx }) => tx.buffer);
      const isBySingleKeys = buffers.every(({ cleared }) => cleared.length === 0);
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
    // A commit that landed although it threw is seen by readers, so it is synced all the same.
    const acknowledged = failure === undefined ? accepted : [];
    if (this.#version === version) this.#syncing = this.#sync(version, acknowledged, written);
  }

  /** Never rejects: a sync that fails breaks the engine. */
  async #sync(
    version: number,
    accepted: readonly Waiting[],
    written: occ.WrittenGroup,
  ): Promise<void> {
    try {
      await this.#file.sync();
      this.#durableVersion = version;
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
    // Where it cannot be flushed now, what is in the log must be on the disk all the same.
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

  /** What was read of a commit that is still being synced must not be told before it is kept. */
  #isDurable(version: number | undefined): boolean {
    return version === undefined || version <= this.#durableVersion;
  }

  async #untilDurable(): Promise<void> {
    await this.#syncing;
    if (this.#broken !== undefined) throw this.#broken;
  }

  /** After a commit that failed only the store knows whether it took place. */
  #storedVersion(): number {
    try {
      return this.#file.readVersion();
    } catch {
      return this.#version;
    }
  }

  #oldestReadVersion(): number {
    let oldest = this.#views.oldestVersion(this.#version);
    for (const { tx } of this.#queue) oldest = Math.min(oldest, tx.readsAt ?? oldest);
    return oldest;
  }

  #refuseClosed(): void {
    if (this.#broken !== undefined) throw this.#broken;
    if (this.#closing !== undefined) throw new EngineClosed("The engine is closed");
  }
}
