/**
 * Runs modules in runner processes, never on the thread that asks: `runners/dispatcher.ts` says
 * when, and modules are sent to a runner when it has not got them. Spec: "WebAssembly handler
 * contract"; decided in "WebAssembly", isolation.
 *
 * A call ends within its limit: the runner stops the module, and where it does not, the pool ends
 * the runner. A runner that vanishes with a call in it is tried again once, unless its time was up.
 */

import { limits } from "../domain/limits.ts";
import type { OutputKind } from "../domain/wasm/call_output.ts";
import type { WasmOutcome } from "../domain/wasm/failure.ts";
import { openDispatcher, type PoolMeasure, type TurnedAway } from "../runners/dispatcher.ts";
import {
  callJob,
  checkJob,
  type CheckOutcome,
  foldJob,
  type Job,
  type WasmEvent,
  type WasmTarget,
} from "./job.ts";
import type { RunnerAnswer, RunnerRequest } from "./messages.ts";
import { denoCommand, type RunnerCommand } from "../runners/runner_process.ts";
import { stopJob, tryTurn, tryTurns } from "./turn.ts";

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
/** V8 needs so much of the stack for what is not the module's; fewer, and Deno does not start. */
const STACK_KILOBYTES_OWN = 32;
const HEAP_MEGABYTES = 160;

export function openWasmPool(settings: WasmPoolSettings): WasmPool {
  const { submit, measure, close } = openDispatcher<Job, RunnerRequest, RunnerAnswer>({
    command: settings.command ?? runnerCommand(settings.stackKilobytes),
    limits: {
      runners: settings.runners,
      waitingPerTenantMax: WAITING_PER_TENANT_MAX,
      waitMsMax: WAIT_MS_MAX,
      groupMax: GROUP_MAX,
    },
    displaces: true,
    run: async (runner, jobs, free) =>
      jobs.length === 1
        ? [await tryTurn(runner, jobs[0]!, free)]
        : await tryTurns(runner, jobs, free),
    turnAway,
    onFault: (error) => settings.onFault("a process for WebAssembly could not be started", error),
  });
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
    measure,
    close,
  };
}

/** This Deno, without permissions, with a stack of so many KiB for modules. */
function runnerCommand(stackKilobytes: number): RunnerCommand {
  const program = new URL("./runner_main.ts", import.meta.url);
  const flags = [
    `--stack-size=${stackKilobytes + STACK_KILOBYTES_OWN}`,
    `--max-old-space-size=${HEAP_MEGABYTES}`,
    "--wasm-max-mem-pages=1024",
    "--expose-gc",
  ];
  return denoCommand(program, flags, limits.wasmProcessBytesMax);
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
      if (reason.timeoutsInARow > 0) job.failTimeout(pausedMessage(reason.timeoutsInARow));
      else stopJob(job, "The WebAssembly calls of this server take too long");
  }
}

function pausedMessage(timeouts: number): string {
  return `The module did not end in time ${timeouts} times in a row, and is tried less often now`;
}
