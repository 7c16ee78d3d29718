/**
 * One turn of a job on a runner: the question, the modules that the runner has not got, and what it
 * means when the runner is lost.
 */

import type { Frame } from "./frame.ts";
import type { Job, Turn } from "./job.ts";
import type { RunnerAnswer } from "./messages.ts";
import { RunnerGoneError, type RunnerProcess } from "./runner_process.ts";

/** What became of a turn: whether its module was stopped for its time, and whether it goes on. */
export interface TurnEnd {
  readonly timedOut: boolean;
  readonly goesOn: boolean;
}

/** Compiling a module of the largest size takes a tenth of this. */
const LOAD_MS_MAX = 5_000;
const RETRY_AFTER_MS = 1_000;
const OVER: TurnEnd = { timedOut: false, goesOn: false };

/** Never rejects: what goes wrong is told to the job. */
export async function tryTurn(runner: RunnerProcess, job: Job): Promise<TurnEnd> {
  let askedMs = performance.now();
  let turn: Turn | undefined;
  try {
    turn = job.nextTurn();
    let answer = await runner.ask(turn.message, turn.body, turn.withinMs);
    while (answer.message.kind === "missing") {
      const { digest } = answer.message;
      const bytes = await job.moduleOf(digest).load();
      answer = await runner.ask({ kind: "module", digest }, bytes, LOAD_MS_MAX);
      if (answer.message.kind !== "loaded") break;
      askedMs = performance.now();
      answer = await runner.ask(turn.message, turn.body, turn.withinMs);
    }
    return { timedOut: isTimeout(answer), goesOn: !job.take(answer) };
  } catch (error) {
    if (error instanceof RunnerGoneError && turn !== undefined) {
      return afterLoss(job, turn, performance.now() - askedMs);
    }
    job.throw(error);
    return OVER;
  }
}

/** Answers that the job was not tried, or not to its end. */
export function stopJob(job: Job, message: string): TurnEnd {
  job.stop({ kind: "unavailable", message, retryAfterMs: RETRY_AFTER_MS });
  return OVER;
}

/**
 * A runner ends by itself in two cases: where its interruption came in the moment in which the call
 * ended (see `time_limit.ts`), and where the platform failed it.
 */
function afterLoss(job: Job, { timeoutMs }: Turn, elapsedMs: number): TurnEnd {
  if (timeoutMs === undefined) {
    // Which of the events it was, the next turns show.
    job.takeSmallTurns();
    return { timedOut: false, goesOn: true };
  }
  if (elapsedMs >= timeoutMs) {
    job.failTimeout(`The module did not end within ${timeoutMs} ms, and its runner was ended`);
    return { timedOut: true, goesOn: false };
  }
  if (job.lossesLeft-- > 0) return { timedOut: false, goesOn: true };
  stopJob(job, "The process that ran the module ended");
  return { timedOut: true, goesOn: false };
}

function isTimeout({ message }: Frame<RunnerAnswer>): boolean {
  return message.kind === "failed" && message.failure.kind === "wasm_timeout";
}
