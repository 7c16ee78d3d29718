/**
 * Runs modules in runner processes, never on the thread that asks. A few runners, started when
 * needed and ended when not; a fair queue before them; modules sent to a runner when it has not got
 * them. Spec: "WebAssembly handler contract"; decided in "WebAssembly", isolation.
 *
 * A call ends within its limit: the runner stops the module, and where it does not, the pool ends
 * the runner. A runner that vanishes with a call in it is tried again once, unless its time was up.
 */

import type { OutputKind } from "../domain/wasm/call_output.ts";
import type { WasmOutcome } from "../domain/wasm/failure.ts";
import { newAlarm } from "./alarm.ts";
import { fairQueue, type Waiting } from "./fair_queue.ts";
import {
  callJob,
  checkJob,
  type CheckOutcome,
  foldJob,
  type Job,
  type WasmEvent,
  type WasmTarget,
} from "./job.ts";
import { type RunnerCommand, runnerCommand, type RunnerProcess } from "./runner_process.ts";
import { runnerShelf } from "./runner_shelf.ts";
import { stopJob, tryTurn, tryTurns, type TurnEnd } from "./turn.ts";

export interface WasmPool {
  /** Whether an uploaded file may be kept, and as what. */
  checkModule(tenant: string, file: Uint8Array<ArrayBuffer>): Promise<CheckOutcome>;
  /**
   * Folds events, at least one, onto a state; gives the JSON text of the new one. Of several, the
   * first that fails stops the fold, and `stop.place.eventIndex` says which it was.
   */
  foldEvents(
    tenant: string,
    stateJson: string,
    events: readonly WasmEvent[],
  ): Promise<WasmOutcome<string>>;
  /**
   * One call with an input of its own. Gives the JSON text of `actions` (an array of
   * `ModuleAction`), `context` or `state`, checked.
   */
  call(
    tenant: string,
    target: WasmTarget,
    output: OutputKind,
    inputJson: string,
  ): Promise<WasmOutcome<string>>;
  measure(): PoolMeasure;
  /** Ends the runners; what still waits or runs is answered with `unavailable`. */
  close(): Promise<void>;
}

export interface PoolMeasure {
  readonly processIds: readonly number[];
  /** Calls that run, and calls that wait. */
  readonly running: number;
  readonly waiting: number;
}

export interface WasmPoolSettings {
  /** Runner processes at most: one more than there are cores is right. */
  readonly runners: number;
  /** Stack of a call in KiB; see `limits.wasmStackKilobytesDefault`. */
  readonly stackKilobytes: number;
  /** What to start in place of the ordinary runner. */
  readonly command?: RunnerCommand;
  /** Told of runners that cannot be started or that end by themselves. */
  onFault(message: string, error: unknown): void;
}

const WAITING_PER_TENANT_MAX = 256;
const WAIT_MS_MAX = 2_000;
const GROUP_MAX = 16;
const CLOSING = "The server is shutting down";

export function openWasmPool(settings: WasmPoolSettings): WasmPool {
  const command = settings.command ?? runnerCommand(settings.stackKilobytes);
  const shelf = runnerShelf(command, settings.onFault);
  const queue = fairQueue<Job>({
    runners: settings.runners,
    waitingPerTenantMax: WAITING_PER_TENANT_MAX,
    waitMsMax: WAIT_MS_MAX,
    groupMax: GROUP_MAX,
  });
  const turns = new Set<Promise<void>>();
  const wake = newAlarm(dispatch);
  let isClosed = false;

  function submit(job: Job): void {
    if (isClosed) stopJob(job, CLOSING);
    else if (enqueue(job, false)) dispatch();
    else stopJob(job, "Too many WebAssembly calls of this instance are waiting");
  }

  function enqueue(job: Job, goesOn: boolean): boolean {
    const { tenant } = job;
    const sinceMs = performance.now();
    const isShort = job.isShort();
    return queue.push({ job, tenant, lane: job.lane(), isShort, sinceMs }, goesOn);
  }

  /** Starts what may run now, turns away what has waited too long, and comes back in time. */
  function dispatch(): void {
    const nowMs = performance.now();
    while (turns.size < settings.runners && !isClosed) {
      const group = queue.take(nowMs);
      if (group.length === 0) break;
      const turn = runGroup(group).finally(() => {
        turns.delete(turn);
        dispatch();
      });
      turns.add(turn);
    }
    for (const { job, timeoutsInARow } of queue.expire(nowMs)) {
      if (timeoutsInARow > 0) job.failTimeout(pausedMessage(timeoutsInARow));
      else stopJob(job, "The WebAssembly calls of this server take too long");
    }
    const nextMs = queue.nextChangeMs(nowMs);
    if (nextMs === undefined || isClosed) wake.unset();
    else wake.set(nextMs);
  }

  async function runGroup(group: readonly Waiting<Job>[]): Promise<void> {
    const runner = await shelf.take();
    const jobs = group.map(({ job }) => job);
    const ends = runner === undefined
      ? jobs.map((job) => stopJob(job, "WebAssembly cannot run now"))
      : await runOn(runner, jobs);
    const finished = group.map((waiting, index) => ({ waiting, ...ends[index]! }));
    queue.finish(finished, performance.now());
    for (const { waiting, goesOn } of finished) {
      if (!goesOn) continue;
      if (isClosed) stopJob(waiting.job, CLOSING);
      else enqueue(waiting.job, true);
    }
  }

  async function runOn(runner: RunnerProcess, jobs: readonly Job[]): Promise<TurnEnd[]> {
    let putBack: Promise<void> | undefined;
    function free(): void {
      putBack = shelf.putBack(runner);
    }
    const ends = jobs.length === 1
      ? [await tryTurn(runner, jobs[0]!, free)]
      : await tryTurns(runner, jobs, free);
    await (putBack ?? shelf.putBack(runner));
    return ends;
  }

  return {
    checkModule: (tenant, file) =>
      new Promise((settle, reject) => submit(checkJob({ tenant, settle, reject }, file))),
    foldEvents: (tenant, stateJson, events) =>
      new Promise((settle, reject) =>
        submit(foldJob({ tenant, settle, reject }, stateJson, events))
      ),
    call: (tenant, target, output, inputJson) =>
      new Promise((settle, reject) =>
        submit(callJob({ tenant, settle, reject }, target, output, inputJson))
      ),
    measure: () => ({
      processIds: shelf.processIds(),
      running: turns.size,
      waiting: queue.waiting(),
    }),
    async close() {
      isClosed = true;
      for (const job of queue.drain()) stopJob(job, CLOSING);
      await shelf.close();
      await Promise.all(turns);
      wake.close();
    },
  };
}

function pausedMessage(timeouts: number): string {
  return `The module did not end in time ${timeouts} times in a row, and is tried less often now`;
}
