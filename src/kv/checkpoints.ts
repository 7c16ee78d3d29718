/**
 * Keeps the log of the SQLite engine short: a worker moves most of it while commits go on, and then
 * what came in meanwhile, a little, while they are held, after which SQLite starts the log anew.
 * Without that last pass a log under steady load would never end. The calling thread never waits
 * for the disk: what is held is the commit, not the requests before it. And the hold is short: the
 * log is on the disk before it begins, so only the database is synced, once.
 */

import { Worker } from "node:worker_threads";
import { EngineUnavailable } from "./engine.ts";
import { giveUpSums } from "./page_notes.ts";
import type { SqliteFile } from "./sqlite_file.ts";
import { SQLITE_SIZES } from "./sqlite_sizes.ts";

export interface Checkpoints {
  /** Starts a pass if the log is long enough. */
  afterCommit(): void;
  /** True while a pass needs the log to stay as it is; `onRelease` is called when it ends. */
  isHeld(): boolean;
  /** How long to wait before the next commit, in milliseconds: longer as the log grows. */
  delayMs(): number;
  /**
   * Moves all of the log and empties it: what was overwritten since is nowhere any more. Ends what
   * reads at old versions. Rejects where the log could not be emptied.
   */
  empty(): Promise<void>;
  /**
   * Waits for the pass that runs, a while, and ends the worker. False where it still runs: what it
   * moves is not known to be on the disk, so nothing of the log may be cut.
   */
  close(): Promise<boolean>;
}

/**
 * Pages of the database for which the log is as short as that. In a larger one the next write of a
 * page is farther away, and each pass moves it again: so all bounds of the log grow with it.
 */
const databasePages = 8 * SQLITE_SIZES.startFrames;
const growthMax = 4;
const delayMsMax = 10;
/** How often a process that waits for a pass is kept from ending. */
const aliveMs = 1_000;

export interface CheckpointHome {
  /** Ends what reads at old versions: while it does, no log can end. */
  giveUpOldVersions(): void;
  /** Puts all that was committed into the log; false where that cannot be now. Never throws. */
  flush(): boolean;
  /** The same, and resolves when the log is on the disk; with false where it may not be. */
  untilFlushed(): Promise<boolean>;
  /** Commits may go on. */
  onRelease(): void;
  /** The disk did not confirm the database: the log, which has it all, must not be started anew. */
  onBroken(cause: unknown): void;
  /** Sums of pages could not be kept. The store goes on without. */
  onUnnoted(reason: string): void;
}

/** Passes that are made to empty a log before that is given up. */
const emptyPassesMax = 10;

/** Somebody who waits for the log to be empty, and how many passes were made for that. */
interface Emptying {
  passes: number;
  resolve(): void;
  reject(error: Error): void;
}

/** What the worker is asked for, and what it answers. */
export type PassRequest = "pass" | "finish";
export type PassAnswer =
  /** Pages of the log that are in the database now. */
  | {
    readonly moved: number;
    /** Why their sums could not be kept; see `page_notes.ts`. */
    readonly unnoted?: string;
  }
  /** Nothing is lost: the log only grows, and the next pass tries again. */
  | { readonly failure: string }
  /** Pages were moved, and nobody knows whether they are on the disk. */
  | { readonly unsynced: string };

/** What the worker runs; another one for tests of a worker that dies. */
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

  function start(): void {
    isBusy = true;
    stayAlive();
    // Made when first needed: most processes that open a store are tests and commands.
    worker ??= openWorker();
    const request: PassRequest = isHeld ? "finish" : "pass";
    worker.postMessage(request);
  }

  /** The worker alone keeps no process from ending whose commits wait for it; a timer does. */
  function stayAlive(): void {
    alive ??= setInterval(() => {}, aliveMs);
  }

  function openWorker(): Worker {
    const opened = new Worker(program, { workerData: { path: file.path } });
    opened.unref();
    opened.on("message", (answer: PassAnswer) => {
      if ("unsynced" in answer) home.onBroken(answer.unsynced);
      if ("moved" in answer && answer.unnoted !== undefined) home.onUnnoted(answer.unnoted);
      endPass("moved" in answer ? answer.moved : undefined);
    });
    const lose = (cause: unknown) => {
      // Heard twice: of its error, and of its end.
      if (worker !== opened) return;
      worker = undefined;
      // What it moved in a finish counts as moved, and nobody knows whether it is on the disk.
      if (isHeld) home.onBroken(cause);
      // Nor whether it has noted what it moved.
      else if (isBusy) home.onUnnoted(giveUpSums(file.path, cause));
      // One that cannot start is tried again with the next pass.
      if (isBusy) endPass(undefined);
    };
    opened.on("error", lose);
    opened.on("exit", () => lose(new Error("The thread of the checkpoints ended")));
    return opened;
  }

  /** @param pages of the log that are in the database now; undefined after a failure. */
  function endPass(pages: number | undefined): void {
    // What is not in the log yet is moved too, and must be little when commits are held for it.
    const moved = isHeld || home.flush() ? pages : undefined;
    const frames = file.logFrames();
    const isTooLong = frames > growth * logFramesMax;
    const isWanted = isTooLong || emptying.length > 0;
    const isNearEnd = moved !== undefined && (isWanted || frames - moved <= finishFrames);
    if (isNearEnd && !isHeld && !isClosed) {
      if (isWanted) home.giveUpOldVersions();
      // Who comes later has the next turn: old versions may not have been given up in this one.
      isEmptying = emptying.length > 0;
      isHeld = true;
      // Pages of a log that may be lost must not be moved.
      home.untilFlushed().then((isSynced) => isSynced ? start() : endPass(undefined));
      return;
    }
    if (isEmptying) endEmptying(moved === frames && file.truncateLog());
    else if (moved === undefined) endEmptying(false);
    isHeld = isBusy = isEmptying = false;
    growth = growthOf(file);
    if (emptying.length === 0) {
      clearInterval(alive);
      alive = undefined;
    }
    home.onRelease();
    if (isClosed) onIdle?.();
    else if (emptying.length > 0) start();
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

  function passEnd(): Promise<void> {
    return new Promise((resolve) => {
      // The worker alone does not keep the process from ending; the timer does.
      const timer = setTimeout(resolve, passMsMax);
      onIdle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  return {
    afterCommit() {
      if (!isBusy && file.logFrames() >= growth * startFrames) start();
    },
    isHeld: () => isHeld || (isBusy && file.logFrames() > growth * logFramesMax),
    delayMs: () => Math.min(delayMsMax, Math.ceil((file.logFrames() - growth * slowFrames) / 1000)),
    async empty() {
      await new Promise<void>((resolve, reject) => {
        emptying.push({ passes: 0, resolve, reject });
        stayAlive();
        if (!isBusy) start();
      });
    },
    async close() {
      isClosed = true;
      if (isBusy) await passEnd();
      clearInterval(alive);
      if (isBusy) return false;
      const ended = worker;
      worker = undefined;
      await ended?.terminate();
      return true;
    },
  };
}

/** How many times as long as that of a small database the log may be. */
export function growthOf(file: Pick<SqliteFile, "databasePages">): number {
  return Math.min(Math.max(1, file.databasePages() / databasePages), growthMax);
}
