/**
 * Runs the modules that specs call.
 *
 * It finds their bytes, counts and traces the calls, and turns a stopped call into a refusal.
 * See docs/reference/modules.md.
 */

import { assert } from "../../domain/assert.ts";
import { count, type Counters } from "../../domain/measures/counters.ts";
import type { JsonObject } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import type { ModuleAnswer, ModuleQuestion } from "../../domain/reaction/module_question.ts";
import { createRecentTexts } from "../../domain/recent_map.ts";
import { accept, type Outcome, type Refusal, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import { type BlobReference, referenceText, type ResolvedBlob } from "../../domain/wasm/blob.ts";
import type { WasmOutcome, WasmStop } from "../../domain/wasm/failure.ts";
import type { ModuleCall } from "../../domain/wasm/module_call.ts";
import type { ModulesMeasure } from "../../domain/wasm/modules_measure.ts";
import type { CallPurpose, ModuleTrace } from "../../domain/wasm/trace.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { readModule } from "../../store/blobs.ts";
import type { CheckOutcome, WasmTarget } from "../../wasm/job.ts";
import { openWasmPool, type WasmPool } from "../../wasm/pool.ts";
import { openInstanceNames } from "../base/instance_of.ts";

/** The blobs that the references of a spec or type resolve to. */
export type BlobTable = ReadonlyMap<string, ResolvedBlob>;

/** An event and the call that folds it. */
export interface ModuleEvent {
  readonly call: ModuleCall;
  readonly type: string;
  readonly raw: string;
}

/**
 * The result of a fold. If it was stopped, `eventIndex` is the event; the work before it is
 * lost.
 */
export type ModuleFold =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly refusal: Refusal; readonly eventIndex: number };

export interface ModuleFoldRequest {
  readonly purpose: CallPurpose;
  readonly blobs: BlobTable;
  readonly stateJson: string;
  readonly events: readonly ModuleEvent[];
}

export interface ModuleRunner {
  /** Folds at least one event onto the state; returns the new state as JSON text. */
  fold(tenant: number, request: ModuleFoldRequest): Promise<ModuleFold>;
  /** Refused only if modules cannot be run now. */
  ask(tenant: number, blobs: BlobTable, question: ModuleQuestion): Promise<Outcome<ModuleAnswer>>;
  /** Whether an uploaded file is an acceptable module, and its properties. */
  check(tenant: number, file: Uint8Array<ArrayBuffer>): Promise<CheckOutcome>;
}

/** How many module functions are remembered. Entries are small: they hold no module bytes. */
const TARGETS_MAX = 10_000;

/** The limits on processes that run modules. */
export interface ModuleSettings {
  /** The most processes; none is started before there is a module to run. */
  readonly runners: number;
  /** The stack of a call, in KiB. */
  readonly stackKilobytes: number;
}

/** What operators can observe of module calls. */
export interface ModuleOperations {
  /** WebAssembly calls under way in this process. */
  measureModules(): ModulesMeasure;
  /** Turns tracing of module calls on or off in this process; `listTraces` returns the traces. */
  traceModules(tenant: Tenant, isOn: boolean): void;
  /** Newest first. */
  listTraces(tenant: Tenant): { readonly isOn: boolean; readonly traces: readonly ModuleTrace[] };
}

export interface Modules extends ModuleRunner {
  readonly operations: ModuleOperations;
  /** Ends the running calls and processes. */
  close(): Promise<void>;
}

export function openModules(
  engine: Engine,
  host: Host,
  counters: Counters,
  settings: ModuleSettings,
): Modules {
  const pool = openWasmPool({
    ...settings,
    onFault: (message, error) => host.log("error", message, { reason: String(error) }),
  });
  const tracer = openModuleTracer(host);
  const runner = createModuleRunner({ engine, host, pool, tracer, counters });
  const operations: ModuleOperations = {
    measureModules() {
      const { processIds, running, waiting } = pool.measure();
      return { runners: processIds.length, running, waiting };
    },
    traceModules: ({ number }, isOn) => tracer.turn(number, isOn),
    listTraces: ({ number }) => ({ isOn: tracer.isOn(number), traces: tracer.list(number) }),
  };
  return { ...runner, operations, close: pool.close };
}

interface ModuleRunnerParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly pool: WasmPool;
  readonly tracer: ModuleTracer;
  readonly counters: Counters;
}

function createModuleRunner(
  { engine, host, pool, tracer, counters }: ModuleRunnerParts,
): ModuleRunner {
  const targets = createRecentTexts<WasmTarget>(TARGETS_MAX);
  const instanceOf = openInstanceNames(engine);

  function targetOf(tenant: number, blobs: BlobTable, call: ModuleCall): WasmTarget {
    const blob = blobOf(blobs, call.blob);
    const { name, version, sha256: digest } = blob;
    const { entrypoint, timeoutMs } = call;
    const key = `${tenant}/${name}/${version}/${timeoutMs}/${entrypoint}`;
    const known = targets.get(key);
    if (known !== undefined) return known;
    const load = () => engine.snapshot((tx) => readModule(tx, tenant, blob));
    const target = { module: { digest, load }, entrypoint, timeoutMs };
    targets.set(key, target);
    return target;
  }

  async function fold(
    tenant: number,
    { purpose, blobs, stateJson, events }: ModuleFoldRequest,
  ): Promise<ModuleFold> {
    const calls = [...new Set(events.map(({ call }) => call))];
    const found = new Map(calls.map((call) => [call, targetOf(tenant, blobs, call)]));
    const wasmEvents = events.map(({ call, raw }) => ({
      target: found.get(call)!,
      eventJson: raw,
    }));
    const beganMs = host.monotonicMs();
    const outcome = await pool.foldEvents(await instanceOf(tenant), stateJson, wasmEvents);
    const [first] = events;
    const inputBytes = stateJson.length + events.reduce((sum, { raw }) => sum + raw.length, 0);
    const { call: firstCall, type: eventType } = first!;
    const told = { purpose, blobs, call: firstCall, eventType, calls: events.length, inputBytes };
    note(tenant, told, outcome, beganMs);
    if (outcome.ok) return outcome;
    const { stop } = outcome;
    const eventIndex = stop.kind === "unavailable" ? 0 : stop.place.eventIndex;
    const { call } = events[eventIndex]!;
    const refusal = refusalOf(stop, contextOf(blobOf(blobs, call.blob), call));
    return { ok: false as const, refusal, eventIndex };
  }

  async function ask(...[tenant, blobs, question]: Parameters<ModuleRunner["ask"]>) {
    const { call, output, inputJson } = question;
    const target = targetOf(tenant, blobs, call);
    const beganMs = host.monotonicMs();
    const outcome = await pool.call(await instanceOf(tenant), target, output, inputJson);
    const told = { purpose: "implication", blobs, call, eventType: "", calls: 1 } as const;
    note(tenant, { ...told, inputBytes: inputJson.length }, outcome, beganMs);
    if (outcome.ok) return accept({ ok: true as const, json: outcome.value });
    const { stop } = outcome;
    const context = contextOf(blobOf(blobs, call.blob), call);
    if (stop.kind !== "unavailable") return accept(failedAnswer(stop, context));
    if (!stop.isPaused) return refuse(refusalOf(stop, {}));
    // A module of implications must never block the write that asks it: count this as a failure.
    const cause = { ...context, cause: "wasm_timeout", phase: "entrypoint" };
    return accept({ ok: false as const, message: stop.message, cause });
  }

  interface Told {
    readonly purpose: CallPurpose;
    readonly blobs: BlobTable;
    readonly call: ModuleCall;
    readonly eventType: string;
    readonly calls: number;
    readonly inputBytes: number;
  }

  function note(tenant: number, told: Told, outcome: WasmOutcome<string>, beganMs: number): void {
    const end = endOf(outcome);
    const done = outcome.ok ? told.calls : doneBefore(outcome.stop);
    if (done > 0) count(counters.moduleCalls, "ok", done);
    if (!outcome.ok) count(counters.moduleCalls, end);
    if (!tracer.isOn(tenant)) return;
    const { name, version } = blobOf(told.blobs, told.call.blob);
    tracer.add(tenant, {
      at: new Date(host.nowMs()).toISOString(),
      purpose: told.purpose,
      blob: name,
      version,
      entrypoint: told.call.entrypoint,
      event_type: told.eventType,
      calls: told.calls,
      milliseconds: Math.round(host.monotonicMs() - beganMs),
      input_bytes: told.inputBytes,
      output_bytes: outcome.ok ? outcome.value.length : 0,
      end,
    });
  }

  return {
    fold,
    ask,
    check: async (tenant, file) => await pool.checkModule(await instanceOf(tenant), file),
  };
}

function blobOf(blobs: BlobTable, reference: BlobReference): ResolvedBlob {
  const blob = blobs.get(referenceText(reference));
  assert(blob !== undefined, "a spec that is used is bound to its blobs");
  return blob;
}

function endOf(outcome: WasmOutcome<string>): string {
  if (outcome.ok) return "ok";
  const { stop } = outcome;
  return stop.kind === "failed" ? stop.failure.kind : stop.kind;
}

function doneBefore(stop: WasmStop): number {
  return stop.kind === "unavailable" ? 0 : stop.place.eventIndex;
}

/** Identifies the module and function, for people who look for the fault. */
function contextOf({ name, version }: ResolvedBlob, { entrypoint }: ModuleCall): JsonObject {
  return { blob: name, version, entrypoint };
}

function refusalOf(stop: WasmStop, context: JsonObject): Refusal {
  switch (stop.kind) {
    case "handler_error":
      return { kind: "handler_error", error: stop.error };
    case "unavailable": {
      const { message, retryAfterMs } = stop;
      return { kind: "modules_unavailable", message, retryAfterMs };
    }
    case "failed": {
      const { kind: failure, message, phase } = stop.failure;
      return { kind: "module_failed", failure, message, context: { ...context, phase } };
    }
  }
}

function failedAnswer(
  stop: Exclude<WasmStop, { readonly kind: "unavailable" }>,
  context: JsonObject,
): ModuleAnswer {
  if (stop.kind === "failed") {
    const { kind, message, phase } = stop.failure;
    return { ok: false, message, cause: { ...context, cause: kind, phase } };
  }
  const { type, message, code } = stop.error;
  const error = { type: cut(type), ...(code !== undefined && { code: cut(code) }) };
  return { ok: false, message, cause: { ...context, cause: "handler_error", error } };
}

function cut(text: string): string {
  return text.slice(0, limits.errorTextCharactersMax);
}

/**
 * Traces of module calls, for environments in which an operator has turned them on.
 *
 * The newest few hundred are kept in this process's memory, for an hour at most. See
 * docs/reference/modules.md.
 */
interface ModuleTracer {
  /** Turns tracing on for `limits.wasmTraceMsMax`, or off. Both drop earlier traces. */
  turn(tenant: number, isOn: boolean): void;
  isOn(tenant: number): boolean;
  add(tenant: number, trace: ModuleTrace): void;
  /** Newest first. */
  list(tenant: number): readonly ModuleTrace[];
}

interface Tracing {
  readonly endsMs: number;
  readonly traces: ModuleTrace[];
}

function openModuleTracer(host: Host): ModuleTracer {
  const tracings = new Map<number, Tracing>();

  function find(tenant: number): Tracing | undefined {
    // The common case: no environment is traced.
    if (tracings.size === 0) return undefined;
    const tracing = tracings.get(tenant);
    if (tracing === undefined || host.nowMs() < tracing.endsMs) return tracing;
    tracings.delete(tenant);
    return undefined;
  }

  return {
    turn(tenant, isOn) {
      const endsMs = host.nowMs() + limits.wasmTraceMsMax;
      if (isOn) tracings.set(tenant, { endsMs, traces: [] });
      else tracings.delete(tenant);
    },
    isOn: (tenant) => find(tenant) !== undefined,
    add(tenant, trace) {
      const traces = find(tenant)?.traces;
      if (traces === undefined) return;
      traces.push(trace);
      if (traces.length > limits.wasmTracesMax) traces.shift();
    },
    list: (tenant) => find(tenant)?.traces.toReversed() ?? [],
  };
}
