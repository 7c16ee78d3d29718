/**
 * Talks to the process that writes copies: one process, one request at a time.
 *
 * The process starts when needed and ends when idle. If it ends during a request, the result is
 * `moved`, and the caller opens the copy again. Pages of tables that are being filled wait for
 * all other requests, which are small and which queries wait for. Every few requests a page
 * gets its turn nevertheless. Copies take turns, and a large table is dropped in many requests.
 */

import { openFairLine } from "../domain/fairness/fair_line.ts";
import { limits } from "../domain/limits.ts";
import { denoCommand, type RunnerCommand, RunnerGoneError } from "../runners/runner_process.ts";
import { runnerShelf } from "../runners/runner_shelf.ts";
import type { CopyAnswer, CopyRequest, CopyResult, CopyStep } from "./copy_messages.ts";

export interface CopyWriter {
  /**
   * Sends one request; `rows` is its body, as JSON text. If the process ends or cannot run, that
   * is a result; only an unexpected error rejects.
   */
  ask(request: CopyRequest, rows?: string): Promise<CopyResult>;
  /** The id of the process while there is one. */
  processIds(): number[];
  close(): Promise<void>;
}

export interface CopyWriterSettings {
  /** The folder of the copies; the process may read and write nothing else. */
  readonly folder: string;
  /** A command to start instead of the ordinary program. */
  readonly command?: RunnerCommand;
  onFault(error: unknown): void;
}

/** Opening a large file or dropping a large table takes seconds on a slow disk. */
const ANSWER_MS_MAX = 60_000;
const HEAP_MEGABYTES = 256;

/** Requests of other kinds that may overtake a waiting page. */
const REQUESTS_BEFORE_FILL = 8;

interface Asked {
  readonly request: CopyRequest;
  readonly body: Uint8Array<ArrayBuffer>;
  resolve(result: CopyResult): void;
  reject(error: unknown): void;
}

const encoder = new TextEncoder();
const NOTHING = new Uint8Array(0);

export function openCopyWriter(settings: CopyWriterSettings): CopyWriter {
  const command = settings.command ?? writerCommand(settings.folder);
  const shelf = runnerShelf<CopyRequest, CopyAnswer>(command, settings.onFault);
  /** By the paths of the copies. */
  const [fills, others] = [openFairLine<string>(), openFairLine<string>()];
  /** Requests since the last page. */
  let sinceFill = 0;
  let isBusy = false;

  function ask(request: CopyRequest, rows?: string): Promise<CopyResult> {
    const body = rows === undefined ? NOTHING : encoder.encode(rows);
    const { promise, resolve, reject } = Promise.withResolvers<CopyResult>();
    put({ request, body, resolve, reject });
    if (!isBusy) goOn();
    return promise;
  }

  function put(asked: Asked): void {
    const line = asked.request.kind === "fill" ? fills : others;
    line.push(asked.request.path, () => void work(asked));
  }

  function goOn(): void {
    const isFillDue = sinceFill >= REQUESTS_BEFORE_FILL;
    const [preferred, other] = isFillDue ? [fills, others] : [others, fills];
    const start = preferred.take(() => true) ?? other.take(() => true);
    isBusy = start !== undefined;
    start?.();
  }

  async function work(asked: Asked): Promise<void> {
    const { request, body, resolve, reject } = asked;
    sinceFill = request.kind === "fill" ? 0 : sinceFill + 1;
    try {
      const step = await askNow(request, body);
      if (step.kind !== "more") resolve(step);
      else {put({
          ...asked,
          request: { path: request.path, kind: "drop", names: [] },
          body: NOTHING,
        });}
    } catch (error) {
      reject(error);
    }
    goOn();
  }

  async function askNow(
    message: CopyRequest,
    body: Uint8Array<ArrayBuffer>,
  ): Promise<CopyStep> {
    const runner = await shelf.take();
    if (runner === undefined) {
      return { kind: "failed", reason: "the process that writes copies cannot run now" };
    }
    try {
      const question = { message, body, withinMs: ANSWER_MS_MAX };
      const { message: answer } = await runner.ask([question])[0]!;
      return answer;
    } catch (error) {
      if (!(error instanceof RunnerGoneError)) throw error;
      return { kind: "moved", reason: error.message };
    } finally {
      await shelf.putBack(runner);
    }
  }

  return { ask, processIds: shelf.processIds, close: shelf.close };
}

function writerCommand(folder: string): RunnerCommand {
  const program = new URL("./copy_main.ts", import.meta.url);
  const flags = [`--max-old-space-size=${HEAP_MEGABYTES}`];
  return denoCommand(program, {
    engineFlags: flags,
    memoryBytesMax: limits.sqlProcessBytesMax,
    permissions: { read: folder, write: folder },
  });
}
