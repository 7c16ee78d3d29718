/**
 * Runs heavy, pure computation in separate processes, never on the thread that asks. It is for
 * work whose size a client chooses and that cannot be cut into time slices. A few processes are
 * started on demand, ended when idle, and shared fairly between instances.
 *
 *     const outcome = await pool.run(instance, {
 *       head: { kind: "fold", foldHash, units, baseBytes },
 *       lane: `${foldHash}/${stream}`,
 *       input: () => piecesOf(...),
 *     });
 *
 * A job must end within its time: otherwise its process is killed and the job is `late`. If a
 * process ends during a job, it has most likely run out of memory, and the job is `lost`.
 */

import { Bug } from "../domain/assert.ts";
import { limits } from "../domain/limits.ts";
import {
  openDispatcher,
  type PoolMeasure,
  type TurnedAway,
  type TurnEnd,
} from "../runners/dispatcher.ts";
import type { Ending } from "../runners/fair_queue.ts";
import type { Frame } from "../runners/frame.ts";
import {
  denoCommand,
  type RunnerCommand,
  RunnerGoneError,
  type RunnerProcess,
} from "../runners/runner_process.ts";
import type { ComputeAnswer, ComputeKind, ComputeRequest, HeadOf, ResultOf } from "./messages.ts";

export interface ComputeJob<K extends ComputeKind> {
  readonly head: HeadOf<K>;
  /** Jobs of one lane are paused together when one of them does not end in time. */
  readonly lane: string;
  /** The input from its beginning; called again if the process is lost. */
  input(): Iterable<InputPiece> | AsyncIterable<InputPiece>;
  /** The time from its first turn to its last byte; `limits.computeMsMax` by default. */
  readonly withinMs?: number;
}

export interface InputPiece {
  readonly name: string;
  /** At most `PIECE_BYTES_MAX`, unless it is one indivisible text. */
  readonly bytes: Uint8Array;
}

export type ComputeOutcome<K extends ComputeKind> =
  | {
    readonly kind: "done";
    readonly result: ResultOf<K>;
    readonly bytes: Uint8Array<ArrayBuffer>;
  }
  /** It did not end in time, or its lane is paused because earlier jobs did not. */
  | { readonly kind: "late"; readonly reason: string }
  /** Its process ended during the job: it needs too much memory. */
  | { readonly kind: "lost"; readonly reason: string }
  /** It was not tried, or not to its end, for a reason outside the job. */
  | { readonly kind: "unavailable"; readonly reason: string };

export interface ComputePool {
  /** Runs a job for `instance`, to which its time is charged. Rejects if its input does. */
  run<K extends ComputeKind>(instance: string, job: ComputeJob<K>): Promise<ComputeOutcome<K>>;
  measure(): PoolMeasure;
  /** Ends the processes; jobs that still wait or run are answered. */
  close(): Promise<void>;
}

export interface ComputePoolSettings {
  /** Maximum number of processes. */
  readonly runners: number;
  /** Folder of the package cache, if it is not this Deno's default one. */
  readonly cacheFolder?: string;
  /** Replaces the ordinary program. */
  readonly command?: RunnerCommand;
  onFault(error: unknown): void;
}

type Runner = RunnerProcess<ComputeRequest, ComputeAnswer>;

interface Job {
  readonly tenant: string;
  readonly job: ComputeJob<ComputeKind>;
  lane(): string;
  isShort(): boolean;
  /** How often it has lost its process. */
  losses: number;
  settle(outcome: ComputeOutcome<ComputeKind>): void;
  reject(error: unknown): void;
}

/** The heap limit of a process. With the bytes beside the heap it stays below 300 MiB in all. */
const HEAP_MEGABYTES = 176;
/** If a process is lost sooner than this, the job may not be the reason: it is tried once more. */
const RETRY_MS_MAX = 500;
const NOTHING = new Uint8Array(0);

export function openComputePool(settings: ComputePoolSettings): ComputePool {
  const { submit, measure, close } = openDispatcher<Job, ComputeRequest, ComputeAnswer>({
    command: settings.command ?? computeCommand(settings.cacheFolder),
    limits: {
      runners: settings.runners,
      waitingPerTenantMax: limits.computeWaitingPerInstanceMax,
      waitMsMax: limits.computeWaitMsMax,
      groupMax: 1,
    },
    run: async (runner, jobs, free) => [await runJob(runner, jobs[0]!, free)],
    turnAway: ({ settle }, reason) => settle(outcomeOf(reason)),
    onFault: settings.onFault,
  });

  function run<K extends ComputeKind>(
    instance: string,
    job: ComputeJob<K>,
  ): Promise<ComputeOutcome<K>> {
    return new Promise((resolve, reject) => {
      // The result has the job's own kind.
      const settle = resolve as (outcome: ComputeOutcome<ComputeKind>) => void;
      const queued = { lane: () => job.lane, isShort: () => false, losses: 0 };
      submit({ tenant: instance, job, ...queued, settle, reject });
    });
  }

  return { run, measure, close };
}

/** No permissions: packages come from the cache, never from the network. */
function computeCommand(cacheFolder: string | undefined): RunnerCommand {
  const program = new URL("./compute_main.ts", import.meta.url);
  const flags = [`--max-old-space-size=${HEAP_MEGABYTES}`, "--max-semi-space-size=4"];
  const packages = { config: new URL("../../deno.json", import.meta.url), cacheFolder };
  return denoCommand(program, {
    engineFlags: flags,
    memoryBytesMax: limits.computeProcessBytesMax,
    packages,
  });
}

async function runJob(runner: Runner, queued: Job, free: () => void): Promise<TurnEnd> {
  const startedMs = performance.now();
  const usedMs = () => performance.now() - startedMs;
  const { withinMs = limits.computeMsMax } = queued.job;
  try {
    const outcome = await converse(runner, queued.job, startedMs + withinMs);
    free();
    queued.settle(outcome);
    return ended("in_time", usedMs());
  } catch (error) {
    if (error instanceof RunnerGoneError) return afterLoss(queued, error, usedMs(), withinMs);
    free();
    queued.reject(error);
    return ended("in_time", usedMs());
  }
}

/** Runs one job on one process, piece by piece. */
async function converse(
  runner: Runner,
  { head, input }: ComputeJob<ComputeKind>,
  endMs: number,
): Promise<ComputeOutcome<ComputeKind>> {
  async function ask(message: ComputeRequest, bytes: Uint8Array = NOTHING) {
    const withinMs = Math.max(1, endMs - performance.now());
    const body = bytes as Uint8Array<ArrayBuffer>;
    const answer = await runner.ask([{ message, body, withinMs }])[0]!;
    if (answer.message.kind === "broken") throw new Bug(answer.message.reason);
    return answer;
  }
  await ask({ kind: "begin", head });
  for await (const { name, bytes } of input()) {
    const { message } = await ask({ kind: "piece", name }, bytes);
    if (message.kind === "taken" && message.isOver) break;
  }
  const { message, body } = await ask({ kind: "end" });
  if (message.kind !== "done") throw new Bug(`unexpected answer ${message.kind}`);
  const bytes = await readRest(message.bytes, body, () => ask({ kind: "more" }));
  return { kind: "done", result: message.result, bytes };
}

async function readRest(
  length: number,
  first: Uint8Array<ArrayBuffer>,
  more: () => Promise<Frame<ComputeAnswer>>,
): Promise<Uint8Array<ArrayBuffer>> {
  if (first.length === length) return first;
  const whole = new Uint8Array(length);
  whole.set(first);
  for (let end = first.length; end < length;) {
    const { body } = await more();
    whole.set(body, end);
    end += body.length;
  }
  return whole;
}

/**
 * Ends a turn whose process was killed because its time was up, or ended by itself: then most
 * likely for lack of memory.
 */
function afterLoss(
  queued: Job,
  { isLate }: RunnerGoneError,
  usedMs: number,
  withinMs: number,
): TurnEnd {
  if (isLate) {
    queued.settle({ kind: "late", reason: `It did not end within ${withinMs} ms` });
    return ended("timed_out", usedMs);
  }
  const isFresh = queued.losses++ === 0 && usedMs < RETRY_MS_MAX;
  if (isFresh) return { ...ended("untried", usedMs), goesOn: true };
  queued.settle({ kind: "lost", reason: "Its process ended with it: it needs too much memory" });
  return ended("timed_out", usedMs);
}

function ended(ending: Ending, usedMs: number): TurnEnd {
  return { usedMs, ending, goesOn: false };
}

function outcomeOf(reason: TurnedAway): ComputeOutcome<ComputeKind> {
  switch (reason.kind) {
    case "closing":
      return { kind: "unavailable", reason: "The server is shutting down" };
    case "queue_full":
      return { kind: "unavailable", reason: "Too much work of this instance is waiting" };
    case "no_runner":
      return { kind: "unavailable", reason: "No process can be started for it now" };
    case "paused":
    case "waited": {
      const { timeoutsInARow: times } = reason;
      if (times === 0) {
        return { kind: "unavailable", reason: "This server has too much to compute" };
      }
      const text = `It did not end in time ${times} times in a row, and is tried less often now`;
      return { kind: "late", reason: text };
    }
  }
}
