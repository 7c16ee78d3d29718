/**
 * Modules that misbehave in every possible way: each call ends with its own kind of failure.
 * The runner that had the call takes the next one.
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
import { HOSTILE_MODULES, withMalloc } from "../support/wasm/hostile_modules.ts";
import { callOnce, kindOf, messageOf, upload, withPool } from "../support/wasm/open_pool.ts";

for (const { name, source, kind, says, timeoutMs } of HOSTILE_MODULES) {
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
      // On a busy machine a call that must be stopped may cost its runner.
      if (kind !== "wasm_timeout") assert.deepEqual(pool.measure().processIds, before);
    }, { runners: 1 });
  });
}

Deno.test("a module that writes all over its memory, its malloc's too, hurts nobody", async () => {
  await withPool(async (pool) => {
    const source = withMalloc("(i32.const 16)");
    // Its input overlaps the text that it returns.
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
    // Each level of this function takes 64 bytes, measured by how many more fit into a larger
    // stack.
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
