/**
 * One runner, seen from the pool: a child process that runs modules. A process and not a thread,
 * because only a process can be ended whatever it does (a thread of this platform that spins
 * cannot), has a stack of its own size, takes nobody along when it runs out of memory, and holds
 * none of our permissions. A question and its answer take no longer than with a thread (30 us).
 */

import { newAlarm } from "./alarm.ts";
import { encodeFrame, type Frame, frameReader, joinBytes } from "./frame.ts";
import type { RunnerAnswer, RunnerRequest } from "./messages.ts";

/** What to start. */
export interface RunnerCommand {
  readonly path: string;
  readonly args: readonly string[];
}

export interface RunnerProcess {
  readonly pid: number;
  /**
   * Sends requests and gives their answers, in order. A runner that does not answer the first, or
   * the next after an answer, within its `withinMs` is killed. Answers reject with
   * {@link RunnerGoneError} where it ended, for whatever reason.
   */
  ask(questions: readonly Question[]): Promise<Frame<RunnerAnswer>>[];
  /** Can be asked now: it is there, and does not clean up. */
  isReady(): boolean;
  /** Resolves when it can be asked again; rejects when it is gone. */
  untilReady(): Promise<void>;
  kill(): void;
  /** Resolves when the process has ended. Never rejects. */
  readonly ended: Promise<void>;
}

export interface Question extends Frame<RunnerRequest> {
  readonly withinMs: number;
}

export class RunnerGoneError extends Error {
  /** @param isLate true where it was killed because it did not answer in time. */
  constructor(readonly isLate: boolean) {
    super("the runner ended without an answer");
    this.name = "RunnerGoneError";
  }
}

/** V8 needs so much of the stack for what is not the module's; fewer, and Deno does not start. */
const STACK_KILOBYTES_OWN = 32;
const HEAP_MEGABYTES = 512;
const START_MS_MAX = 10_000;
const CLEAN_UP_MS_MAX = 1_000;
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

interface Asked extends Waiting<Frame<RunnerAnswer>> {
  readonly withinMs: number;
}

function connect(child: Deno.ChildProcess): RunnerProcess {
  const input = child.stdin.getWriter();
  let isReady = false;
  let isGone = false;
  let isLate = false;
  let dueMs = 0;
  const watch = newAlarm(onLate);
  const asked: Asked[] = [];
  let ready: Waiting<void> | undefined;

  function take(frame: Frame<RunnerAnswer>): void {
    if (frame.message.kind === "ready") {
      isReady = true;
      ready?.resolve();
      ready = undefined;
      return;
    }
    isReady = !frame.message.pauses;
    asked.shift()?.resolve(frame);
    watchFirst(frame.message.pauses ? CLEAN_UP_MS_MAX : 0);
  }

  /** The first that is not answered has its time from now on. */
  function watchFirst(moreMs: number): void {
    if (asked.length === 0) return watch.unset();
    dueMs = performance.now() + asked[0]!.withinMs + moreMs;
    watch.set(dueMs);
  }

  function onLate(): void {
    const nowMs = performance.now();
    // This process itself stood still: the answer may be here, and is read first.
    if (nowMs > dueMs + LATE_MS) {
      dueMs = nowMs + LATE_MS;
      return watch.set(dueMs);
    }
    isLate = true;
    kill();
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
    watch.close();
    const error = new RunnerGoneError(isLate);
    for (const { reject } of asked.splice(0)) reject(error);
    ready?.reject(error);
    ready = undefined;
  }

  function ask(questions: readonly Question[]): Promise<Frame<RunnerAnswer>>[] {
    if (isGone) return questions.map(() => Promise.reject(new RunnerGoneError(isLate)));
    const isFirst = asked.length === 0;
    const answers = questions.map(({ withinMs }) =>
      new Promise<Frame<RunnerAnswer>>((resolve, reject) =>
        asked.push({ resolve, reject, withinMs })
      )
    );
    if (isFirst) watchFirst(0);
    const frames = questions.map(({ message, body }) => encodeFrame(message, body));
    // Where the pipe is broken, the process has ended, and `leave` tells.
    input.write(joinBytes(frames)).catch(kill);
    return answers;
  }

  const reading = readFrames(child.stdout, take).catch(kill);
  const ended = Promise.all([reading, child.status]).then(leave).then(() => {
    input.close().catch(() => {});
  });
  return {
    pid: child.pid,
    ask,
    isReady: () => isReady && !isGone,
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
