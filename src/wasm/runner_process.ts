/**
 * One runner, seen from the pool: a child process that runs modules. A process and not a thread,
 * because only a process can be ended whatever it does (a thread of this platform that spins cannot),
 * has a stack of its own size, takes nobody along when it runs out of memory, and holds none of our
 * permissions. A question and its answer take about as long as they would with a thread (30 us).
 */

import { encodeFrame, type Frame, frameReader } from "./frame.ts";
import type { RunnerAnswer, RunnerRequest } from "./messages.ts";

/** What to start. */
export interface RunnerCommand {
  readonly path: string;
  readonly args: readonly string[];
}

export interface RunnerProcess {
  readonly pid: number;
  /**
   * Sends one request and gives its answer. A runner that does not answer within `withinMs` is
   * killed. Rejects with {@link RunnerGoneError} where it ended, for whatever reason. One at a time.
   */
  ask(
    message: RunnerRequest,
    body: Uint8Array,
    withinMs: number,
  ): Promise<Frame<RunnerAnswer>>;
  /** Resolves when it can be asked again; rejects when it is gone. */
  untilReady(): Promise<void>;
  kill(): void;
  /** Resolves when the process has ended. Never rejects. */
  readonly ended: Promise<void>;
}

export class RunnerGoneError extends Error {
  /** @param isLate true where it was killed because it did not answer in time. */
  constructor(readonly isLate: boolean) {
    super("the runner ended without an answer");
    this.name = "RunnerGoneError";
  }
}

/** V8 needs so much of the stack for what is not the module's; fewer, and Deno does not start. */
const STACK_KILOBYTES_OWN = 48;
const HEAP_MEGABYTES = 512;
const START_MS_MAX = 10_000;
/** A timer that comes later than this: this process stood still, and the answer may be here. */
const LATE_MS = 15;

/** The ordinary runner: this Deno, without permissions, with a stack of so many KiB for modules. */
export function runnerCommand(stackKilobytes: number): RunnerCommand {
  const flags = [
    `--stack-size=${stackKilobytes + STACK_KILOBYTES_OWN}`,
    `--max-old-space-size=${HEAP_MEGABYTES}`,
    "--wasm-max-mem-pages=1024",
    "--expose-gc",
  ];
  const program = new URL("./runner_main.ts", import.meta.url);
  const options = ["--no-prompt", "--no-config", "--no-lock", "--no-remote", "--no-npm"];
  const args = ["run", ...options, `--v8-flags=${flags.join(",")}`, program.href];
  return { path: Deno.execPath(), args };
}

/** Starts a runner and waits until it can be asked. Throws where it cannot be started. */
export async function startRunner(command: RunnerCommand): Promise<RunnerProcess> {
  const child = new Deno.Command(command.path, {
    args: [...command.args],
    clearEnv: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const runner = connect(child);
  const timer = setTimeout(() => runner.kill(), START_MS_MAX);
  try {
    await runner.untilReady();
    return runner;
  } catch (error) {
    await runner.ended;
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

interface Waiting<T> {
  resolve(value: T): void;
  reject(error: unknown): void;
}

function connect(child: Deno.ChildProcess): RunnerProcess {
  const input = child.stdin.getWriter();
  let isReady = false;
  let isGone = false;
  let isLate = false;
  let answer: Waiting<Frame<RunnerAnswer>> | undefined;
  let ready: Waiting<void> | undefined;

  function take(frame: Frame<RunnerAnswer>): void {
    if (frame.message.kind === "ready") {
      isReady = true;
      ready?.resolve();
      ready = undefined;
      return;
    }
    isReady = !frame.message.pauses;
    answer?.resolve(frame);
    answer = undefined;
  }

  function kill(): void {
    if (isGone) return;
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended by itself in this moment.
    }
  }

  function leave(): void {
    isGone = true;
    const error = new RunnerGoneError(isLate);
    answer?.reject(error);
    ready?.reject(error);
    answer = ready = undefined;
  }

  async function ask(message: RunnerRequest, body: Uint8Array, withinMs: number) {
    if (isGone) throw new RunnerGoneError(false);
    const answered = new Promise<Frame<RunnerAnswer>>((resolve, reject) => {
      answer = { resolve, reject };
    });
    const stopWatch = watch(withinMs, () => {
      isLate = true;
      kill();
    });
    // Where the pipe is broken, the process has ended, and `leave` tells.
    input.write(encodeFrame(message, body)).catch(kill);
    try {
      return await answered;
    } finally {
      stopWatch();
    }
  }

  const reading = readFrames(child.stdout, take).catch(kill);
  const ended = Promise.all([reading, child.status]).then(leave).then(() => {
    input.close().catch(() => {});
  });
  return {
    pid: child.pid,
    ask,
    untilReady() {
      if (isGone) return Promise.reject(new RunnerGoneError(isLate));
      if (isReady) return Promise.resolve();
      return new Promise((resolve, reject) => ready = { resolve, reject });
    },
    kill,
    ended,
  };
}

async function readFrames(
  stream: ReadableStream<Uint8Array>,
  take: (frame: Frame<RunnerAnswer>) => void,
): Promise<void> {
  const frames = frameReader<RunnerAnswer>();
  for await (const piece of stream) {
    frames.push(piece);
    for (let frame = frames.next(); frame !== undefined; frame = frames.next()) take(frame);
  }
}

/** Calls `run` after so long, unless stopped; later where this process itself stood still. */
function watch(milliseconds: number, run: () => void): () => void {
  const dueMs = performance.now() + milliseconds;
  let timer = setTimeout(() => {
    if (performance.now() < dueMs + LATE_MS) run();
    else timer = setTimeout(run, LATE_MS);
  }, milliseconds);
  return () => clearTimeout(timer);
}
