/**
 * Makes one call of a module, from a fresh instance to the output that is read.
 *
 * The order is: a fresh instance, `malloc`, the input copied in, the entrypoint, the output
 * read. Every call has an instance of its own, and a memory that is empty but for what the
 * module puts there. Variables, tables, segments and memory are as they were at the start, so
 * no call can learn anything about the one before. See docs/reference/modules.md.
 *
 * `node:vm` limits the time of a call: it interrupts WebAssembly too, on the thread that calls it,
 * and leaves the process usable. It costs a thread for each call, which is as much as all else in a
 * short call. There is one exception, found by experiment: if the call ends at the very moment its
 * time is up, the interruption can hit what runs next, and the process ends. So this belongs in a
 * process that may end.
 */

import type { CallPhase, WasmFailure, WasmFailureKind } from "../domain/wasm/failure.ts";
import type { HandlerError } from "../domain/wasm/handler_error.ts";
import { nameCostOf } from "../domain/json_text/name_cost.ts";
import { type OutputKind, readOutput } from "../domain/wasm/call_output.ts";
import { isWithinMemory, type MemoryRange, unpackRange } from "../domain/wasm/memory_range.ts";
import { MEMORY_IMPORT } from "../domain/wasm/rewrite_module.ts";
import type { CompiledModule } from "./compiled_modules.ts";
import { Script } from "node:vm";

export interface ModuleCall {
  readonly compiled: CompiledModule;
  readonly entrypoint: string;
  readonly timeoutMs: number;
  readonly input: Uint8Array;
  readonly output: OutputKind;
}

export type CallResult =
  | { readonly kind: "value"; readonly json: string }
  | { readonly kind: "error"; readonly error: HandlerError }
  | { readonly kind: "failed"; readonly failure: WasmFailure };

/** The result, and how many bytes of memory the call leaves to the garbage collector. */
export interface CallReport {
  readonly result: CallResult;
  readonly garbageBytes: number;
}

/** The platform could not make an instance: this is not the module's fault. */
export class OutOfInstancesError extends Error {
  constructor(cause: unknown) {
    super("no memory could be had for an instance", { cause });
    this.name = "OutOfInstancesError";
  }
}

/** How far a call has come. It may be interrupted anywhere. */
interface Progress {
  phase: CallPhase;
}

interface Exports {
  readonly malloc: (size: number) => number;
  readonly [name: string]: unknown;
}

/** The module named a range outside of its memory, or `malloc` returned 0. */
class OutOfMemoryError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "OutOfMemoryError";
  }
}

/**
 * Never throws because of what a module does.
 * @throws {OutOfInstancesError} if the platform cannot make an instance.
 */
export function callModule(call: ModuleCall): CallReport {
  const memory = takeMemory(call.compiled);
  const progress: Progress = { phase: "start" };
  const limit = call.compiled.isProven() ? withinTime : withTimeLimit;
  const limited = limit(call.timeoutMs, () => runToOutput(call, memory, progress));
  call.compiled.noteEnd(limited.kind === "returned" || limited.kind === "threw");
  const result = resultOf(call, memory, limited, progress.phase);
  return { result, garbageBytes: call.compiled.giveBack(memory) };
}

function resultOf(
  call: ModuleCall,
  memory: WebAssembly.Memory,
  limited: Limited<MemoryRange>,
  phase: CallPhase,
): CallResult {
  const { timeoutMs } = call;
  switch (limited.kind) {
    case "returned":
      return readResult(call, memory, limited.value);
    case "threw":
      return describeThrown(limited.error, phase);
    case "timeout":
      return failed("wasm_timeout", timeoutMessage(timeoutMs, phase), phase);
    case "late":
      return failed("wasm_timeout", `The module did not end within ${timeoutMs} ms`, phase);
  }
}

function takeMemory(compiled: CompiledModule): WebAssembly.Memory {
  try {
    return compiled.takeMemory();
  } catch (error) {
    throw new OutOfInstancesError(error);
  }
}

const nameCost = nameCostOf({ monotonicMs: () => performance.now() });

function readResult(
  { output }: ModuleCall,
  { buffer }: WebAssembly.Memory,
  { pointer, length }: MemoryRange,
): CallResult {
  const reading = readOutput(new Uint8Array(buffer, pointer, length), output, nameCost);
  return reading.kind === "invalid" ? failed("invalid_output", reading.message, "output") : reading;
}

function timeoutMessage(timeoutMs: number, phase: CallPhase): string {
  return `The module did not end within ${timeoutMs} ms: it was stopped in ${WHERE[phase]}`;
}

const WHERE: Readonly<Record<CallPhase, string>> = {
  start: "its start function",
  malloc: "malloc",
  entrypoint: "its entrypoint",
  output: "reading its output",
};

/** Everything that the module itself does. Only this has a time limit. */
function runToOutput(
  call: ModuleCall,
  memory: WebAssembly.Memory,
  progress: Progress,
): MemoryRange {
  const imports = { "": { [MEMORY_IMPORT]: memory } };
  const instance = new WebAssembly.Instance(call.compiled.module, imports);
  const exports = instance.exports as unknown as Exports;
  progress.phase = "malloc";
  const { length } = call.input;
  const input = { pointer: exports.malloc(length) >>> 0, length };
  if (input.pointer === 0) throw new OutOfMemoryError(`malloc returned 0 for ${length} bytes`);
  expectWithin(input, memory, "malloc returned a range");
  new Uint8Array(memory.buffer).set(call.input, input.pointer);
  progress.phase = "entrypoint";
  // The call throws a TypeError if the export is not such a function.
  const entrypoint = exports[call.entrypoint] as (pointer: number, length: number) => bigint;
  const output = unpackRange(entrypoint(input.pointer, length));
  progress.phase = "output";
  expectWithin(output, memory, "the output was said to be");
  return output;
}

function expectWithin(range: MemoryRange, memory: WebAssembly.Memory, what: string): void {
  const { byteLength } = memory.buffer;
  if (isWithinMemory(range, byteLength)) return;
  const { pointer, length } = range;
  const where = `${what} outside of memory`;
  throw new OutOfMemoryError(`${where}: ${length} bytes at ${pointer}, of ${byteLength}`);
}

function describeThrown(error: unknown, phase: CallPhase): CallResult {
  if (error instanceof OutOfMemoryError) return failed("wasm_memory", error.message, phase);
  if (error instanceof WebAssembly.RuntimeError) {
    const isMemory = /memory access out of bounds|data segment/.test(error.message);
    const kind = isMemory ? "wasm_memory" : "wasm_trap";
    return failed(kind, `The module trapped in ${WHERE[phase]}: ${error.message}`, phase);
  }
  if (error instanceof RangeError && /call stack/.test(error.message)) {
    return failed("wasm_trap", `The module trapped in ${WHERE[phase]}: stack overflow`, phase);
  }
  if (error instanceof TypeError) return failed("wasm_trap", WRONG_TYPE, phase);
  throw new OutOfInstancesError(error);
}

/** Possible if a spec names a module without a version: a later version may lack the function. */
const WRONG_TYPE = "The module does not export the entrypoint as a function (i32, i32) -> i64";

function failed(kind: WasmFailureKind, message: string, phase: CallPhase): CallResult {
  return { kind: "failed", failure: { kind, message, phase } };
}

type Limited<T> =
  | { readonly kind: "returned"; readonly value: T }
  | { readonly kind: "threw"; readonly error: unknown }
  /** It was interrupted. */
  | { readonly kind: "timeout" }
  /** It ended, but not in time. */
  | { readonly kind: "late" };

/**
 * The property through which the script finds what to run. It is set once, because setting a
 * property of the global object is slow.
 */
const NAME = "__daybookTimeLimit";
const script = new Script(`${NAME}()`);
const TIMEOUT_CODE = "ERR_SCRIPT_EXECUTION_TIMEOUT";

let current = nothing;
Object.defineProperty(globalThis, NAME, { value: () => current() });

/** `milliseconds` is a whole number, at least 1. Must not be called from within `run`. */
function withTimeLimit<T>(milliseconds: number, run: () => T): Limited<T> {
  let value: T | undefined;
  current = () => {
    value = run();
  };
  try {
    script.runInThisContext({ timeout: milliseconds });
    return { kind: "returned", value: value as T };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    return code === TIMEOUT_CODE ? { kind: "timeout" } : { kind: "threw", error };
  }
}

/** The same without an interruption: if `run` does not end, its process must be ended. */
function withinTime<T>(milliseconds: number, run: () => T): Limited<T> {
  const endsMs = performance.now() + milliseconds;
  const isLate = () => performance.now() >= endsMs;
  try {
    const value = run();
    return isLate() ? { kind: "late" } : { kind: "returned", value };
  } catch (error) {
    return isLate() ? { kind: "late" } : { kind: "threw", error };
  }
}

function nothing(): void {}
