/**
 * One runner, as the pool sees it: a child process that runs what users bring.
 *
 * It is a process and not a thread for these reasons: only a process can be ended whatever it
 * does (a thread of this platform that spins cannot), it has a stack of its own size, it takes
 * nothing else down when it runs out of memory, and it has no permissions but those it is
 * given. A question and its answer take no longer than with a thread.
 */

import { newAlarm } from "./alarm.ts";
import { encodeFrame, type Frame, frameReader, joinBytes } from "./frame.ts";
import { limitMemory, type RunnerCommand } from "./memory_limit.ts";

export type { RunnerCommand };

/** The fields of every answer. There is one answer for each request, and `ready` at the start. */
export interface AnswerMessage {
  readonly kind: string;
  readonly tookMs: number;
  /** The runner cleans up before the next request, and then says `ready` again. */
  readonly pauses: boolean;
}

/** `Q` is the type of request messages, `A` that of answer messages. */
export interface RunnerProcess<Q, A extends AnswerMessage> {
  readonly pid: number;
  /**
   * Sends requests and returns their answers, in order. The runner is killed if it does not
   * give the first answer within its `withinMs`, or a later one within its own after the one
   * before. Answers reject with {@link RunnerGoneError} if the runner has ended, for whatever
   * reason.
   */
  ask(questions: readonly Question<Q>[]): Promise<Frame<A>>[];
  /** Whether it can be asked now: it is there, and is not cleaning up. */
  isReady(): boolean;
  /** Resolves when it can be asked again; rejects if it is gone. */
  untilReady(): Promise<void>;
  kill(): void;
  /** Kills it to make room for work that others wait for. */
  displace(): void;
  /** Resolves when the process has ended. Never rejects. */
  readonly ended: Promise<void>;
}

export interface Question<Q> extends Frame<Q> {
  readonly withinMs: number;
}

export class RunnerGoneError extends Error {
  /**
   * @param why `late`: no answer in time; `displaced`: killed to make room; `lost`: any other
   * end.
   */
  constructor(readonly why: "late" | "displaced" | "lost") {
    super("the runner ended without an answer");
    this.name = "RunnerGoneError";
  }

  get isLate(): boolean {
    return this.why === "late";
  }

  get isDisplaced(): boolean {
    return this.why === "displaced";
  }
}

const START_MS_MAX = 10_000;
const CLEAN_UP_MS_MAX = 1_000;
/** If the timer fires later than this, this process itself stood still: the answer may be here. */
const LATE_MS = 15;

/** Folders that a program may read or write. */
export interface Permissions {
  readonly read?: string;
  readonly write?: string;
}

/** Where a program finds the packages that it imports: only in the cache of this Deno. */
export interface Packages {
  /** `deno.json`, which names them; `deno.lock` beside it pins their content. */
  readonly config: URL;
  /** The folder of the cache, if it is not this Deno's default one. */
  readonly cacheFolder?: string;
}

const WITHOUT_PACKAGES = ["--no-config", "--no-lock", "--no-remote", "--no-npm"];

export interface DenoOptions {
  readonly engineFlags: readonly string[];
  readonly memoryBytesMax: number;
  readonly permissions?: Permissions;
  readonly packages?: Packages;
}

/**
 * The command that runs one of our programs with this Deno, with no permissions but those
 * given, and with at most `memoryBytesMax` of memory of its own.
 */
export function denoCommand(
  program: URL,
  { engineFlags, memoryBytesMax, permissions = {}, packages }: DenoOptions,
): RunnerCommand {
  const options = ["--no-prompt", ...packageOptions(packages)];
  // A single comma would begin another folder.
  const allowed = Object.entries(permissions).map(([what, folder]) =>
    `--allow-${what}=${folder.replaceAll(",", ",,")}`
  );
  const flags = `--v8-flags=${engineFlags.join(",")}`;
  const args = ["run", ...options, ...allowed, flags, program.href];
  const cacheFolder = packages?.cacheFolder;
  const env: Record<string, string> = cacheFolder === undefined ? {} : { DENO_DIR: cacheFolder };
  return limitMemory({ path: Deno.execPath(), args, env }, memoryBytesMax);
}

function packageOptions(packages: Packages | undefined): readonly string[] {
  if (packages === undefined) return WITHOUT_PACKAGES;
  return [`--config=${decodeURIComponent(packages.config.pathname)}`, "--frozen", "--cached-only"];
}

/** Starts a runner and waits until it can be asked. Throws if it cannot be started. */
export async function startRunner<Q, A extends AnswerMessage>(
  command: RunnerCommand,
): Promise<RunnerProcess<Q, A>> {
  const child = new Deno.Command(command.path, {
    args: [...command.args],
    clearEnv: true,
    env: command.env,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const runner = connect<Q, A>(child);
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

interface Asked<A> extends Waiting<Frame<A>> {
  readonly withinMs: number;
}

function connect<Q, A extends AnswerMessage>(child: Deno.ChildProcess): RunnerProcess<Q, A> {
  const input = child.stdin.getWriter();
  let isReady = false;
  let isGone = false;
  let why: RunnerGoneError["why"] = "lost";
  let dueMs = 0;
  const watch = newAlarm(onLate);
  const asked: Asked<A>[] = [];
  let ready: Waiting<void> | undefined;

  function take(frame: Frame<A>): void {
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

  /** Starts the time limit of the first unanswered question. */
  function watchFirst(moreMs: number): void {
    if (asked.length === 0) return watch.unset();
    dueMs = performance.now() + asked[0]!.withinMs + moreMs;
    watch.set(dueMs);
  }

  function onLate(): void {
    const nowMs = performance.now();
    // This process itself stood still: the answer may be here and must be read first.
    if (nowMs > dueMs + LATE_MS) {
      dueMs = nowMs + LATE_MS;
      return watch.set(dueMs);
    }
    why = "late";
    kill();
  }

  function displace(): void {
    if (asked.length > 0) why = "displaced";
    kill();
  }

  function kill(): void {
    if (isGone) return;
    try {
      child.kill("SIGKILL");
    } catch {
      // It has ended by itself at this moment.
    }
  }

  function leave(): void {
    isGone = true;
    watch.close();
    const error = new RunnerGoneError(why);
    for (const { reject } of asked.splice(0)) reject(error);
    ready?.reject(error);
    ready = undefined;
  }

  function ask(questions: readonly Question<Q>[]): Promise<Frame<A>>[] {
    if (isGone) return questions.map(() => Promise.reject(new RunnerGoneError(why)));
    const isFirst = asked.length === 0;
    const answers = questions.map(({ withinMs }) =>
      new Promise<Frame<A>>((resolve, reject) => asked.push({ resolve, reject, withinMs }))
    );
    if (isFirst) watchFirst(0);
    const frames = questions.map(({ message, body }) => encodeFrame(message, body));
    // If the pipe is broken, the process has ended, and `leave` rejects the answers.
    input.write(frames.length === 1 ? frames[0]! : joinBytes(frames)).catch(kill);
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
      if (isGone) return Promise.reject(new RunnerGoneError(why));
      if (isReady) return Promise.resolve();
      return new Promise((resolve, reject) => ready = { resolve, reject });
    },
    kill,
    displace,
    ended,
  };
}

async function readFrames<A>(
  stream: ReadableStream<Uint8Array>,
  take: (frame: Frame<A>) => void,
): Promise<void> {
  const frames = frameReader<A>();
  // A reader, because an iterator over the stream is slower for each piece.
  const reader = stream.getReader();
  for (;;) {
    const { value: piece, done } = await reader.read();
    if (done) return;
    frames.push(piece);
    for (let frame = frames.next(); frame !== undefined; frame = frames.next()) take(frame);
  }
}
