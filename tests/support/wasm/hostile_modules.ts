/**
 * Modules that pass the upload check and then misbehave, each with the expected end of a call.
 */

import type { WasmFailureKind } from "../../../src/domain/wasm/failure.ts";
import { dataAt, handler, packed, returning } from "./build_module.ts";

export interface HostileModule {
  /** What it does, as the end of "a module that ...". */
  readonly name: string;
  /** In the text format. */
  readonly source: string;
  /** How each call of its `apply_handler` ends. */
  readonly kind: WasmFailureKind;
  /** Text that the failure's message contains. */
  readonly says: string;
  readonly timeoutMs?: number;
}

const MEMORY = `(memory (export "memory") 2)`;
const ENDLESS = "(loop (br 0))";
const FINE = returning('{"state":{}}');

export function withMalloc(body: string): string {
  return `(module ${MEMORY} (func (export "malloc") (param i32) (result i32) ${body}) ${FINE})`;
}

function inFrame(rest: string): string {
  return `(module ${MEMORY}
    (func (export "malloc") (param i32) (result i32) (i32.const 4096)) ${rest})`;
}

/** An `apply_handler` that claims its output is at this address. */
function outputAt(pointer: number, length: number): string {
  return inFrame(handler(`(i64.const ${packed(pointer, length)})`));
}

export const HOSTILE_MODULES: readonly HostileModule[] = [
  {
    name: "loops for ever",
    source: inFrame(handler(`${ENDLESS} (i64.const 0)`)),
    kind: "wasm_timeout",
    says: "did not end within 50 ms: it was stopped in its entrypoint",
    timeoutMs: 50,
  },
  {
    name: "loops for ever in its start function",
    source: inFrame(`(func $start ${ENDLESS}) (start $start) ${FINE}`),
    kind: "wasm_timeout",
    says: "it was stopped in its start function",
    timeoutMs: 50,
  },
  {
    name: "loops for ever in malloc",
    source: withMalloc(`${ENDLESS} (i32.const 0)`),
    kind: "wasm_timeout",
    says: "it was stopped in malloc",
    timeoutMs: 50,
  },
  {
    name: "loops for ever over large memory operations",
    source: inFrame(handler(`(drop (memory.grow (i32.const 1000)))
      (loop (memory.fill (i32.const 0) (i32.const 1) (i32.const 60000000)) (br 0)) (i64.const 0)`)),
    kind: "wasm_timeout",
    says: "did not end within 50 ms",
    timeoutMs: 50,
  },
  {
    name: "calls itself for ever",
    source: inFrame(
      handler("(i64.add (i64.const 1) (call $handler (local.get $pointer) (local.get $length)))"),
    ),
    kind: "wasm_trap",
    says: "stack overflow",
  },
  {
    name: "calls itself for ever through a table",
    source: inFrame(`(table 1 funcref) (elem (i32.const 0) $handler)
      ${
      handler(`(i64.add (i64.const 1)
        (call_indirect (param i32 i32) (result i64) (i32.const 1) (i32.const 2) (i32.const 0)))`)
    }`),
    kind: "wasm_trap",
    says: "stack overflow",
  },
  {
    name: "calls itself for ever in its start function",
    source: inFrame(`(func $start (call $start) (call $start)) (start $start) ${FINE}`),
    kind: "wasm_trap",
    says: "start function: stack overflow",
  },
  {
    name: "traps",
    source: inFrame(handler("(unreachable)")),
    kind: "wasm_trap",
    says: "unreachable",
  },
  {
    name: "traps in its start function",
    source: inFrame(`(func $start (unreachable)) (start $start) ${FINE}`),
    kind: "wasm_trap",
    says: "its start function: unreachable",
  },
  {
    name: "divides by zero",
    source: inFrame(handler("(i64.div_u (i64.const 1) (i64.const 0))")),
    kind: "wasm_trap",
    says: "divide by zero",
  },
  {
    name: "calls an entry of a table that is not there",
    source: inFrame(`(table 1 funcref) ${handler("(call_indirect (result i64) (i32.const 5))")}`),
    kind: "wasm_trap",
    says: "table index is out of bounds",
  },
  {
    name: "reads outside of its memory",
    source: inFrame(handler("(i64.load (i32.const 131065))")),
    kind: "wasm_memory",
    says: "memory access out of bounds",
  },
  {
    name: "puts data outside of its memory",
    source: inFrame(`${dataAt(131071, Uint8Array.of(1, 2))} ${FINE}`),
    kind: "wasm_memory",
    says: "data segment",
  },
  {
    name: "grows its memory for ever",
    // memory.grow returns -1 beyond the maximum; a module that ignores it writes out of bounds.
    source: inFrame(handler(`(loop
      (i32.store8 (i32.shl (memory.grow (i32.const 64)) (i32.const 16)) (i32.const 1)) (br 0))
      (i64.const 0)`)),
    kind: "wasm_memory",
    says: "memory access out of bounds",
  },
  {
    name: "says that its output lies behind its memory",
    source: outputAt(131072, 1),
    kind: "wasm_memory",
    says: "1 bytes at 131072, of 131072",
  },
  {
    name: "says that its output ends behind its memory",
    source: outputAt(131000, 73),
    kind: "wasm_memory",
    says: "73 bytes at 131000",
  },
  {
    name: "returns a negative length",
    source: inFrame(
      handler("(i64.or (i64.shl (i64.const 16) (i64.const 32)) (i64.const 4294967295))"),
    ),
    kind: "wasm_memory",
    says: "4294967295 bytes at 16",
  },
  {
    name: "returns a negative pointer and length",
    source: inFrame(handler("(i64.const -1)")),
    kind: "wasm_memory",
    says: "4294967295 bytes at 4294967295",
  },
  {
    name: "returns nothing",
    source: outputAt(16, 0),
    kind: "invalid_output",
    says: "it is empty",
  },
  {
    name: "returns memory that holds no JSON",
    source: outputAt(0, 64),
    kind: "invalid_output",
    says: "it is not JSON",
  },
  {
    name: "returns what is not UTF-8",
    source: inFrame(
      `${dataAt(16, Uint8Array.of(0x7b, 0xff, 0x7d))} ${handler(`(i64.const ${packed(16, 3)})`)}`,
    ),
    kind: "invalid_output",
    says: "it is not UTF-8",
  },
  {
    name: "returns more than 8 MiB",
    source: inFrame(handler(`(drop (memory.grow (i32.const 1000)))
      (memory.fill (i32.const 0) (i32.const 32) (i32.const 9000000))
      (i64.const ${packed(0, 8 * 1024 * 1024 + 1)})`)),
    kind: "invalid_output",
    says: "8388609 bytes, at most 8388608",
  },
  {
    name: "returns 8 MiB of brackets",
    source: inFrame(handler(`(drop (memory.grow (i32.const 1000)))
      (memory.fill (i32.const 0) (i32.const 91) (i32.const 8388608))
      (i64.const ${packed(0, 8 * 1024 * 1024)})`)),
    kind: "invalid_output",
    says: "nests deeper",
  },
  {
    name: "returns no state",
    source: inFrame(returning('{"actions":[]}')),
    kind: "invalid_output",
    says: "`state` is missing",
  },
  {
    name: "returns an error without a type",
    source: inFrame(returning('{"error":{"message":"no"}}')),
    kind: "invalid_output",
    says: "`error.type`",
  },
  {
    name: "has a malloc that traps",
    source: withMalloc("unreachable"),
    kind: "wasm_trap",
    says: "in malloc",
  },
  {
    name: "has a malloc that returns 0",
    source: withMalloc("(i32.const 0)"),
    kind: "wasm_memory",
    says: "malloc returned 0",
  },
  {
    name: "has a malloc that returns -1",
    source: withMalloc("(i32.const -1)"),
    kind: "wasm_memory",
    says: "malloc returned a range outside of memory",
  },
  {
    name: "has a malloc that returns the end of its memory",
    source: withMalloc("(i32.const 131071)"),
    kind: "wasm_memory",
    says: "malloc returned a range outside of memory",
  },
];
