/**
 * Runs queries in separate processes, never on the thread that asks.
 *
 * A running SQLite statement cannot be interrupted from outside; only its process can be
 * killed. A few processes run at once, shared fairly between instances, with a bounded queue.
 * See docs/reference/queries.md.
 */

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
import { hasRoom, watchRoom } from "./copies_folder.ts";
import type { QueryAnswer, QueryRequest } from "./query_messages.ts";

export type QueryOutcome =
  /** The fields of the reply as JSON text in UTF-8, without the braces. */
  | { readonly kind: "rows"; readonly fields: Uint8Array<ArrayBuffer> }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "copy_unfit"; readonly isDamaged: boolean; readonly reason: string }
  /** The statement did not end in time, or is tried less often because it did not before. */
  | { readonly kind: "timeout"; readonly reason: string }
  /** The statement was not run, or not to its end, for reasons other than itself. */
  | { readonly kind: "unavailable"; readonly reason: string };

export type Query = Omit<QueryRequest, "kind" | "spills">;

export interface QueryPool {
  /** `tenant`: the instance, not the environment, that the query's time is charged to. */
  run(tenant: string, request: Query): Promise<QueryOutcome>;
  measure(): PoolMeasure;
  close(): Promise<void>;
}

export interface QueryPoolSettings {
  /** Maximum number of processes. */
  readonly runners: number;
  /** The folder of the copies; the processes may read nothing else. */
  readonly folder: string;
  /** Time limit of a statement in milliseconds; `limits.sqlTimeoutMs` if absent. */
  readonly timeoutMs?: number;
  /** A command to start instead of the ordinary program. */
  readonly command?: RunnerCommand;
  onFault(error: unknown): void;
}

type Runner = RunnerProcess<QueryRequest, QueryAnswer>;

interface Job {
  readonly tenant: string;
  readonly query: Query;
  lane(): string;
  isShort(): boolean;
  /** How often it has lost its process, and how often it was displaced to make room for others. */
  losses: number;
  displacements: number;
  settle(outcome: QueryOutcome): void;
}

/** Milliseconds beyond the time limit, for opening the file and sending the rows. */
const GRACE_MS = 100;
/** The heap of V8 alone, for the rows and their text; more than any reply needs. */
const HEAP_MEGABYTES = 128;

export function openQueryPool(settings: QueryPoolSettings): QueryPool {
  const world = { folder: settings.folder, timeoutMs: settings.timeoutMs ?? limits.sqlTimeoutMs };
  const { submit, measure, close } = openDispatcher<Job, QueryRequest, QueryAnswer>({
    command: settings.command ?? queryCommand(settings.folder),
    limits: {
      runners: settings.runners,
      waitingPerTenantMax: limits.sqlWaitingPerTenantMax,
      waitMsMax: limits.sqlWaitMsMax,
      groupMax: 1,
    },
    displaces: true,
    run: async (runner, jobs, free) => [await runJob(runner, jobs[0]!, world, free)],
    turnAway: (job, reason) => job.settle(outcomeOf(reason)),
    onFault: settings.onFault,
  });
  return {
    run: (tenant, query) =>
      new Promise((settle) => {
        const lane = () => query.sql;
        submit({ tenant, query, lane, isShort: () => false, losses: 0, displacements: 0, settle });
      }),
    measure,
    close,
  };
}

function queryCommand(folder: string): RunnerCommand {
  const program = new URL("./query_main.ts", import.meta.url);
  const flags = [`--max-old-space-size=${HEAP_MEGABYTES}`];
  const command = denoCommand(program, {
    engineFlags: flags,
    memoryBytesMax: limits.sqlProcessBytesMax,
    permissions: { read: folder },
  });
  // SQLite's temporary files go there; Deno's permissions do not apply to them.
  return { ...command, env: { SQLITE_TMPDIR: folder } };
}

interface RunWorld {
  readonly folder: string;
  readonly timeoutMs: number;
}

async function runJob(
  runner: Runner,
  job: Job,
  { folder, timeoutMs }: RunWorld,
  free: () => void,
): Promise<TurnEnd> {
  const spills = await hasRoom(folder);
  const startedMs = performance.now();
  let isShort = false;
  const endWatch = watchRoom(folder, () => {
    isShort = spills;
    if (isShort) runner.kill();
  });
  try {
    const withinMs = timeoutMs + GRACE_MS;
    const message: QueryRequest = { kind: "query", ...job.query, spills };
    const answer = await runner.ask([{ message, body: new Uint8Array(0), withinMs }])[0]!;
    free();
    job.settle(outcomeOfAnswer(answer));
    return ended("in_time", answer.message.tookMs);
  } catch (error) {
    const usedMs = performance.now() - startedMs;
    return isShort ? afterShortage(job, usedMs) : afterLoss(job, error, usedMs, timeoutMs);
  } finally {
    endWatch();
  }
}

function afterShortage(job: Job, usedMs: number): TurnEnd {
  const reason =
    "The statement was stopped for the temporary files it needs: the disk is almost full";
  job.settle({ kind: "refused", reason });
  return ended("timed_out", usedMs);
}

function outcomeOfAnswer({ message, body }: Frame<QueryAnswer>): QueryOutcome {
  return message.kind === "rows" ? { kind: "rows", fields: body } : message;
}

/** The process was killed for its time, or ended by itself, most likely for lack of memory. */
function afterLoss(job: Job, error: unknown, usedMs: number, timeoutMs: number): TurnEnd {
  if (error instanceof RunnerGoneError && error.isDisplaced) return afterDisplacement(job, usedMs);
  if (error instanceof RunnerGoneError && error.isLate) {
    const reason = `The statement did not end within ${timeoutMs} ms and was stopped`;
    job.settle({ kind: "timeout", reason });
    return ended("timed_out", usedMs);
  }
  if (job.losses++ === 0) return { ...ended("untried", usedMs), goesOn: true };
  const reason = "The process that ran the statement ended twice: it may need too much memory";
  job.settle({ kind: "refused", reason });
  return ended("timed_out", usedMs);
}

/** Tries a displaced statement once more, after the tenants not known for long statements. */
function afterDisplacement(job: Job, usedMs: number): TurnEnd {
  const goesOn = job.displacements++ === 0;
  const reason = `The statement ran for ${Math.round(usedMs)} ms while others waited`;
  if (!goesOn) job.settle({ kind: "unavailable", reason });
  return { usedMs, ending: "displaced", goesOn };
}

function ended(ending: Ending, usedMs: number): TurnEnd {
  return { usedMs, ending, goesOn: false };
}

function outcomeOf(reason: TurnedAway): QueryOutcome {
  switch (reason.kind) {
    case "closing":
      return { kind: "unavailable", reason: "The server is shutting down" };
    case "queue_full":
      return { kind: "unavailable", reason: "Too many queries of this instance are waiting" };
    case "no_runner":
      return { kind: "unavailable", reason: "Queries cannot run now" };
    case "paused":
    case "waited": {
      const { timeoutsInARow: times } = reason;
      if (times === 0) {
        return { kind: "unavailable", reason: "The queries of this server take too long" };
      }
      const text = `The statement did not end in time ${times} times in a row, and is tried less ` +
        "often now";
      return { kind: "timeout", reason: text };
    }
  }
}
