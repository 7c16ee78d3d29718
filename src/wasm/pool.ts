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
import { createRecentMap } from "../domain/recent_map.ts";
import type { WasmOutcome } from "../domain/wasm/failure.ts";
import { openDispatcher, type PoolMeasure, type TurnedAway } from "../runners/dispatcher.ts";
import type { Pause } from "../runners/fair_queue.ts";
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
const SUSPECTS_MAX = 1_000;
const RETRY_MS_MIN = 1_000;
const WAIT_MS_MAX = 2_000;
const GROUP_MAX = 16;
/** V8 needs this much stack beside the module's; with less, Deno does not start. */
const STACK_KILOBYTES_OWN = 32;
const HEAP_MEGABYTES = 160;

export function openWasmPool(settings: WasmPoolSettings): WasmPool {
  /** Lanes, by tenant, whose last call did not end in time. */
  const suspects = createRecentMap<string, true>(SUSPECTS_MAX);
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
    foldEvents: (tenant, stateJson, events) =>
      new Promise((settle, reject) =>
        submit(
          foldJob(
            { tenant, settle, reject },
            stateJson,
            events,
            (lane) => suspects.has(`${tenant} ${lane}`),
          ),
        )
      ),
    call: (tenant, target, output, inputJson) =>
      new Promise((settle, reject) =>
        submit(callJob({ tenant, settle, reject }, target, output, inputJson))
      ),
    measure,
    close,
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
