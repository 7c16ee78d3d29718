/**
 * Runs modules in runner processes, never on the thread that asks. `runners/dispatcher.ts`
 * decides when; a module is sent to a runner that lacks it. See docs/reference/modules.md.
 *
 * A call ends within its limit: the runner stops the module, and if it does not, the pool ends
 * the runner. If a runner vanishes during a call, the call is tried once more, unless its time
 * was up.
 */

import { limits } from "../domain/limits.ts";
import type { OutputKind } from "../domain/wasm/call_output.ts";
import { createRecentTexts } from "../domain/recent_map.ts";
import type { WasmOutcome, WasmStop } from "../domain/wasm/failure.ts";
import {
  openDispatcher,
  type PoolMeasure,
  type TurnedAway,
  type TurnEnd,
} from "../runners/dispatcher.ts";
import type { Pause } from "../runners/fair_queue.ts";
import {
  callJob,
  checkJob,
  type CheckOutcome,
  foldJob,
  type Job,
  type Turn,
  type WasmEvent,
  type WasmTarget,
} from "./job.ts";
import type { RunnerAnswer, RunnerRequest } from "./messages.ts";
import {
  denoCommand,
  type RunnerCommand,
  RunnerGoneError,
  type RunnerProcess,
} from "../runners/runner_process.ts";
import type { Frame } from "../runners/frame.ts";

export interface WasmPool {
  /** Checks whether an uploaded file may be kept, and in what form. */
  checkModule(tenant: string, file: Uint8Array<ArrayBuffer>): Promise<CheckOutcome>;
  /**
   * Folds events, at least one, onto a state, and returns the JSON text of the new state. The
   * first event that fails stops the fold; `stop.place.eventIndex` says which it was.
   */
  foldEvents(
    tenant: string,
    stateJson: string,
    events: readonly WasmEvent[],
  ): Promise<WasmOutcome<string>>;
  /**
   * Makes one call with its own input. Returns the checked JSON text of `actions` (an array of
   * `ModuleAction`), `context` or `state`.
   */
  call(
    tenant: string,
    target: WasmTarget,
    output: OutputKind,
    inputJson: string,
  ): Promise<WasmOutcome<string>>;
  measure(): PoolMeasure;
  /** Ends the runners; jobs that still wait or run are answered with `unavailable`. */
  close(): Promise<void>;
}

export interface WasmPoolSettings {
  /** Maximum number of runner processes; one more than there are cores is right. */
  readonly runners: number;
  /** Stack of a call in KiB; see `limits.wasmStackKilobytesDefault`. */
  readonly stackKilobytes: number;
  /** Replaces the ordinary runner. */
  readonly command?: RunnerCommand;
  /** Called when a runner cannot be started. */
  onFault(message: string, error: unknown): void;
}

const WAITING_PER_TENANT_MAX = 256;
/**
 * States, events and inputs of all jobs that run or wait. One tenant has a quarter, or a single job
 * with more.
 */
const HELD_BYTES_MAX = 256 * 1024 * 1024;
const HELD_PARTS = 4;
const SUSPECTS_MAX = 1_000;
const RETRY_MS_MIN = 1_000;
const WAIT_MS_MAX = 2_000;
const GROUP_MAX = 16;
/** V8 needs this much stack beside the module's; with less, Deno does not start. */
const STACK_KILOBYTES_OWN = 32;
const HEAP_MEGABYTES = 160;

export function openWasmPool(settings: WasmPoolSettings): WasmPool {
  /** Lanes, by tenant, whose last call did not end in time. */
  const suspects = createRecentTexts<true>(SUSPECTS_MAX);
  const held = openHeldBytes();
  const { submit, measure, close } = openDispatcher<Job, RunnerRequest, RunnerAnswer>({
    command: settings.command ?? runnerCommand(settings.stackKilobytes),
    limits: {
      runners: settings.runners,
      waitingPerTenantMax: WAITING_PER_TENANT_MAX,
      waitMsMax: WAIT_MS_MAX,
      groupMax: GROUP_MAX,
      tellsPauses: true,
    },
    displaces: true,
    async run(runner, jobs, free) {
      const lanes = jobs.map((job) => job.lane());
      const ends = jobs.length === 1
        ? [await tryTurn(runner, jobs[0]!, free)]
        : await tryTurns(runner, jobs, free);
      for (const [index, { ending, blamed = lanes[index]! }] of ends.entries()) {
        const { tenant } = jobs[index]!;
        if (ending === "timed_out") suspects.set(`${tenant} ${blamed}`, true);
        else if (ending === "in_time") suspects.delete(`${tenant} ${lanes[index]!}`);
      }
      return ends;
    },
    turnAway,
    onFault: (error) => settings.onFault("a process for WebAssembly could not be started", error),
  });
  return {
    checkModule: (tenant, file) =>
      new Promise((settle, reject) => submit(checkJob({ tenant, settle, reject }, file))),
    foldEvents(tenant, stateJson, events) {
      // Who asks has the text of the state, and the job has its bytes.
      const texts = events.reduce((sum, { eventJson }) => sum + eventJson.length, 0);
      return held.within(tenant, 2 * stateJson.length + texts, (hold, settle, reject) => {
        const isSuspect = (lane: string) => suspects.has(`${tenant} ${lane}`);
        submit(foldJob({ tenant, settle, reject, hold }, stateJson, events, isSuspect));
      });
    },
    call: (tenant, target, output, inputJson) =>
      held.within(
        tenant,
        inputJson.length,
        (_, settle, reject) =>
          submit(callJob({ tenant, settle, reject }, target, output, inputJson)),
      ),
    measure,
    close,
  };
}

interface HeldBytes {
  /**
   * Runs a job that holds so many bytes, and more by calls of `hold`, until it is answered. Without
   * room for them it is not run, or has to end.
   */
  within(
    tenant: string,
    bytes: number,
    run: (
      hold: (bytes: number) => WasmStop | undefined,
      settle: (outcome: WasmOutcome<string>) => void,
      reject: (error: unknown) => void,
    ) => void,
  ): Promise<WasmOutcome<string>>;
}

function openHeldBytes(): HeldBytes {
  const byTenant = new Map<string, number>();
  let total = 0;

  function add(tenant: string, bytes: number): void {
    total += bytes;
    const ofTenant = (byTenant.get(tenant) ?? 0) + bytes;
    if (ofTenant === 0) byTenant.delete(tenant);
    else byTenant.set(tenant, ofTenant);
  }

  /** `own`: what the job holds already. */
  function fits(tenant: string, own: number, bytes: number): boolean {
    const ofTenant = byTenant.get(tenant) ?? 0;
    if (total > own && total + bytes > HELD_BYTES_MAX) return false;
    return ofTenant === own || ofTenant + bytes <= HELD_BYTES_MAX / HELD_PARTS;
  }

  return {
    async within(tenant, first, run) {
      let own = 0;
      function hold(bytes: number): WasmStop | undefined {
        if (bytes > 0 && !fits(tenant, own, bytes)) return NO_ROOM;
        own += bytes;
        add(tenant, bytes);
        return undefined;
      }
      const stop = hold(first);
      if (stop !== undefined) return { ok: false, stop };
      try {
        return await new Promise((settle, reject) => run(hold, settle, reject));
      } finally {
        add(tenant, -own);
      }
    },
  };
}

/** The command for this Deno without permissions, with the given stack for modules, in KiB. */
function runnerCommand(stackKilobytes: number): RunnerCommand {
  const program = new URL("./runner_main.ts", import.meta.url);
  const flags = [
    `--stack-size=${stackKilobytes + STACK_KILOBYTES_OWN}`,
    `--max-old-space-size=${HEAP_MEGABYTES}`,
    "--wasm-max-mem-pages=1024",
    "--expose-gc",
  ];
  return denoCommand(program, { engineFlags: flags, memoryBytesMax: limits.wasmProcessBytesMax });
}

function turnAway(job: Job, reason: TurnedAway): void {
  switch (reason.kind) {
    case "closing":
      return void stopJob(job, "The server is shutting down");
    case "queue_full":
      return void stopJob(job, "Too many WebAssembly calls of this instance are waiting");
    case "no_runner":
      return void stopJob(job, "WebAssembly cannot run now");
    case "waited":
      if (reason.timeoutsInARow > 0) tellPause(job, reason);
      else stopJob(job, "The WebAssembly calls of this server take too long");
      return;
    case "paused":
      tellPause(job, reason);
  }
}

function tellPause(job: Job, { timeoutsInARow, leftMs }: Pause): void {
  const often = timeoutsInARow === 1 ? "its last call" : `${timeoutsInARow} calls in a row`;
  const message = `The entrypoint '${job.entrypoint()}' is paused and was not called: ${often} ` +
    "did not end in time";
  const retryAfterMs = Math.max(RETRY_MS_MIN, leftMs);
  job.stop({ kind: "unavailable", message, retryAfterMs, isPaused: true });
}

type Runner = RunnerProcess<RunnerRequest, RunnerAnswer>;

const NO_ROOM: WasmStop = {
  kind: "unavailable",
  message: "The WebAssembly calls of this instance hold too much memory",
  retryAfterMs: RETRY_MS_MIN,
};

/** Compiling a module of the largest size takes a tenth of this. */
const LOAD_MS_MAX = 5_000;
const RETRY_AFTER_MS = 1_000;
/** What a call costs beside the time that its runner measures. */
const OVERHEAD_MS = 0.05;
/** The cost of starting a runner in place of one that was ended. */
const RESTART_MS = 100;

/** How many groups of jobs have run, for their names. */
let groups = 0;

/**
 * Runs one job, and sends the modules that the runner lacks. Never rejects: failures go to the
 * job. Calls `free` when the runner has done its part, before the asker is answered, because
 * the asker may call again at once.
 */
async function tryTurn(
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
async function tryTurns(
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
function stopJob(job: Job, message: string): TurnEnd {
  job.stop({ kind: "unavailable", message, retryAfterMs: RETRY_AFTER_MS });
  return { usedMs: 0, ending: "untried", goesOn: false };
}
