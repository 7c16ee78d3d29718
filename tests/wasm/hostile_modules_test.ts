/**
 * Modules that misbehave in every way that one can: each call ends with its own kind of failure,
 * and the runner that had it takes the next call.
 */

import assert from "node:assert/strict";
import {
  assemble,
  dataAt,
  framed,
  handler,
  packed,
  returning,
} from "../support/wasm/build_module.ts";
import { callOnce, kindOf, messageOf, upload, withPool } from "../support/wasm/open_pool.ts";

interface Hostile {
  readonly name: string;
  readonly source: string;
  readonly kind: string;
  readonly says: string;
  readonly timeoutMs?: number;
}

const MEMORY = `(memory (export "memory") 2)`;
const ENDLESS = "(loop (br 0))";
const FINE = returning('{"state":{}}');

function withMalloc(body: string): string {
  return `(module ${MEMORY} (func (export "malloc") (param i32) (result i32) ${body}) ${FINE})`;
}

function inFrame(rest: string): string {
  return `(module ${MEMORY}
    (func (export "malloc") (param i32) (result i32) (i32.const 4096)) ${rest})`;
}

/** `apply_handler` says that its output is there. */
function outputAt(pointer: number, length: number): string {
  return inFrame(handler(`(i64.const ${packed(pointer, length)})`));
}

const HOSTILE: readonly Hostile[] = [
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
    // memory.grow gives -1 beyond the maximum; a module that does not look writes where nothing is.
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

for (const { name, source, kind, says, timeoutMs } of HOSTILE) {
  Deno.test(`a module that ${name} ends with ${kind}`, async () => {
    await withPool(async (pool) => {
      const hostile = await upload(pool, await assemble(source), { timeoutMs });
      const fine = await upload(pool, await framed(returning('{"state":{"a":1}}')));
      assert.equal((await callOnce(pool, fine)).ok, true);
      const before = pool.measure().processIds;
      assert.equal(before.length, 1);
      const outcome = await callOnce(pool, hostile);
      assert.equal(kindOf(outcome), kind, messageOf(outcome));
      assert(messageOf(outcome).includes(says), messageOf(outcome));
      assert(!outcome.ok && outcome.stop.kind === "failed");
      assert.equal(outcome.stop.place.digest, hostile.module.digest);
      assert.equal(outcome.stop.place.entrypoint, "apply_handler");
      assert.deepEqual(await callOnce(pool, fine), { ok: true, value: '{"a":1}' });
      // On a busy machine, what has to be stopped may lose its runner.
      if (kind !== "wasm_timeout") assert.deepEqual(pool.measure().processIds, before);
    }, { runners: 1 });
  });
}

Deno.test("a module that writes all over its memory, its malloc's too, hurts nobody", async () => {
  await withPool(async (pool) => {
    const source = withMalloc("(i32.const 16)");
    // Its input lies over the text that it returns.
    const outcome = await callOnce(pool, await upload(pool, await assemble(source)));
    assert(["ok", "invalid_output"].includes(kindOf(outcome)), kindOf(outcome));
    const fine = await upload(pool, await framed(returning('{"state":{}}')));
    assert.deepEqual(await callOnce(pool, fine), { ok: true, value: "{}" });
  });
});

Deno.test("memory.grow gives -1 beyond 64 MiB, and the call goes on", async () => {
  await withPool(async (pool) => {
    const body = `(if (i32.ne (memory.grow (i32.const 1022)) (i32.const 2)) (then (unreachable)))
      (if (i32.ne (memory.grow (i32.const 1)) (i32.const -1)) (then (unreachable)))
      (i64.const ${packed(16, 12)})`;
    const source = `${dataAt(16, new TextEncoder().encode('{"state":{}}'))} ${handler(body)}`;
    const target = await upload(pool, await framed(source));
    assert.deepEqual(await callOnce(pool, target), { ok: true, value: "{}" });
  });
});

Deno.test("a module has a stack of at least 64 KiB: a thousand calls deep of small functions", async () => {
  await withPool(async (pool) => {
    // Each level of this function takes 64 bytes, as measured by how many more fit into more.
    const deep = `(func $deep (param i32) (result i32) (if (result i32) (local.get 0)
      (then (i32.add (i32.const 1) (call $deep (i32.sub (local.get 0) (i32.const 1)))))
      (else (i32.const 0))))`;
    const text = dataAt(16, new TextEncoder().encode('{"state":{}}'));
    const body = `(drop (call $deep (i32.const 1020))) (i64.const ${packed(16, 12)})`;
    const target = await upload(pool, await framed(`${deep} ${text} ${handler(body)}`));
    assert.equal(kindOf(await callOnce(pool, target)), "ok");
  });
});

Deno.test("a module without the entrypoint that a spec names ends with wasm_trap", async () => {
  await withPool(async (pool) => {
    const bytes = await framed(
      `${returning('{"state":{}}')} (func (export "wide") (param i64 i64) (result i64) i64.const 0)
       (func (export "narrow") (param i32 i32) (result i32) i32.const 0)`,
    );
    for (const entrypoint of ["missing", "wide", "narrow", "memory"]) {
      const outcome = await callOnce(pool, await upload(pool, bytes, { entrypoint }));
      assert.equal(kindOf(outcome), "wasm_trap", entrypoint);
      assert(messageOf(outcome).includes("(i32, i32) -> i64"));
    }
  });
});

Deno.test("a module's own error comes back as it is, and is no failure", async () => {
  await withPool(async (pool) => {
    const error = { type: "stock", message: "sold out", code: "E1", context: { left: 0 } };
    const target = await upload(pool, await framed(returning(JSON.stringify({ error }))));
    const outcome = await callOnce(pool, target);
    assert(!outcome.ok && outcome.stop.kind === "handler_error");
    assert.deepEqual(outcome.stop.error, error);
  });
});

Deno.test("a module that the engine does not accept is refused at upload, with its reason", async () => {
  await withPool(async (pool) => {
    // Well formed, but its function leaves nothing on the stack.
    const bytes = await framed(handler("(i64.const 0)"));
    const at = bytes.lastIndexOf(0x42);
    bytes.set([0x01, 0x01], at);
    const check = await pool.checkModule("tenant", bytes);
    assert(check.ok && !check.value.ok);
    assert.equal(check.value.violation.rule, "module_malformed");
    assert(check.value.violation.message.includes("does not compile"));
  });
});
