/** Runs one turn of a runner: asks the questions, sends missing modules, handles a lost runner. */

import type { TurnEnd } from "../runners/dispatcher.ts";
import type { Frame } from "../runners/frame.ts";
import type { Job, Turn } from "./job.ts";
import type { RunnerAnswer, RunnerRequest } from "./messages.ts";
import { RunnerGoneError, type RunnerProcess } from "../runners/runner_process.ts";

type Runner = RunnerProcess<RunnerRequest, RunnerAnswer>;

/** Compiling a module of the largest size takes a tenth of this. */
const LOAD_MS_MAX = 5_000;
const RETRY_AFTER_MS = 1_000;
/** What a call costs beside the time that its runner measures. */
const OVERHEAD_MS = 0.05;
/** The cost of starting a runner in place of one that was ended. */
const RESTART_MS = 100;

let groups = 0;

/**
 * Runs one job, and sends the modules that the runner lacks. Never rejects: failures go to the
 * job. Calls `free` when the runner has done its part, before the asker is answered, because
 * the asker may call again at once.
 */
export async function tryTurn(
  runner: Runner,
  job: Job,
  free: () => void,
): Promise<TurnEnd> {
  let startedMs = performance.now();
  let turn: Turn | undefined;
  try {
    turn = job.nextTurn();
    let answer = await runner.ask([turn])[0]!;
    while (answer.message.kind === "missing") {
      const { digest } = answer.message;
      const body = await job.moduleOf(digest).load();
      const message = { kind: "module", digest } as const;
      answer = await runner.ask([{ message, body, withinMs: LOAD_MS_MAX }])[0]!;
      if (answer.message.kind !== "loaded") break;
      startedMs = performance.now();
      answer = await runner.ask([turn])[0]!;
    }
    free();
    return endOf(job, answer);
  } catch (error) {
    return afterError(job, turn, error, performance.now() - startedMs);
  }
}

/**
 * Runs several short jobs as one group and returns an end for each. A job goes on if another
 * one held it up, if its module is not there, or if a job before it loses the runner. Never
 * rejects.
 */
export async function tryTurns(
  runner: Runner,
  jobs: readonly Job[],
  free: () => void,
): Promise<TurnEnd[]> {
  const group = groups++;
  const turns = jobs.map((job) => job.nextTurn());
  const questions = turns.map((turn) => ({ ...turn, message: { ...turn.message, group } }));
  const answers = runner.ask(questions);
  // If the runner is lost, all of them reject at once, but they are awaited one by one. Without
  // this, the others would be unhandled rejections.
  for (const answer of answers) answer.catch(() => {});
  const ends: TurnEnd[] = [];
  let startedMs = performance.now();
  for (const [index, job] of jobs.entries()) {
    try {
      const answer = await answers[index]!;
      if (index === jobs.length - 1) free();
      ends.push(endInGroup(job, answer));
      startedMs = performance.now();
    } catch (error) {
      ends.push(afterError(job, turns[index]!, error, performance.now() - startedMs));
      while (ends.length < jobs.length) ends.push(goOn(0));
      break;
    }
  }
  return ends;
}

function endInGroup(job: Job, answer: Frame<RunnerAnswer>): TurnEnd {
  const { kind } = answer.message;
  if (kind === "missing") job.takeSmallTurns();
  return kind === "missing" || kind === "skipped" ? goOn(OVERHEAD_MS) : endOf(job, answer);
}

function endOf(job: Job, answer: Frame<RunnerAnswer>): TurnEnd {
  const usedMs = answer.message.tookMs + OVERHEAD_MS;
  const done = doneBeforeTimeout(answer);
  if (done === undefined) return { usedMs, ending: "in_time", goesOn: !job.take(answer) };
  const tell = () => void job.take(answer);
  return { usedMs, ending: "timed_out", goesOn: false, blamed: job.laneAfter(done), tell };
}

/** How many calls of the turn ended before the one that timed out; undefined if none did. */
function doneBeforeTimeout({ message }: Frame<RunnerAnswer>): number | undefined {
  const isTimeout = message.kind === "failed" && message.failure.kind === "wasm_timeout";
  return isTimeout ? message.done : undefined;
}

function goOn(usedMs: number): TurnEnd {
  return { usedMs, ending: "untried", goesOn: true };
}

function afterError(job: Job, turn: Turn | undefined, error: unknown, usedMs: number): TurnEnd {
  if (error instanceof RunnerGoneError && turn !== undefined) {
    return error.isDisplaced ? afterDisplacement(job, usedMs) : afterLoss(job, turn, usedMs);
  }
  job.throw(error);
  return { usedMs, ending: "untried", goesOn: false };
}

/** The runner was taken for others: the job is tried once more, on its own. */
function afterDisplacement(job: Job, usedMs: number): TurnEnd {
  const goesOn = job.displacementsLeft-- > 0;
  if (goesOn) job.takeSmallTurns();
  else stopJob(job, "The module ran long while others waited");
  return { usedMs: usedMs + RESTART_MS, ending: "displaced", goesOn };
}

/**
 * Ends a turn whose runner was killed because it was late, or ended by itself. The latter has
 * two causes: the interruption came at the moment at which the call ended (see
 * `call_module.ts`), or the platform failed.
 */
function afterLoss(job: Job, { timeoutMs }: Turn, usedMs: number): TurnEnd {
  if (timeoutMs === undefined) {
    // The next turns, of one event each, show which event it was.
    job.takeSmallTurns();
    return goOn(usedMs);
  }
  if (usedMs >= timeoutMs) {
    const message = `The module did not end within ${timeoutMs} ms, and its runner was ended`;
    const tell = () => job.failTimeout(message);
    return { usedMs: usedMs + RESTART_MS, ending: "timed_out", goesOn: false, tell };
  }
  if (job.lossesLeft-- > 0) return goOn(usedMs);
  // A module that brings runners down is paused like one that does not end.
  return { ...stopJob(job, "The process that ran the module ended"), usedMs, ending: "timed_out" };
}

/** Answers the job with `unavailable`: it was not tried, or not to its end. */
export function stopJob(job: Job, message: string): TurnEnd {
  job.stop({ kind: "unavailable", message, retryAfterMs: RETRY_AFTER_MS });
  return { usedMs: 0, ending: "untried", goesOn: false };
}
