/**
 * Decides whether a module may be uploaded, and which bytes of it are kept.
 *
 * Kept bytes contain the largest size of the module's memory and tables, so that no engine lets
 * them grow further, and no custom sections except the function names.
 *
 * It refuses what the module contract refuses, what is not WebAssembly 2.0, and what would take
 * long to compile or instantiate, because nothing can interrupt that. The engine must accept
 * the rest. See docs/reference/modules.md.
 */

import { limits } from "../limits.ts";
import type { Violation } from "../refusal.ts";
import { MalformedModuleError } from "./byte_reader.ts";
import { UnknownFeatureError } from "./instruction.ts";
import {
  emptyShape,
  type FunctionType,
  type ModuleExport,
  type ModuleShape,
  readModuleShape,
} from "./module_shape.ts";
import { rewriteModule } from "./rewrite_module.ts";

export interface CheckedModule {
  /** The module as it is kept. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Exported functions `(i32, i32) -> i64` in module order. A spec may name these. */
  readonly entrypoints: readonly string[];
  readonly memoryPagesInitial: number;
}

export type ModuleCheck =
  | { readonly ok: true; readonly module: CheckedModule }
  | { readonly ok: false; readonly violation: Violation };

const HEADER = [0x00, 0x61, 0x73, 0x6d];
const VERSION = [1, 0, 0, 0];
const I32 = 0x7f;
const I64 = 0x7e;
/** A name that people can type. A spec cannot name longer or other ones. */
const ENTRYPOINT_NAME = /^[\x21-\x7e]{1,128}$/;

/** Never throws, whatever the bytes are. The time is proportional to their number. */
export function checkModule(bytes: Uint8Array<ArrayBuffer>): ModuleCheck {
  const violation = checkHeader(bytes);
  if (violation !== undefined) return { ok: false, violation };
  const shape = emptyShape();
  try {
    readModuleShape(bytes, shape);
  } catch (error) {
    return { ok: false, violation: describeError(error, shape.place) };
  }
  const fault = checkInterface(shape) ?? checkMemory(shape) ?? checkCosts(shape);
  if (fault !== undefined) return { ok: false, violation: fault };
  return {
    ok: true,
    module: {
      bytes: rewriteModule(bytes, shape),
      entrypoints: entrypointsOf(shape),
      memoryPagesInitial: shape.memories[0]!.initial,
    },
  };
}

function checkHeader(bytes: Uint8Array): Violation | undefined {
  const limit = limits.wasmModuleBytesMax;
  if (bytes.length > limit) {
    const message = `The module has ${bytes.length} bytes, at most ${limit} are allowed`;
    return violate("module_size", "file", message, "Build for size and strip debug information");
  }
  if (!HEADER.every((byte, index) => bytes[index] === byte)) {
    const message = "The file is no WebAssembly module: it does not begin with \\0asm";
    return violate("module_malformed", "file", message, "Upload the compiled .wasm file, not text");
  }
  if (!VERSION.every((byte, index) => bytes[HEADER.length + index] === byte)) {
    const message = "The file is not a core module of version 1";
    return violate("module_version", "file", message, "Components must be built as core modules");
  }
}

function describeError(error: unknown, place: string): Violation {
  const path = `file.${place}`;
  if (error instanceof UnknownFeatureError) {
    const message = `The module uses ${error.message}, at byte ${error.offset}`;
    const hint = "Build for WebAssembly 2.0 with one memory: no threads, exceptions, tail calls, " +
      "garbage collection, 64-bit memory or relaxed SIMD";
    return violate("module_feature", path, message, hint);
  }
  if (!(error instanceof MalformedModuleError)) throw error;
  const message = `The module is malformed at byte ${error.offset}: ${error.message}`;
  return violate("module_malformed", path, message, "Build and upload it again");
}

function checkInterface(shape: ModuleShape): Violation | undefined {
  if (shape.firstImport !== undefined) {
    const message = `The module imports ${
      shape.firstImport.slice(0, 200)
    }, but nothing is provided`;
    const hint = "Build without WASI and host functions (Rust: wasm32-unknown-unknown; " +
      'AssemblyScript: --use abort=""; Zig: wasm32-freestanding)';
    return violate("module_import", "file.imports", message, hint);
  }
  const memory = findExport(shape, "memory");
  if (memory?.kind !== "memory") {
    return missing("memory", "a memory", memory, "Export the memory of the module as `memory`");
  }
  const malloc = findExport(shape, "malloc");
  if (malloc === undefined || !hasType(shape, malloc, [I32], [I32])) {
    return missing("malloc", "a function (i32) -> i32", malloc, "It must return an address");
  }
  if (entrypointsOf(shape).length > 0) return;
  const hint =
    "A handler is usually called apply_handler; it takes the address and the length of " +
    "its input and returns (output_ptr << 32) | output_len";
  return missing("an entrypoint", "a function (i32, i32) -> i64", undefined, hint);
}

function missing(
  name: string,
  what: string,
  found: ModuleExport | undefined,
  hint: string,
): Violation {
  const instead = found === undefined ? "does not" : "exports something else of that name";
  const message = found === undefined
    ? `The module must export ${name}, ${what}, and ${instead}`
    : `The module must export ${name} as ${what}, and ${instead}`;
  const path = name.includes(" ") ? "file.exports" : `file.exports.${name}`;
  return violate("module_export", path, message, hint);
}

function checkMemory({ memories }: ModuleShape): Violation | undefined {
  const path = "file.memory";
  if (memories.length !== 1) {
    const message = `The module has ${memories.length} memories, and must have one`;
    return violate("module_memory", path, message, "Build without multiple memories");
  }
  const { initial, maximum } = memories[0]!;
  const limit = limits.wasmMemoryPagesMax;
  if (initial > limit) {
    const message = `The memory begins with ${initial} pages, at most ${limit} are allowed`;
    return violate("module_memory", path, message, "A page has 64 KiB: 64 MiB in all");
  }
  if (maximum !== undefined && maximum < initial) {
    const message = `The memory begins with ${initial} pages, more than its maximum of ${maximum}`;
    return violate("module_memory", path, message, "Build and upload it again");
  }
}

function checkCosts(shape: ModuleShape): Violation | undefined {
  const entries = shape.tables.reduce((sum, { initial }) => sum + initial, 0);
  const costs: readonly (readonly [place: string, what: string, count: number, max: number])[] = [
    ["types", "types", shape.types.length, limits.wasmTypesMax],
    ["functions", "functions", shape.functions.length, limits.wasmFunctionsMax],
    ["tables", "tables", shape.tables.length, limits.wasmTablesMax],
    ["tables", "table entries", entries, limits.wasmTableEntriesMax],
    ["globals", "globals", shape.globals, limits.wasmGlobalsMax],
    ["exports", "exports", shape.exports.length, limits.wasmExportsMax],
    ["elements", "segments", shape.segments, limits.wasmSegmentsMax],
    ["code", "local variables", shape.locals, limits.wasmLocalsMax],
    ["code", "bytes in a function", shape.largestFunctionBytes, limits.wasmFunctionBytesMax],
  ];
  const over = costs.find(([, , count, max]) => count > max);
  if (over === undefined) return;
  const [place, what, count, max] = over;
  const message = `The module has ${count} ${what}, at most ${max} are allowed`;
  return violate("module_limit", `file.${place}`, message, "Build it smaller, or split it");
}

function entrypointsOf(shape: ModuleShape): string[] {
  return shape.exports
    .filter((each) => ENTRYPOINT_NAME.test(each.name) && hasType(shape, each, [I32, I32], [I64]))
    .map(({ name }) => name);
}

function findExport({ exports }: ModuleShape, name: string): ModuleExport | undefined {
  return exports.find((each) => each.name === name);
}

function hasType(
  { types, functions }: ModuleShape,
  { kind, index }: ModuleExport,
  parameters: readonly number[],
  results: readonly number[],
): boolean {
  const type: FunctionType | undefined = types[functions[index] ?? -1];
  return kind === "function" && type !== undefined && isSame(type.parameters, parameters) &&
    isSame(type.results, results);
}

function isSame(types: readonly number[], expected: readonly number[]): boolean {
  return types.length === expected.length && types.every((type, at) => type === expected[at]);
}

function violate(rule: string, path: string, message: string, hint: string): Violation {
  return { rule, path, message, hint };
}
