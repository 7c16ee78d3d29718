/** The same inputs give the same state: after any earlier call, in any runner, in any order. */

import assert from "node:assert/strict";
import { framed, handler, moduleFile, returning } from "../support/wasm/build_module.ts";
import { callOnce, kindOf, TENANT, upload, withPool } from "../support/wasm/open_pool.ts";

/** FNV-1a of 32 bits over the input: what `digest.wat` claims to compute, done here. */
function digestOf(text: string): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}

const EVENTS = Array.from({ length: 400 }, (_, n) => `{"key":"order:é${n}","data":{"n":${n}}}`);

function expectedState(): string {
  let state = "{}";
  for (const event of EVENTS) {
    state = `{"digest":"${digestOf(`{"state":${state},"event":${event}}`)}"}`;
  }
  return state;
}

Deno.test("a fold gives the state that the module's source says, in every runner at once", async () => {
  await withPool(async (pool) => {
    const target = await upload(pool, await moduleFile("digest"));
    const events = EVENTS.map((eventJson) => ({ target, eventJson }));
    const folds = Array.from(
      { length: 12 },
      (_, n) => pool.foldEvents(`tenant ${n}`, "{}", events),
    );
    for (const outcome of await Promise.all(folds)) {
      assert.deepEqual(outcome, { ok: true, value: expectedState() });
    }
    assert.equal(pool.measure().processIds.length, 3);
  });
});

Deno.test("a call knows nothing of the calls before it: not by variables, memory, its size or tables", async () => {
  await withPool(async (pool) => {
    const target = await upload(pool, await moduleFile("counter"));
    for (let turn = 0; turn < 300; turn++) {
      assert.deepEqual(await callOnce(pool, target), { ok: true, value: '{"calls":1}' });
    }
    const events = Array.from({ length: 3_000 }, () => ({ target, eventJson: "{}" }));
    const folded = await pool.foldEvents(TENANT, "{}", events);
    assert.deepEqual(folded, { ok: true, value: '{"calls":1}' });
  }, { runners: 1 });
});

/** Traps if a byte of the second page is not 0, then sets it. */
const MARKS = `(if (i32.load8_u (i32.const 100000)) (then (unreachable)))
  (i32.store8 (i32.const 100000) (i32.const 1))`;

Deno.test("a call that was stopped or that trapped leaves nothing in memory for the next one", async () => {
  const endings = ["(loop (br 0))", "(unreachable)", "(drop (i64.load (i32.const -1)))", ""];
  await withPool(async (pool) => {
    for (const ending of endings) {
      const body = returning('{"state":{}}').replace(
        "(result i64)",
        `(result i64) ${MARKS} ${ending}`,
      );
      const target = await upload(pool, await framed(body), { timeoutMs: 50 });
      const kinds: string[] = [];
      for (let turn = 0; turn < 3; turn++) {
        const kind = kindOf(await callOnce(pool, target));
        kinds.push(kind);
        // Until its pause is over.
        if (kind === "wasm_timeout") await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
      // If the mark were still there, the second call would end differently from the first.
      assert.equal(new Set(kinds).size, 1, kinds.join("\n"));
    }
  }, { runners: 1 });
});

Deno.test("a stack overflow comes at the same depth, the first time and when code is optimized", async () => {
  await withPool(async (pool) => {
    // Recurses as deep as it is told; the greatest depth that still works is searched.
    const source = `(func $deep (param i32) (result i32) (if (result i32) (local.get 0)
        (then (i32.add (i32.const 1) (call $deep (i32.sub (local.get 0) (i32.const 1)))))
        (else (i32.const 0))))
      ${
      returning('{"state":{}}').replace(
        "(result i64)",
        "(result i64) (drop (call $deep (i32.mul (local.get $length) (i32.const 64))))",
      )
    }`;
    const target = await upload(pool, await framed(source));
    async function deepest(): Promise<number> {
      let [works, fails] = [0, 400];
      while (fails - works > 1) {
        const middle = (works + fails) >> 1;
        const kind = kindOf(await callOnce(pool, target, `"${"x".repeat(middle)}"`));
        assert(kind === "ok" || kind === "wasm_trap", kind);
        if (kind === "ok") works = middle;
        else fails = middle;
      }
      return works;
    }
    assert.equal(await deepest(), await deepest());
  }, { runners: 1 });
});

Deno.test("a state is what its module said, key by key and number by number", async () => {
  await withPool(async (pool) => {
    const state = '{"z":1,"a":{"é":"\\u2028","list":[1.5,-0.1,1e21,true,null,""]},"__proto__":{}}';
    const target = await upload(
      pool,
      await framed(handler("(i64.const 0)") + returningAs("give", state)),
    );
    const outcome = await callOnce(pool, { ...target, entrypoint: "give" });
    assert(outcome.ok);
    assert.equal(outcome.value, JSON.stringify(JSON.parse(state)));
  });
});

function returningAs(name: string, state: string): string {
  return returning(`{"state":${state}}`)
    .replace("$handler", `$${name}`)
    .replace('"apply_handler"', `"${name}"`);
}
