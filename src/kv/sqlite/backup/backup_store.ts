/**
 * A backup of the embedded store, while it is written. First the database file is read from its
 * beginning to its end, with whatever the checkpoints make of it meanwhile; they note which pages
 * they move. Those are read again, and so on, until they are few. Then everything is moved once
 * more while commits are held, and the last pages are put aside while nothing is moved. Put over
 * what was read of them before, they are the store as of that moment.
 *
 * Reading costs the calling thread nothing but the passing on of pieces. Commits are held once, as
 * for any checkpoint.
 */

import { Worker } from "node:worker_threads";
import { type Backup, type BackupPiece, EngineClosed, EngineUnavailable } from "../../engine.ts";
import type { SealedPages } from "../checkpoint_pass.ts";
import type { Checkpoints } from "../checkpoints.ts";
import { removeIfThere } from "../synced_folder.ts";
import { type CopyAnswer, type CopyRequest, spoolPath } from "./pages_piece.ts";

/**
 * A megabyte takes some milliseconds of the processor, here and where it is sent. Beside steady
 * writes a backup rests for the longest after each, and makes 10 MB/s.
 */
const BYTES_WITHOUT_REST = 1024 * 1024;
const REST_MS_MAX = 100;
const REST_MS_PER_COMMIT = 6;
/** So few pages are put aside in some milliseconds. */
const FEW_PAGES = 2_000;
/** Beside many writes and a slow reader they do not become few; then more are put aside. */
const ROUNDS_MAX = 5;
/** Interval of the timer that keeps a process alive. */
const ALIVE_MS = 1_000;

export interface Backups {
  run(): Backup;
  /** Ends the running backup, which fails. */
  close(): Promise<void>;
}

export function openBackups(
  storePath: string,
  checkpoints: Pick<Checkpoints, "noteMoved" | "takeMoved" | "seal" | "resume">,
  { nowMs, version }: { readonly nowMs: () => number; readonly version: () => number },
): Backups {
  const copier = openPageCopier(storePath);
  let isRunning = false;

  async function* run(): Backup {
    if (isRunning) throw new EngineUnavailable("Another backup of this store is running");
    isRunning = true;
    // The threads that work for it do not keep the process alive.
    const alive = setInterval(() => {}, ALIVE_MS);
    try {
      await checkpoints.noteMoved();
      yield* paced(copier.read("begin"));
      for (let round = 0; round < ROUNDS_MAX; round++) {
        const again = await checkpoints.takeMoved();
        yield* paced(copier.read({ again }));
        if (again.length < FEW_PAGES) break;
      }
      // Commits that came in before this are in it.
      const beforeMs = nowMs();
      const sealed = await checkpoints.seal();
      await copier.spool(sealed);
      checkpoints.resume();
      yield* paced(copier.read({ rest: sealed }));
      return { version: BigInt(sealed.version), ageMs: nowMs() - beforeMs };
    } finally {
      isRunning = false;
      clearInterval(alive);
      checkpoints.resume();
      removeIfThere(spoolPath(storePath));
    }
  }

  /** Rests now and then, the longer the more was committed since the last time. */
  async function* paced(
    pieces: AsyncGenerator<BackupPiece, void>,
  ): AsyncGenerator<BackupPiece, void> {
    let before = version();
    let bytes = 0;
    for await (const piece of pieces) {
      yield piece;
      bytes += piece.bytes.length;
      if (bytes < BYTES_WITHOUT_REST) continue;
      bytes = 0;
      const commits = version() - before;
      before += commits;
      const restMs = Math.min(commits * REST_MS_PER_COMMIT, REST_MS_MAX);
      if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
    }
  }

  return { run, close: copier.close };
}

/** Asks the thread that reads the database file (`copy_worker.ts`) for piece after piece. */
interface PageCopier {
  /** Throws if a page is damaged. */
  read(part: CopyRequest): AsyncGenerator<BackupPiece, void>;
  /** Resolves when the last pages are put aside. */
  spool(sealed: SealedPages): Promise<void>;
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
    read,
    async spool(sealed) {
      const answer = await ask({ spool: sealed });
      if ("failure" in answer) throw new EngineUnavailable(answer.failure);
    },
    async close() {
      isClosed = true;
      const ended = worker;
      worker = undefined;
      for (const one of waiting.splice(0)) one.reject(new EngineClosed("The engine is closed"));
      await ended?.terminate();
    },
  };
}
