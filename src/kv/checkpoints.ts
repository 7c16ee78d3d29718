/**
 * Keeps the log of the SQLite engine short without stopping its commits: a worker moves most of
 * it, and what came in meanwhile, a little, is moved between two commits, after which SQLite
 * starts the log anew. Without that last step a log under steady load would never end.
 */

import { Worker } from "node:worker_threads";
import type { SqliteFile } from "./sqlite_file.ts";

export interface Checkpoints {
  /** Starts a pass if the log is long enough. */
  afterCommit(): void;
  /** How long to wait before the next commit, in milliseconds: longer as the log grows. */
  delayMs(): number;
  /** Waits for the pass that runs and ends the worker. */
  close(): Promise<void>;
}

/** Pages in the log from which on a pass is worth it. */
const startFrames = 3000;
/** So many take some 10 ms on the committing thread; 800 took 100 in a database of 3 GB. */
const finishFrames = 200;
/** From here on commits wait for the passes: many short pauses instead of a long one. */
const slowFrames = 8000;
const delayMsMax = 10;
/** A pass that takes longer is not waited for when closing: SQLite can be stopped anywhere. */
const passMsMax = 1_000;
/** A log so long is finished there however long that takes, and old versions are given up. */
const logFramesMax = 16_000;

/** @param giveUpOldVersions ends what reads at old versions: while it does, no log can end. */
export function openCheckpoints(file: SqliteFile, giveUpOldVersions: () => void): Checkpoints {
  let worker: Worker | undefined;
  let isBusy = false;
  let isClosed = false;
  let onIdle: (() => void) | undefined;

  function start(): void {
    isBusy = true;
    // Made when first needed: most processes that open a store are tests and commands.
    worker ??= openWorker();
    worker.postMessage("pass");
  }

  function openWorker(): Worker {
    const opened = new Worker(new URL("./checkpoint_worker.ts", import.meta.url), {
      workerData: { path: file.path },
    });
    opened.unref();
    opened.on("message", ({ moved }: { moved: number }) => endPass(moved));
    // A worker that cannot start is tried again with the next pass.
    opened.on("error", () => {
      worker = undefined;
      endPass(0);
    });
    return opened;
  }

  function endPass(moved: number): void {
    const frames = file.logFrames();
    const isTooLong = frames > logFramesMax;
    if (isTooLong) giveUpOldVersions();
    if (frames - moved <= finishFrames || isTooLong) finish();
    isBusy = false;
    if (isClosed) onIdle?.();
  }

  function finish(): void {
    try {
      file.checkpoint();
    } catch {
      // Nothing is lost: the log only grows, and the next pass tries again.
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
      if (!isBusy && file.logFrames() >= startFrames) start();
    },
    delayMs: () => Math.min(delayMsMax, Math.ceil((file.logFrames() - slowFrames) / 1000)),
    async close() {
      isClosed = true;
      if (isBusy) await passEnd();
      await worker?.terminate();
    },
  };
}
