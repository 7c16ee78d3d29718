/**
 * Which modules may be uploaded, each refusal by rule and place; and what is kept of a module.
 */

import assert from "node:assert/strict";
import { checkModule } from "../../../src/domain/wasm/check_module.ts";
import { MEMORY_IMPORT, memoryOfKept } from "../../../src/domain/wasm/rewrite_module.ts";
import { limits } from "../../../src/domain/limits.ts";
import { assemble, framed, handler } from "../../support/wasm/build_module.ts";

const MALLOC = `(func (export "malloc") (param i32) (result i32) i32.const 64)`;
const HANDLER = handler("i64.const 0");
const MEMORY = `(memory (export "memory") 1)`;

interface RefusedModule {
  readonly name: string;
  readonly source: string;
  readonly rule: string;
  readonly path: string;
  /** Part of the message: the offending item by its name. */
  readonly says: string;
}

const REFUSED: readonly RefusedModule[] = [
  {
    name: "a function that it imports",
    source: `(module (import "env" "abort" (func)) ${MEMORY} ${MALLOC} ${HANDLER})`,
    rule: "module_import",
    path: "file.imports",
    says: "env.abort",
  },
  {
    name: "a memory that it imports",
    source: `(module (import "env" "memory" (memory 1)) ${MALLOC} ${HANDLER})`,
    rule: "module_import",
    path: "file.imports",
    says: "env.memory",
  },
  {
    name: "a global that it imports",
    source: `(module (import "js" "g" (global i32)) ${MEMORY} ${MALLOC} ${HANDLER})`,
    rule: "module_import",
    path: "file.imports",
    says: "js.g",
  },
  {
    name: "no memory among the exports",
    source: `(module (memory 1) ${MALLOC} ${HANDLER})`,
    rule: "module_export",
    path: "file.exports.memory",
    says: "must export memory",
  },
  {
    name: "a memory that is a function",
    source: `(module (func (export "memory")) (memory 1) ${MALLOC} ${HANDLER})`,
    rule: "module_export",
    path: "file.exports.memory",
    says: "something else of that name",
  },
  {
    name: "no malloc",
    source: `(module ${MEMORY} ${HANDLER})`,
    rule: "module_export",
    path: "file.exports.malloc",
    says: "must export malloc",
  },
  {
    name: "a malloc of another type",
    source:
      `(module ${MEMORY} (func (export "malloc") (param i64) (result i32) i32.const 0) ${HANDLER})`,
    rule: "module_export",
    path: "file.exports.malloc",
    says: "(i32) -> i32",
  },
  {
    name: "a malloc that is a global",
    source: `(module ${MEMORY} (global (export "malloc") i32 (i32.const 0)) ${HANDLER})`,
    rule: "module_export",
    path: "file.exports.malloc",
    says: "something else of that name",
  },
  {
    name: "no entrypoint",
    source: `(module ${MEMORY} ${MALLOC})`,
    rule: "module_export",
    path: "file.exports",
    says: "(i32, i32) -> i64",
  },
  {
    name: "entrypoints of other types only",
    source: `(module ${MEMORY} ${MALLOC}
      (func (export "apply_handler") (param i32 i32) (result i32) i32.const 0)
      (func (export "other") (param i32) (result i64) i64.const 0)
      (func (export "more") (param i32 i32) (result i64 i64) i64.const 0 i64.const 0))`,
    rule: "module_export",
    path: "file.exports",
    says: "an entrypoint",
  },
  {
    name: "a memory that begins too large",
    source: `(module (memory (export "memory") 1025) ${MALLOC} ${HANDLER})`,
    rule: "module_memory",
    path: "file.memory",
    says: "1025 pages",
  },
  {
    name: "two memories",
    source: `(module ${MEMORY} (memory 1) ${MALLOC} ${HANDLER})`,
    rule: "module_memory",
    path: "file.memory",
    says: "2 memories",
  },
  {
    name: "a shared memory",
    source: `(module (memory (export "memory") 1 2 shared) ${MALLOC} ${HANDLER})`,
    rule: "module_feature",
    path: "file.memory",
    says: "limits of kind 0x03",
  },
  {
    name: "a memory with 64-bit addresses",
    source: `(module (memory (export "memory") i64 1) ${MALLOC} ${HANDLER})`,
    rule: "module_feature",
    path: "file.memory",
    says: "limits of kind 0x04",
  },
  {
    name: "a table that begins too large",
    source: `(module ${MEMORY} (table 65537 funcref) ${MALLOC} ${HANDLER})`,
    rule: "module_limit",
    path: "file.tables",
    says: "65537 table entries",
  },
  {
    name: "too many exports",
    source: `(module ${MEMORY} ${MALLOC} ${HANDLER} ${
      Array.from({ length: 998 }, (_, index) => `(export "f${index}" (func $handler))`).join(" ")
    })`,
    rule: "module_limit",
    path: "file.exports",
    says: "1001 exports",
  },
  {
    name: "too many local variables in all",
    source: `(module ${MEMORY} ${MALLOC} ${HANDLER} ${
      `(func (local ${"i32 ".repeat(40_000)}))`.repeat(26)
    })`,
    rule: "module_limit",
    path: "file.code",
    says: "1040000 local variables",
  },
  {
    name: "tail calls",
    source: `(module ${MEMORY} ${MALLOC} ${
      handler("(return_call $handler (local.get 0) (local.get 1))")
    })`,
    rule: "module_feature",
    path: "file.code",
    says: "the instruction 0x12",
  },
  {
    name: "exceptions",
    source: `(module ${MEMORY} ${MALLOC} (tag $e) ${HANDLER} (func (throw $e)))`,
    rule: "module_feature",
    path: "file.memory",
    says: "a section with number 13",
  },
  {
    name: "atomic operations",
    source: `(module ${MEMORY} ${MALLOC} ${HANDLER} (func (drop (i32.atomic.load (i32.const 0)))))`,
    rule: "module_feature",
    path: "file.code",
    says: "the instruction 0xfe",
  },
  {
    name: "relaxed SIMD, which depends on the processor",
    source: `(module ${MEMORY} ${MALLOC} ${HANDLER} (func (param v128) (result v128)
      (i8x16.relaxed_swizzle (local.get 0) (local.get 0))))`,
    rule: "module_feature",
    path: "file.code",
    says: "relaxed SIMD (0xfd 256)",
  },
];

for (const { name, source, rule, path, says } of REFUSED) {
  Deno.test(`checkModule() refuses ${name}`, async () => {
    const check = checkModule(await assemble(source));
    assert(!check.ok, "the module was accepted");
    assert.equal(check.violation.rule, rule);
    assert.equal(check.violation.path, path);
    assert(check.violation.message.includes(says), check.violation.message);
    assert(check.violation.hint.length > 10);
  });
}

Deno.test("checkModule() refuses what is no module of version 1, by its first bytes", () => {
  const rules = ["", "\0as", "<html>", "\0asn\x01\0\0\0", "\0asm\x02\0\0\0", "\0asm\x0d\0\x01\0"]
    .map((text) => checkModule(new TextEncoder().encode(text)))
    .map((check) => check.ok ? "accepted" : check.violation.rule);
  const malformed = "module_malformed";
  const expected = [malformed, malformed, malformed, malformed, "module_version", "module_version"];
  assert.deepEqual(rules, expected);
});

Deno.test("checkModule() refuses a file of more than 4 MiB and takes one of just that size", async () => {
  const module = await framed(HANDLER);
  const room = limits.wasmModuleBytesMax - module.length;
  // A custom section: its number, its length in four bytes, an empty name, and zeros.
  const content = room - 5;
  const length = [content | 0x80, (content >> 7) | 0x80, (content >> 14) | 0x80, content >> 21];
  const full = new Uint8Array(limits.wasmModuleBytesMax);
  full.set(module);
  full.set([0, ...length.map((byte) => byte & 0xff)], module.length);
  assert.equal(checkModule(full).ok, true);
  const longer = new Uint8Array(full.length + 1);
  longer.set(full);
  const check = checkModule(longer);
  assert.equal(!check.ok && check.violation.rule, "module_size");
});

Deno.test("checkModule() never accepts a module that is cut off, wherever it is cut", async () => {
  const module = await framed(HANDLER);
  for (let length = 0; length < module.length; length++) {
    const check = checkModule(module.slice(0, length));
    assert(!check.ok, `cut after ${length} bytes`);
  }
});

Deno.test("checkModule() names all entrypoints by their type, in their order", async () => {
  const check = checkModule(
    await framed(`
      (func (export "second") (param i32 i32) (result i64) i64.const 0)
      (func (export "another type") (param i32 i32))
      (func (export "with a space") (param i32 i32) (result i64) i64.const 0)
      (func (export "first") (param i32 i32) (result i64) i64.const 0)`),
  );
  assert(check.ok);
  assert.deepEqual(check.module.entrypoints, ["second", "first"]);
  assert.equal(check.module.memoryPagesInitial, 2);
});

const MAXIMA = [
  { declared: "3", maximum: 1024 },
  { declared: "3 9", maximum: 9 },
  { declared: "3 1024", maximum: 1024 },
  { declared: "3 65536", maximum: 1024 },
  { declared: "3 3", maximum: 3 },
];
for (const { declared, maximum } of MAXIMA) {
  Deno.test(`checkModule() keeps a memory of (${declared}) with a maximum of ${maximum} pages`, async () => {
    const source = `(module (memory (export "memory") ${declared}) ${MALLOC} ${
      handler("(i64.extend_i32_s (memory.grow (local.get 0)))")
    })`;
    const check = checkModule(await assemble(source));
    assert(check.ok);
    assert.deepEqual(memoryOfKept(check.module.bytes), { initial: 3, maximum });
    // Asks the engine: the memory grows to the maximum, and not one page further.
    const memory = new WebAssembly.Memory({ initial: 3, maximum });
    const module = new WebAssembly.Module(check.module.bytes);
    const instance = new WebAssembly.Instance(module, { "": { [MEMORY_IMPORT]: memory } });
    const grow = instance.exports.apply_handler as (pages: number, unused: number) => bigint;
    assert.equal(instance.exports.memory, memory);
    assert.equal(grow(maximum - 3, 0), 3n);
    assert.equal(grow(1, 0), -1n);
  });
}

Deno.test("checkModule() keeps tables with a maximum, of both kinds of references", async () => {
  const check = checkModule(
    await framed(`
      (table $f 2 funcref) (table $e 3 9 externref)
      (func (export "apply_handler") (param i32 i32) (result i64)
        (i64.add
          (i64.extend_i32_s (table.grow $f (ref.null func) (local.get 0)))
          (i64.extend_i32_s (table.grow $e (ref.null extern) (local.get 1)))))`),
  );
  assert(check.ok);
  const memory = new WebAssembly.Memory(memoryOfKept(check.module.bytes));
  const module = new WebAssembly.Module(check.module.bytes);
  const instance = new WebAssembly.Instance(module, { "": { [MEMORY_IMPORT]: memory } });
  const grow = instance.exports.apply_handler as (first: number, second: number) => bigint;
  assert.equal(grow(65_534, 6), 5n);
  assert.equal(grow(1, 1), -2n);
});

Deno.test("checkModule() leaves custom sections out, except the names of functions", async () => {
  const named = await framed(HANDLER);
  const custom = Uint8Array.of(0, 6, 5, ...new TextEncoder().encode("notes"));
  const names = Uint8Array.of(0, 5, 4, ...new TextEncoder().encode("name"));
  const check = checkModule(Uint8Array.from([...named, ...custom, ...names]));
  const plain = checkModule(Uint8Array.from([...named, ...names]));
  assert(check.ok && plain.ok);
  assert.deepEqual(check.module.bytes, plain.module.bytes);
  const module = new WebAssembly.Module(check.module.bytes);
  assert.equal(WebAssembly.Module.customSections(module, "notes").length, 0);
  assert.equal(WebAssembly.Module.customSections(module, "name").length, 1);
});

Deno.test("checkModule() accepts every kind of instruction of WebAssembly 2.0", async () => {
  const path = new URL("../../support/wasm/modules/instructions.wat", import.meta.url);
  const bytes = await assemble(await Deno.readTextFile(path));
  assert(WebAssembly.validate(bytes), "the engine does not accept the example");
  const check = checkModule(bytes);
  assert(check.ok, check.ok ? "" : check.violation.message);
  assert(WebAssembly.validate(check.module.bytes));
});
