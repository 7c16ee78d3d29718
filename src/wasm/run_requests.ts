/**
 * What a runner does with a request. Everything that a module can take long for is limited in time
 * by `call_module.ts`; compiling is bounded by what `checkModule` lets through.
 */

import type { Violation } from "../domain/refusal.ts";
import { handlerInput } from "../domain/wasm/call_input.ts";
import { checkModule } from "../domain/wasm/check_module.ts";
import { callModule, type CallResult, type ModuleCall } from "./call_module.ts";
import { type CompiledModules, compiledModules } from "./compiled_modules.ts";
import type { Frame } from "./frame.ts";
import type { CallTarget, RunnerAnswer, RunnerRequest, RunnerResult } from "./messages.ts";

/** Modules compiled at a time, by the bytes they were compiled from. */
const COMPILED_BYTES_MAX = 32 * 1024 * 1024;
/**
 * What may wait to be collected: the engine does not see how much memory instances hold, and would
 * let gigabytes of it lie (6.8 GB were measured).
 */
const GARBAGE_BYTES_MAX = 128 * 1024 * 1024;
const GARBAGE_INSTANCES_MAX = 1_000;

type Reply = Frame<RunnerResult>;
type FoldRequest = Extract<RunnerRequest, { kind: "fold" }>;

export interface Runner {
  /** Never throws for what a module does. */
  answer(request: Frame<RunnerRequest>): Frame<RunnerAnswer>;
  /** Frees what instances left behind, where `pauses` was answered. */
  cleanUp(): void;
}

interface State {
  readonly modules: CompiledModules;
  garbageBytes: number;
  garbageInstances: number;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const NOTHING = new Uint8Array(0);

/** @param collect runs the collector of the engine to its end. */
export function newRunner(collect: () => void, nowMs: () => number): Runner {
  const modules = compiledModules(COMPILED_BYTES_MAX);
  const state: State = { modules, garbageBytes: 0, garbageInstances: 0 };
  return {
    answer(request) {
      const startedMs = nowMs();
      const { message, body } = perform(state, request, nowMs);
      const tookMs = nowMs() - startedMs;
      return { message: { ...message, tookMs, pauses: isFull(state) }, body };
    },
    cleanUp() {
      collect();
      state.garbageBytes = state.garbageInstances = 0;
    },
  };
}

function isFull({ garbageBytes, garbageInstances }: State): boolean {
  return garbageBytes > GARBAGE_BYTES_MAX || garbageInstances > GARBAGE_INSTANCES_MAX;
}

function perform(
  state: State,
  { message, body }: Frame<RunnerRequest>,
  nowMs: () => number,
): Reply {
  switch (message.kind) {
    case "check":
      return check(body);
    case "module":
      return load(state, message.digest, body);
    case "call":
      return answerCall(state, message.target, { input: body, output: message.output });
    case "fold":
      return answerFold(state, message, body, nowMs);
  }
}

function check(bytes: Uint8Array<ArrayBuffer>): Reply {
  const checked = checkModule(bytes);
  if (!checked.ok) return refused(checked.violation);
  const { entrypoints, memoryPagesInitial, bytes: kept } = checked.module;
  // What is compiled is thrown away: the pool sends it again, by its digest, when it is called.
  const compiled = compile(kept);
  if (!(compiled instanceof WebAssembly.Module)) return refused(compiled);
  return { message: { kind: "checked", entrypoints, memoryPagesInitial }, body: kept };
}

function load(state: State, digest: string, bytes: Uint8Array<ArrayBuffer>): Reply {
  const compiled = compile(bytes);
  if (!(compiled instanceof WebAssembly.Module)) return refused(compiled);
  state.modules.add(digest, compiled, bytes.length);
  return { message: { kind: "loaded" }, body: NOTHING };
}

function compile(bytes: Uint8Array<ArrayBuffer>): WebAssembly.Module | Violation {
  try {
    return new WebAssembly.Module(bytes);
  } catch (error) {
    const reason = error instanceof Error ? error.message : "no reason given";
    return {
      rule: "module_malformed",
      path: "file",
      message: `The module does not compile: ${reason.slice(0, 300)}`,
      hint: "Build and upload it again",
    };
  }
}

function refused(violation: Violation): Reply {
  return { message: { kind: "refused", violation }, body: NOTHING };
}

function answerCall(
  state: State,
  target: CallTarget,
  { input, output }: Pick<ModuleCall, "input" | "output">,
): Reply {
  const module = state.modules.get(target.digest);
  if (module === undefined) return missing(target);
  const result = call(state, { module, ...target, input, output });
  if (result.kind !== "value") return { message: { done: 0, ...result }, body: NOTHING };
  return { message: { kind: "value", done: 1 }, body: encoder.encode(result.json) };
}

/** At least one event is folded, whatever `sliceMs` is: so every request gets further. */
function answerFold(
  state: State,
  { stateBytes, events, targets, sliceMs }: FoldRequest,
  body: Uint8Array,
  nowMs: () => number,
): Reply {
  const endsMs = nowMs() + sliceMs;
  let folded = decoder.decode(body.subarray(0, stateBytes));
  let at = stateBytes;
  let done = 0;
  for (const { bytes, target: number } of events) {
    if (done > 0 && (nowMs() >= endsMs || isFull(state))) break;
    const target = targets[number]!;
    const module = state.modules.get(target.digest);
    if (module === undefined && done === 0) return missing(target);
    if (module === undefined) break;
    const event = decoder.decode(body.subarray(at, at + bytes));
    at += bytes;
    const input = encoder.encode(handlerInput(folded, event));
    const result = call(state, { module, ...target, input, output: "state" });
    if (result.kind !== "value") return { message: { done, ...result }, body: NOTHING };
    folded = result.json;
    done++;
  }
  return { message: { kind: "value", done }, body: encoder.encode(folded) };
}

function call(state: State, each: ModuleCall): CallResult {
  const { result, memoryBytes } = callModule(each);
  state.garbageBytes += memoryBytes;
  state.garbageInstances++;
  return result;
}

function missing({ digest }: CallTarget): Reply {
  return { message: { kind: "missing", digest }, body: NOTHING };
}
