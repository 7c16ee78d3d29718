/**
 * Answers the requests to a WebAssembly runner. `call_module.ts` limits the time of all that a
 * module does; compiling is bounded by what `checkModule` lets through.
 */

import type { Violation } from "../domain/refusal.ts";
import { handlerInput } from "../domain/wasm/call_input.ts";
import { checkModule } from "../domain/wasm/check_module.ts";
import { callModule, type CallResult, type ModuleCall } from "./call_module.ts";
import { type CompiledModules, compiledModules } from "./compiled_modules.ts";
import type { Frame } from "../runners/frame.ts";
import type { RequestServer } from "../runners/serve_requests.ts";
import type { CallTarget, RunnerAnswer, RunnerRequest, RunnerResult } from "./messages.ts";

/** Limit of the compiled modules and the memories held for them. */
const COMPILED_BYTES_MAX = 64 * 1024 * 1024;
/**
 * Once calls have left this many bytes to the garbage collector, the size of the process is
 * checked. The collector does not see how large WebAssembly memories are, and would let
 * gigabytes of them pile up. How much of a memory was ever used, and so takes room, shows only
 * in that size.
 */
const GARBAGE_LOOK_BYTES = 64 * 1024 * 1024;
const RESIDENT_BYTES_MAX = 128 * 1024 * 1024;
/** Each memory takes far more address space than its size. */
const GARBAGE_MEMORIES_MAX = 2_000;

/** If a call takes longer than this, the calls behind it in its group are skipped. */
const GROUP_MS_MAX = 5;

type Reply = Frame<RunnerResult>;
type FoldRequest = Extract<RunnerRequest, { kind: "fold" }>;

/** What a runner needs of its process. */
export interface RunnerWorld {
  /** Runs the garbage collector to its end. */
  collect(): void;
  /** Memory that the process takes. */
  residentBytes(): number;
  nowMs(): number;
}

interface State {
  readonly modules: CompiledModules;
  readonly world: RunnerWorld;
  /** Since the size of the process was last checked. */
  garbageBytes: number;
  garbageMemories: number;
  mustCollect: boolean;
  /** The group whose remaining calls are skipped. */
  slowGroup: number | undefined;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const NOTHING = new Uint8Array(0);

export function newRunner(
  world: RunnerWorld,
): RequestServer<RunnerRequest, RunnerAnswer> {
  const modules = compiledModules(COMPILED_BYTES_MAX);
  const state: State = {
    modules,
    world,
    garbageBytes: 0,
    garbageMemories: 0,
    mustCollect: false,
    slowGroup: undefined,
  };
  return {
    answer(request) {
      const startedMs = world.nowMs();
      const { message, body } = perform(state, request);
      const tookMs = world.nowMs() - startedMs;
      if (tookMs > GROUP_MS_MAX) state.slowGroup = request.message.group;
      return { message: { ...message, tookMs, pauses: state.mustCollect }, body };
    },
    cleanUp() {
      world.collect();
      state.garbageBytes = state.garbageMemories = 0;
      state.mustCollect = false;
    },
  };
}

function leaveGarbage(state: State, bytes: number): void {
  if (bytes === 0) return;
  state.garbageBytes += bytes;
  state.garbageMemories++;
  if (state.garbageMemories >= GARBAGE_MEMORIES_MAX) state.mustCollect = true;
  if (state.garbageBytes < GARBAGE_LOOK_BYTES) return;
  state.garbageBytes = 0;
  if (state.world.residentBytes() > RESIDENT_BYTES_MAX) state.mustCollect = true;
}

function perform(state: State, { message, body }: Frame<RunnerRequest>): Reply {
  const { group } = message;
  if (group !== undefined && group === state.slowGroup) {
    return { message: { kind: "skipped" }, body: NOTHING };
  }
  switch (message.kind) {
    case "check":
      return check(body);
    case "module":
      return load(state, message.digest, body);
    case "call":
      return answerCall(state, message.target, { input: body, output: message.output });
    case "fold":
      return answerFold(state, message, body);
  }
}

function check(bytes: Uint8Array<ArrayBuffer>): Reply {
  const checked = checkModule(bytes);
  if (!checked.ok) return refused(checked.violation);
  const { entrypoints, memoryPagesInitial, bytes: kept } = checked.module;
  // The compiled module is dropped: the pool sends it by its digest when it is called.
  const compiled = compile(kept);
  if (!(compiled instanceof WebAssembly.Module)) return refused(compiled);
  return { message: { kind: "checked", entrypoints, memoryPagesInitial }, body: kept };
}

function load(state: State, digest: string, bytes: Uint8Array<ArrayBuffer>): Reply {
  const compiled = compile(bytes);
  if (!(compiled instanceof WebAssembly.Module)) return refused(compiled);
  state.modules.add(digest, compiled, bytes);
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
  const compiled = state.modules.get(target.digest);
  if (compiled === undefined) return missing(target);
  const result = call(state, { compiled, ...target, input, output });
  if (result.kind !== "value") return { message: { done: 0, ...result }, body: NOTHING };
  return { message: { kind: "value", done: 1 }, body: encoder.encode(result.json) };
}

/** Folds at least one event, whatever `sliceMs` is, so that every request makes progress. */
function answerFold(
  state: State,
  { stateBytes, events, targets, sliceMs }: FoldRequest,
  body: Uint8Array,
): Reply {
  const { nowMs } = state.world;
  const endsMs = nowMs() + sliceMs;
  let folded = decoder.decode(body.subarray(0, stateBytes));
  let at = stateBytes;
  let done = 0;
  for (const { bytes, target: number } of events) {
    if (done > 0 && (nowMs() >= endsMs || state.mustCollect)) break;
    const target = targets[number]!;
    const compiled = state.modules.get(target.digest);
    if (compiled === undefined && done === 0) return missing(target);
    if (compiled === undefined) break;
    const event = decoder.decode(body.subarray(at, at + bytes));
    at += bytes;
    const input = encoder.encode(handlerInput(folded, event));
    const result = call(state, { compiled, ...target, input, output: "state" });
    if (result.kind !== "value") return { message: { done, ...result }, body: NOTHING };
    folded = result.json;
    done++;
  }
  return { message: { kind: "value", done }, body: encoder.encode(folded) };
}

function call(state: State, each: ModuleCall): CallResult {
  const { result, garbageBytes } = callModule(each);
  leaveGarbage(state, garbageBytes);
  return result;
}

function missing({ digest }: CallTarget): Reply {
  return { message: { kind: "missing", digest }, body: NOTHING };
}
