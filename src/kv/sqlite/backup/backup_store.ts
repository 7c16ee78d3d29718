/**
 * A backup of the embedded store, while it is written. First the database file is read from its
 * beginning to its end, with whatever the checkpoints make of it meanwhile; they keep each page
 * that they move. Then everything is moved once more while commits are held. The kept pages
 * replace what was read of them, and the result is the store as of that moment.
 *
 * Reading costs the calling thread nothing but the passing on of pieces, and commits are held once,
 * as for any checkpoint.
 */

import { Worker } from "node:worker_threads";
import { type Backup, type BackupPiece, EngineClosed, EngineUnavailable } from "../../engine.ts";
import type { SealedPages } from "../checkpoint_pass.ts";
import type { Checkpoints } from "../checkpoints.ts";
import { movedPagesPath, removeMovedPages } from "./moved_pages.ts";
import type { CopyAnswer, CopyRequest } from "./pages_piece.ts";

/** Interval of the timer that keeps a process alive. */
const ALIVE_MS = 1_000;

export interface Backups {
  run(): Backup;
  /** Ends the running backup, which fails. */
  close(): Promise<void>;
}

export function openBackups(
  storePath: string,
  checkpoints: Pick<Checkpoints, "keepMoved" | "seal" | "dropMoved">,
): Backups {
  const copier = openPageCopier(storePath);
  let isRunning = false;

  async function* run(): Backup {
    if (isRunning) throw new EngineUnavailable("Another backup of this store is running");
    isRunning = true;
    // The threads that work for it do not keep the process alive.
    const alive = setInterval(() => {}, ALIVE_MS);
    try {
      await checkpoints.keepMoved(movedPagesPath(storePath));
      yield* copier.base();
      const sealed = await checkpoints.seal();
      yield* copier.rest(sealed);
      return { version: BigInt(sealed.version) };
    } finally {
      isRunning = false;
      clearInterval(alive);
      checkpoints.dropMoved();
      removeMovedPages(storePath);
    }
  }

  return { run, close: copier.close };
}

/** Asks the thread that reads the database file (`copy_worker.ts`) for piece after piece. */
interface PageCopier {
  /** The database file as it is while it is read. */
  base(): AsyncGenerator<BackupPiece, void>;
  /** The pages that were moved meanwhile, and the end. Throws if a page is damaged. */
  rest(sealed: SealedPages): AsyncGenerator<BackupPiece, void>;
  /** Ends the thread. What is asked for ends with {@link EngineClosed}. */
  close(): Promise<void>;
}

/** Pieces that are read ahead of the one that is taken. */
const AHEAD = 2;

function openPageCopier(storePath: string): PageCopier {
  let worker: Worker | undefined;
  let isClosed = false;
  /** Callers that wait for an answer, in order. */
  const waiting: PromiseWithResolvers<CopyAnswer>[] = [];

  function open(): Worker {
    const program = new URL("./copy_worker.ts", import.meta.url);
    const opened = new Worker(program, { workerData: { path: storePath } });
    opened.on("message", (answer: CopyAnswer) => waiting.shift()?.resolve(answer));
    const lose = (cause: unknown) => {
      if (worker !== opened) return;
      worker = undefined;
      for (const one of waiting.splice(0)) {
        one.reject(new EngineUnavailable("The thread of the backup ended", { cause }));
      }
    };
    opened.on("error", lose);
    opened.on("exit", () => lose(new Error("It exited")));
    opened.unref();
    return opened;
  }

  function ask(request: CopyRequest): Promise<CopyAnswer> {
    if (isClosed) throw new EngineClosed("The engine is closed");
    const one = Promise.withResolvers<CopyAnswer>();
    // If the one before it fails, nobody waits for this one.
    one.promise.catch(() => {});
    worker ??= open();
    waiting.push(one);
    worker.postMessage(request);
    return one.promise;
  }

  async function* read(first: CopyRequest): AsyncGenerator<BackupPiece, void> {
    const ahead = [ask(first)];
    try {
      for (;;) {
        while (ahead.length < AHEAD) ahead.push(ask("next"));
        const answer = await ahead.shift()!;
        if ("isEnd" in answer) return;
        if ("failure" in answer) throw new EngineUnavailable(answer.failure);
        yield answer;
      }
    } finally {
      await Promise.allSettled(ahead);
    }
  }

  return {
    base: () => read("begin"),
    rest: (sealed) => read(sealed),
    async close() {
      isClosed = true;
      const ended = worker;
      worker = undefined;
      for (const one of waiting.splice(0)) one.reject(new EngineClosed("The engine is closed"));
      await ended?.terminate();
    },
  };
}
