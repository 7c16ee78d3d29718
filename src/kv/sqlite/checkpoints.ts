/**
 * Keeps the WAL of the SQLite engine short by moving its pages to the database on a worker.
 *
 * The worker moves most of the WAL while commits go on. Then it moves the little that came in
 * meanwhile, while commits are held, after which SQLite restarts the WAL. Without that last
 * pass, a WAL under steady load would never end. The calling thread never waits for the disk:
 * commits are held, not the requests before them. The hold is short, because the WAL is on disk
 * before it begins and only the database is synced, once.
 */

import type { CheckpointAnswer, PassRequest, SealedPages } from "./checkpoint_pass.ts";
import { Worker } from "node:worker_threads";
import { EngineClosed, EngineUnavailable } from "../engine.ts";
import { giveUpSums } from "./pages/page_notes.ts";
import type { SqliteFile } from "./file.ts";
import { SQLITE_SIZES } from "./sizes.ts";

export interface Checkpoints {
  /** Starts the worker before there is a pass for it. */
  startWorker(): unknown;
  /** Starts a pass if the WAL is long enough. */
  afterCommit(): void;
  /** True while a pass needs the WAL to stay as it is; `onRelease` is called when that ends. */
  isHeld(): boolean;
  /** How long to wait before the next commit, in milliseconds: longer as the WAL grows. */
  delayMs(): number;
  /**
   * Moves all of the WAL to the database and empties it, so that overwritten data is left in
   * neither. Ends reads at old versions. Rejects if the WAL could not be emptied.
   */
  empty(): Promise<void>;
  /** Notes which pages are moved from now on. */
  noteMoved(): Promise<void>;
  /**
   * The numbers of the pages that were moved since this was called last, or since the noting began.
   * Rejects if not all are known.
   */
  takeMoved(): Promise<Uint32Array>;
  /**
   * Moves all of the WAL, once. Resolves with the moment at which everything was in the database
   * file, and moves nothing more until `resume`. Ends the noting.
   */
  seal(): Promise<SealedPages>;
  resume(): void;
  /**
   * Waits a limited time for the running pass and for the worker to close its connections, and
   * ends the worker. Resolves with false if the pass still runs or a connection is open: the pages
   * it moves are not known to be on disk, so nothing of the WAL may be cut.
   */
  close(): Promise<boolean>;
}

/**
 * Size of a database, in pages, up to which the bounds of the WAL apply as they are. In a larger
 * database the next write to a page is farther away, and each pass moves the page again. So all
 * bounds of the WAL grow with the database.
 */
const databasePages = 8 * SQLITE_SIZES.startFrames;
const growthMax = 4;
const delayMsMax = 10;
/** How long a close waits for the worker, which may only be starting, to close its connections. */
const endMsMax = 5_000;
/** Interval of the timer that keeps a process alive while it waits for a pass. */
const aliveMs = 1_000;

export interface CheckpointHome {
  /** Ends reads at old versions: while they last, the WAL cannot be restarted. */
  giveUpOldVersions(): void;
  /** Puts all committed data into the WAL; false if that is not possible now. Never throws. */
  flush(): boolean;
  /** Like `flush`, but resolves when the WAL is on disk; with false if it may not be. */
  untilFlushed(): Promise<boolean>;
  /** Called when commits may go on. */
  onRelease(): void;
  /**
   * The disk did not confirm the sync of the database. Only the WAL is sure to have everything,
   * so it must not be restarted.
   */
  onBroken(cause: unknown): void;
  /** Page checksums could not be kept. The store goes on without them. */
  onUnnoted(reason: string): void;
}

/** How many passes may try to empty the WAL before the attempt is given up. */
const emptyPassesMax = 10;

/** A caller that waits for the WAL to be empty, and how many passes were made for it. */
interface Emptying {
  passes: number;
  resolve(): void;
  reject(error: Error): void;
}

/** The worker's program; tests pass one that dies. */
const WORKER_PROGRAM = new URL("./checkpoint_worker.ts", import.meta.url);

export function openCheckpoints(
  file: SqliteFile,
  home: CheckpointHome,
  program: URL = WORKER_PROGRAM,
): Checkpoints {
  const { startFrames, finishFrames, slowFrames, logFramesMax, passMsMax } = file.bounds;
  let worker: Worker | undefined;
  let isBusy = false;
  let isHeld = false;
  let isClosed = false;
  let onIdle: (() => void) | undefined;
  let emptying: Emptying[] = [];
  let isEmptying = false;
  let alive: ReturnType<typeof setInterval> | undefined;
  let growth = growthOf(file);
  let taking: PromiseWithResolvers<Uint32Array> | undefined;
  /** The database file must stay as it is. */
  let isPaused = false;
  let sealing: PromiseWithResolvers<SealedPages> | undefined;
  let onEnded: (() => void) | undefined;

  function start(): void {
    isBusy = true;
    stayAlive();
    ask(isHeld ? "finish" : "pass");
  }

  function ask(request: PassRequest): void {
    startWorker().postMessage(request);
  }

  /** The worker does not keep the process alive while commits wait for it, so a timer does. */
  function stayAlive(): void {
    alive ??= setInterval(() => {}, aliveMs);
  }

  /** Holds the thread for some 60 ms, so a server does it before it answers requests. */
  function startWorker(): Worker {
    return worker ??= openWorker();
  }

  function openWorker(): Worker {
    const opened = new Worker(program, { workerData: { path: file.path } });
    opened.unref();
    opened.on("message", (answer: CheckpointAnswer) => {
      if ("taken" in answer) {
        if (typeof answer.taken === "string") return taking?.reject(notNoted(answer.taken));
        return taking?.resolve(answer.taken);
      }
      if ("isEnded" in answer) return onEnded?.();
      if ("unsynced" in answer) home.onBroken(answer.unsynced);
      if ("moved" in answer && answer.unnoted !== undefined) home.onUnnoted(answer.unnoted);
      const sealed = "moved" in answer ? answer.sealed : undefined;
      if (typeof sealed === "string") sealing?.reject(notNoted(sealed));
      else if (sealed !== undefined) {
        isPaused = true;
        sealing?.resolve(sealed);
      }
      endPass("moved" in answer ? answer.moved : undefined);
    });
    const lose = (cause: unknown) => {
      // Called twice for one worker: for its error and for its exit.
      if (worker !== opened) return;
      worker = undefined;
      taking?.reject(notNoted(String(cause)));
      sealing?.reject(notNoted(String(cause)));
      // What it moved in a finishing pass counts as moved, but may not be on disk.
      if (isHeld) home.onBroken(cause);
      // In any other pass it is only unknown whether it noted what it moved.
      else if (isBusy) home.onUnnoted(giveUpSums(file.path, cause));
      // A worker that cannot start is tried again with the next pass.
      if (isBusy) endPass(undefined);
      onEnded?.();
    };
    opened.on("error", lose);
    opened.on("exit", () => lose(new Error("The thread of the checkpoints ended")));
    return opened;
  }

  /** @param pages of the WAL that are in the database now; undefined after a failure. */
  function endPass(pages: number | undefined): void {
    // Data that is not in the WAL yet has to be moved as well, and there must be little of it
    // when commits are held. So it is flushed before the frames are counted.
    const moved = isHeld || home.flush() ? pages : undefined;
    const frames = file.logFrames();
    const isTooLong = frames > growth * logFramesMax;
    const isWanted = isTooLong || emptying.length > 0;
    const isNearEnd = moved !== undefined && (isWanted || frames - moved <= finishFrames);
    if (isNearEnd && !isHeld && !isClosed) {
      if (isWanted) home.giveUpOldVersions();
      // Later callers wait for the next turn: this one may not have given up old versions.
      isEmptying = emptying.length > 0;
      isHeld = true;
      // Pages of a WAL that may be lost must not be moved.
      home.untilFlushed().then((isSynced) => isSynced ? start() : endPass(undefined));
      return;
    }
    if (isEmptying) endEmptying(moved === frames && truncate());
    else if (moved === undefined) endEmptying(false);
    isHeld = isBusy = isEmptying = false;
    growth = growthOf(file);
    if (emptying.length === 0) {
      clearInterval(alive);
      alive = undefined;
    }
    home.onRelease();
    if (isClosed) onIdle?.();
    else if (emptying.length > 0 && !isPaused) start();
  }

  /** Never throws: if the disk does not confirm that the logs are empty, the store is broken. */
  function truncate(): boolean {
    try {
      return file.truncateLog();
    } catch (cause) {
      home.onBroken(cause);
      return false;
    }
  }

  function endEmptying(isEmpty: boolean): void {
    const waiting = emptying;
    emptying = [];
    for (const one of waiting) {
      one.passes++;
      if (isEmpty) one.resolve();
      else if (isClosed || one.passes >= emptyPassesMax) {
        one.reject(new EngineUnavailable("The log could not be emptied"));
      } else emptying.push(one);
    }
  }

  /** Resolves with false if that took longer. */
  function within(maxMs: number, whenDone: (done: () => void) => void): Promise<boolean> {
    return new Promise((resolve) => {
      // The worker does not keep the process alive; this timer does.
      const timer = setTimeout(() => resolve(false), maxMs);
      whenDone(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }

  /**
   * The connections of a terminated worker are closed some time after it, and while one is open
   * SQLite neither empties nor removes the WAL. So the worker closes them first.
   */
  async function endWorker(): Promise<boolean> {
    const ended = worker;
    if (ended === undefined) return true;
    const isEnded = await within(endMsMax, (done) => {
      onEnded = done;
      ask("end");
    });
    worker = undefined;
    await ended.terminate();
    return isEnded;
  }

  function empty(): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      emptying.push({ passes: 0, resolve, reject });
      stayAlive();
      if (!isBusy && !isPaused) start();
    });
  }

  function take(request: "noteMoved" | "takeMoved"): Promise<Uint32Array> {
    taking = Promise.withResolvers();
    ask(request);
    return taking.promise;
  }

  return {
    startWorker,
    async noteMoved() {
      await take("noteMoved");
    },
    takeMoved: () => take("takeMoved"),
    seal() {
      const one = sealing = Promise.withResolvers<SealedPages>();
      ask("seal");
      empty().catch(one.reject);
      return one.promise;
    },
    resume() {
      isPaused = false;
      worker?.postMessage("drop" satisfies PassRequest);
      if (emptying.length > 0 && !isBusy && !isClosed) start();
      home.onRelease();
    },
    afterCommit() {
      if (!isBusy && !isPaused && file.logFrames() >= growth * startFrames) start();
    },
    isHeld: () => isHeld || ((isBusy || isPaused) && file.logFrames() > growth * logFramesMax),
    delayMs: () => Math.min(delayMsMax, Math.ceil((file.logFrames() - growth * slowFrames) / 1000)),
    empty,
    async close() {
      isClosed = true;
      if (isBusy) await within(passMsMax, (done) => onIdle = done);
      clearInterval(alive);
      if (isBusy) return false;
      const end = new EngineClosed("The engine is closed");
      taking?.reject(end);
      sealing?.reject(end);
      return await endWorker();
    },
  };
}

function notNoted(reason: string): EngineUnavailable {
  return new EngineUnavailable(`It is not known what changed during the backup: ${reason}`);
}

/** The factor by which the WAL may be longer than that of a small database. */
export function growthOf(file: Pick<SqliteFile, "databasePages">): number {
  return Math.min(Math.max(1, file.databasePages() / databasePages), growthMax);
}
