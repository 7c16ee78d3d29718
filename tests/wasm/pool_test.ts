/**
 * The pool: every request gets an answer, whatever happens to its runners. Each fault comes in
 * both forms: the runner is gone before the request, or dies while it works.
 */

import assert from "node:assert/strict";
import type { RunnerCommand } from "../../src/runners/runner_process.ts";
import type { WasmOutcome } from "../../src/domain/wasm/failure.ts";
import { foldJob } from "../../src/wasm/job.ts";
import type { WasmPool } from "../../src/wasm/pool.ts";
import { assemble, framed, handler, moduleFile, returning } from "../support/wasm/build_module.ts";
import {
  callOnce,
  kindOf,
  messageOf,
  TENANT,
  upload,
  withPool,
} from "../support/wasm/open_pool.ts";

const FINE = returning('{"state":{"a":1}}');
const ENDLESS = handler("(loop (br 0)) (i64.const 0)");
const ENDLESS_WHEN_LONG = FINE.replace(
  "(result i64)",
  "(result i64) (loop (br_if 0 (i32.gt_u (local.get $length) (i32.const 500))))",
);
const LONG = `"${"x".repeat(600)}"`;
/** Longer than any call of these tests takes; ends a test that hangs. */
const WAIT_TURNS = 500;

function mute(what: string): RunnerCommand {
  const program = new URL("../support/wasm/mute_runner.ts", import.meta.url).href;
  return { path: Deno.execPath(), args: ["run", "--no-prompt", "--no-config", program, what] };
}

/** A target whose bytes any runner accepts: an upload check needs a runner that answers. */
function unchecked() {
  const module = { digest: "any", load: () => Promise.resolve(new Uint8Array(8)) };
  return { module, entrypoint: "apply_handler", timeoutMs: 100 };
}

async function until(holds: () => boolean): Promise<void> {
  for (let turn = 0; turn < WAIT_TURNS && !holds(); turn++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert(holds(), "it did not come to that");
}

function isAlive(pid: number): boolean {
  try {
    const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
    return !/\) [ZX] /.test(stat);
  } catch {
    return false;
  }
}

Deno.test("foldEvents() gives each event the state that the one before gave", async () => {
  await withPool(async (pool) => {
    // An echo: its output is its input, which contains the state it was given.
    const echo = await upload(
      pool,
      await framed(handler(`(i64.or (i64.shl (i64.extend_i32_u (local.get $pointer)) (i64.const 32))
        (i64.extend_i32_u (local.get $length)))`)),
    );
    const state = '{"kept":[1,"é",{"deep":null}]}';
    const events = Array.from(
      { length: 1_200 },
      (_, n) => ({ target: echo, eventJson: `{"n":${n}}` }),
    );
    assert.deepEqual(await pool.foldEvents(TENANT, state, events), { ok: true, value: state });
    const digest = await upload(pool, await moduleFile("digest"));
    // The result is the same in one fold as in one call for each event.
    const mixed = events.slice(0, 300).map((each, n) =>
      n % 3 === 0 ? each : { ...each, target: digest }
    );
    const together = await pool.foldEvents(TENANT, "{}", mixed);
    let apart = "{}";
    for (const event of mixed) {
      const outcome = await pool.foldEvents(TENANT, apart, [event]);
      assert(outcome.ok);
      apart = outcome.value;
    }
    assert.deepEqual(together, { ok: true, value: apart });
  });
});

Deno.test("foldEvents() stops at the first event that fails and says which one it was", async () => {
  await withPool(async (pool) => {
    const fine = await upload(pool, await framed(FINE));
    const trap = await upload(pool, await framed(handler("(unreachable)")));
    const error = await upload(
      pool,
      await framed(returning('{"error":{"type":"t","message":""}}')),
    );
    for (const [bad, kind] of [[trap, "wasm_trap"], [error, "handler_error"]] as const) {
      for (const index of [0, 7, 700]) {
        const events = Array.from({ length: 701 }, (_, n) => ({
          target: n >= index ? bad : fine,
          eventJson: "{}",
        }));
        const outcome = await pool.foldEvents(TENANT, "{}", events);
        assert.equal(kindOf(outcome), kind);
        assert(!outcome.ok && outcome.stop.kind !== "unavailable");
        assert.equal(outcome.stop.place.eventIndex, index);
        assert.equal(outcome.stop.place.digest, bad.module.digest);
      }
    }
  });
});

Deno.test("call() gives the actions and the context that a module returns, checked", async () => {
  await withPool(async (pool) => {
    const text = '{"actions":[{"emit":{"key":"order:1","event_type":"x"}}],"context":{"rate":2}}';
    const target = await upload(pool, await framed(returning(text)));
    const actions = await pool.call(TENANT, target, "actions", '{"event":{},"context":{}}');
    const action = { aggregate_type: "order", id: "1", event_type: "x", data: {} };
    assert.deepEqual(actions, { ok: true, value: JSON.stringify([action]) });
    const context = await pool.call(TENANT, target, "context", '{"event":{},"context":{}}');
    assert.deepEqual(context, { ok: true, value: '{"rate":2}' });
    assert.equal(kindOf(await pool.call(TENANT, target, "state", "{}")), "invalid_output");
  });
});

Deno.test("a runner that has not got a module is sent it, and more modules than it can hold", async () => {
  await withPool(async (pool) => {
    const bytes = await assemble(`(module (memory (export "memory") 32)
      (func (export "malloc") (param i32) (result i32) (i32.const 4096)) ${FINE})`);
    const checked = await upload(pool, bytes);
    const kept = checked.module.load();
    let loads = 0;
    const targets = Array.from({ length: 100 }, (_, number) => ({
      ...checked,
      module: {
        digest: `module ${number}`,
        // With 2 MiB of memory each, a third of them fits at a time.
        load: () => (loads++, kept),
      },
    }));
    for (let round = 0; round < 2; round++) {
      for (const target of targets) assert.equal(kindOf(await callOnce(pool, target)), "ok");
    }
    assert.equal(loads, 200);
    for (let again = 0; again < 3; again++) await callOnce(pool, targets[99]!);
    assert.equal(loads, 200);
  }, { runners: 1 });
});

Deno.test("a module that cannot be loaded rejects the call, and the runner goes on", async () => {
  await withPool(async (pool) => {
    const fine = await upload(pool, await framed(FINE));
    const outage = new Error("the store is away");
    const target = { ...fine, module: { digest: "away", load: () => Promise.reject(outage) } };
    await assert.rejects(callOnce(pool, target), outage);
    assert.equal(kindOf(await callOnce(pool, fine)), "ok");
    assert.equal(pool.measure().processIds.length, 1);
  }, { runners: 1 });
});

for (const when of ["while it works", "before it is asked"]) {
  Deno.test(`a call is tried again when its runner is killed ${when}`, async () => {
    await withPool(async (pool) => {
      // Loops for about 100 ms, then returns: long enough to be killed meanwhile.
      const busy = returning('{"state":{"a":1}}').replace(
        "(result i64)",
        `(result i64) (local $i i32) (local.set $i (i32.const 300000000))
         (loop (local.set $i (i32.sub (local.get $i) (i32.const 1))) (br_if 0 (local.get $i)))`,
      );
      const target = await upload(pool, await framed(busy), { timeoutMs: 5_000 });
      const [pid] = pool.measure().processIds;
      if (when === "before it is asked") {
        Deno.kill(pid!, "SIGKILL");
        assert.equal(kindOf(await callOnce(pool, target)), "ok");
      } else {
        const called = callOnce(pool, target);
        await until(() => pool.measure().running === 1);
        Deno.kill(pid!, "SIGKILL");
        assert.equal(kindOf(await called), "ok");
      }
      assert(!pool.measure().processIds.includes(pid!));
    }, { runners: 1 });
  });
}

Deno.test("a fold goes on where it was when its runner is killed", async () => {
  await withPool(async (pool) => {
    const digest = await upload(pool, await moduleFile("digest"));
    const events = Array.from({ length: 5_000 }, (_, n) => ({ target: digest, eventJson: `${n}` }));
    const expected = await pool.foldEvents(TENANT, "{}", events);
    const folding = pool.foldEvents(TENANT, "{}", events);
    await until(() => pool.measure().running === 1);
    for (const pid of pool.measure().processIds) Deno.kill(pid, "SIGKILL");
    assert(expected.ok);
    assert.deepEqual(await folding, expected);
  });
});

Deno.test("a runner that does not stop in time is killed, spinning or silent", async () => {
  for (const what of ["spin", "sleep"]) {
    await withPool(async (pool) => {
      const called = callOnce(pool, unchecked());
      await until(() => pool.measure().processIds.length === 1);
      const [pid] = pool.measure().processIds;
      const outcome = await called;
      assert.equal(kindOf(outcome), "wasm_timeout");
      assert(messageOf(outcome).includes("100 ms"));
      await until(() => pool.measure().processIds.length === 0);
      assert(!isAlive(pid!));
    }, { command: mute(what) });
  }
});

Deno.test("a call is unavailable when one runner after the other ends under it", async () => {
  await withPool(async (pool) => {
    const outcome = await callOnce(pool, { ...unchecked(), timeoutMs: 5_000 });
    assert.equal(kindOf(outcome), "unavailable");
    assert(!outcome.ok && outcome.stop.kind === "unavailable" && outcome.stop.retryAfterMs > 0);
  }, { command: mute("exit") });
});

Deno.test("calls are unavailable where no runner can be started, and it is said why", async () => {
  const faults: string[] = [];
  const missing = { path: "/nonexistent/deno", args: [] };
  const silent = { path: "/bin/true", args: [] };
  for (const command of [missing, silent]) {
    await withPool(async (pool) => {
      for (let turn = 0; turn < 3; turn++) {
        assert.equal(kindOf(await callOnce(pool, unchecked())), "unavailable");
      }
    }, { command, onFault: (message) => faults.push(message) });
  }
  // One try each: the next is a second away.
  assert.equal(faults.length, 2);
});

Deno.test("a module that never ends does not hold up another tenant, nor its own other modules", async () => {
  await withPool(async (pool) => {
    const endless = await upload(pool, await framed(ENDLESS), { timeoutMs: 5_000 });
    const fine = await upload(pool, await framed(FINE));
    let ended = 0;
    const looping = Array.from(
      { length: 20 },
      () =>
        pool.foldEvents("bad", "{}", [{ target: endless, eventJson: "{}" }]).then(() => ended++),
    );
    const event = { target: fine, eventJson: "{}" };
    for (let turn = 0; turn < 200; turn++) {
      assert.equal(kindOf(await pool.foldEvents("good", "{}", [event])), "ok");
    }
    assert.equal(ended, 0);
    await pool.close();
    await Promise.all(looping);
  });
});

/** A module with one entrypoint that loops and another that does not. */
async function halfEndless(pool: WasmPool, timeoutMs: number) {
  const loops =
    '(func (export "apply_loop") (param i32 i32) (result i64) (loop (br 0)) (i64.const 0))';
  const fine = await upload(pool, await framed(FINE + loops), { timeoutMs });
  return { fine, endless: { ...fine, entrypoint: "apply_loop" } };
}

Deno.test("an entrypoint that never ends is paused alone, and its calls are told so at once", async () => {
  await withPool(async (pool) => {
    const { fine, endless } = await halfEndless(pool, 2_000);
    assert.equal(kindOf(await callOnce(pool, fine)), "ok");
    assert.equal(kindOf(await callOnce(pool, endless)), "wasm_timeout");
    for (let turn = 0; turn < 20; turn++) {
      const [told, went] = await Promise.all([callOnce(pool, endless), callOnce(pool, fine)]);
      assert.equal(kindOf(went), "ok");
      assert.equal(kindOf(told), "unavailable");
      assert.equal(
        messageOf(told),
        "The entrypoint 'apply_loop' is paused and was not called: its last call did not end in time",
      );
      assert.ok(!told.ok && told.stop.kind === "unavailable" && told.stop.isPaused);
      assert.ok(told.stop.retryAfterMs >= 1_000);
    }
  });
});

Deno.test("a fold blames the entrypoint that did not end, and others of its module go on", async () => {
  await withPool(async (pool) => {
    const { fine, endless } = await halfEndless(pool, 1_000);
    const mixed = [fine, fine, endless, fine].map((target) => ({ target, eventJson: "{}" }));
    const stopped = await pool.foldEvents(TENANT, "{}", mixed);
    assert.equal(kindOf(stopped), "wasm_timeout");
    assert.ok(!stopped.ok && stopped.stop.kind === "failed");
    assert.deepEqual([stopped.stop.place.eventIndex, stopped.stop.place.entrypoint], [
      2,
      "apply_loop",
    ]);
    assert.equal(kindOf(await callOnce(pool, fine)), "ok");
    assert.match(
      messageOf(await callOnce(pool, endless)),
      /^The entrypoint 'apply_loop' is paused/,
    );
    // The fold waits for the end of the first pause once it gets that far.
    const begun = performance.now();
    assert.notEqual(kindOf(await pool.foldEvents(TENANT, "{}", mixed)), "ok");
    assert.ok(performance.now() - begun < 4_000);
    assert.equal(kindOf(await callOnce(pool, fine)), "ok");
  });
});

Deno.test("a call that never ends does not fail those that were sent along with it", async () => {
  await withPool(async (pool) => {
    const target = await upload(pool, await framed(ENDLESS_WHEN_LONG), { timeoutMs: 50 });
    const calls = Array.from({ length: 60 }, (_, number) => {
      const eventJson = number === 20 ? LONG : "{}";
      return pool.foldEvents(TENANT, "{}", [{ target, eventJson }]);
    });
    const kinds = (await Promise.all(calls)).map(kindOf);
    assert.equal(kinds[20], "wasm_timeout");
    assert.deepEqual(new Set(kinds.toSpliced(20, 1)), new Set(["ok"]));
  });
});

/** More calls than a module must end in time before nothing interrupts it any more. */
const PROVING_CALLS = 120;

/** A module that has always ended in time, and that loops forever over {@link LONG}. */
async function proven(pool: WasmPool, timeoutMs: number) {
  const target = await upload(pool, await framed(ENDLESS_WHEN_LONG), { timeoutMs: 5_000 });
  const events = Array.from({ length: PROVING_CALLS }, () => ({ target, eventJson: "{}" }));
  assert.equal(kindOf(await pool.foldEvents(TENANT, "{}", events)), "ok");
  return { ...target, timeoutMs };
}

Deno.test("a module that has always ended in time, and then does not, ends with its runner", async () => {
  await withPool(async (pool) => {
    const target = await proven(pool, 50);
    const before = pool.measure().processIds;
    const outcome = await pool.foldEvents(TENANT, "{}", [{ target, eventJson: LONG }]);
    assert.equal(kindOf(outcome), "wasm_timeout");
    assert.match(messageOf(outcome), /did not end within 50 ms, and its runner was ended/);
    await until(() => before.every((pid) => !isAlive(pid)));
    assert.match(messageOf(await callOnce(pool, target)), /is paused and was not called/);
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.equal(kindOf(await callOnce(pool, target)), "ok");
  });
});

Deno.test("a fold in which an event does not end names that event, also of a proven module", async () => {
  await withPool(async (pool) => {
    const target = await proven(pool, 50);
    const events = Array.from({ length: 20 }, (_, index) => (
      { target, eventJson: index === 13 ? LONG : "{}" }
    ));
    const outcome = await pool.foldEvents(TENANT, "{}", events);
    assert.equal(kindOf(outcome), "wasm_timeout");
    assert.ok(!outcome.ok && outcome.stop.kind === "failed");
    assert.equal(outcome.stop.place.eventIndex, 13);
  });
});

Deno.test("a call that ends in the moment in which its time is over is ok or a timeout", async () => {
  await withPool(async (pool) => {
    // Takes half a millisecond to one and a half, by the length of the event: see
    // call_module.ts.
    const source = returning('{"state":{"a":1}}').replace(
      "(result i64)",
      `(result i64) (local $i i32) (local.set $i (i32.mul (i32.const 1000) (local.get $length)))
       (loop (local.set $i (i32.sub (local.get $i) (i32.const 1))) (br_if 0 (local.get $i)))`,
    );
    const target = await upload(pool, await framed(source), { timeoutMs: 1 });
    for (let run = 0; run < 400; run++) {
      // Separate modules, because timeouts are held against a module.
      const own = { ...target, module: { ...target.module, digest: `${run % 40}` } };
      const event = { target: own, eventJson: `"${"x".repeat(1_000 + (run * 37) % 3_000)}"` };
      const outcome = await pool.foldEvents(`tenant ${run}`, "{}", [event]);
      assert(["ok", "wasm_timeout"].includes(kindOf(outcome)), JSON.stringify(outcome));
    }
  });
});

Deno.test("a tenant with too many calls waiting is refused more, and others are not", async () => {
  await withPool(async (pool) => {
    const endless = await upload(pool, await framed(ENDLESS), { timeoutMs: 5_000 });
    const fine = await upload(pool, await framed(FINE));
    const kinds: string[] = [];
    const calls = Array.from(
      { length: 300 },
      () =>
        pool.foldEvents("bad", "{}", [{ target: endless, eventJson: "{}" }])
          .then((outcome) => kinds.push(kindOf(outcome))),
    );
    await Promise.resolve();
    // 2 run, 256 wait.
    await until(() => kinds.length === 42);
    assert.deepEqual(new Set(kinds), new Set(["unavailable"]));
    assert.equal(kindOf(await callOnce(pool, fine)), "ok");
    await pool.close();
    await Promise.all(calls);
  });
});

Deno.test("a tenant whose calls hold too many bytes is refused more, one alone may hold them", async () => {
  await withPool(async (pool) => {
    const endless = await upload(pool, await framed(ENDLESS), { timeoutMs: 5_000 });
    const fine = await upload(pool, await framed(FINE), { timeoutMs: 20_000 });
    const large = JSON.stringify({ text: "x".repeat(10_000_000) });
    const kinds: string[] = [];
    const calls = Array.from(
      { length: 20 },
      () =>
        pool.foldEvents("bad", large, [{ target: endless, eventJson: "{}" }])
          .then((outcome) => kinds.push(`${kindOf(outcome)} ${messageOf(outcome)}`)),
    );
    // Three states, as text and as bytes, are 60 MB.
    await until(() => kinds.length === 17);
    const message = "The WebAssembly calls of this instance hold too much memory";
    assert.deepEqual(new Set(kinds), new Set([`unavailable ${message}`]));
    assert.equal(kindOf(await callOnce(pool, fine)), "ok");
    const most = JSON.stringify({ text: "x".repeat(33_000_000) });
    const event = { target: fine, eventJson: "{}" };
    for (const about of ["it is tried", "what it held is given back"]) {
      const outcome = await pool.foldEvents("other", most, [event]);
      assert.equal(kindOf(outcome), "wasm_memory", about);
    }
    await pool.close();
    await Promise.all(calls);
  });
});

Deno.test("a fold whose state grows counts what it has grown by, and ends without room for it", () => {
  const asked: number[] = [];
  const outcomes: WasmOutcome<string>[] = [];
  const stop = { kind: "unavailable", message: "no room", retryAfterMs: 1 } as const;
  const asker = {
    tenant: TENANT,
    settle: (outcome: WasmOutcome<string>) => void outcomes.push(outcome),
    reject() {},
    hold: (bytes: number) => (asked.push(bytes), bytes > 500 ? stop : undefined),
  };
  const events = Array.from({ length: 4 }, () => ({ target: unchecked(), eventJson: "{}" }));
  const job = foldJob(asker, "{}", events, () => false);
  const answer = (bytes: number) => ({
    message: { kind: "value", done: 1, tookMs: 0, pauses: false } as const,
    body: new Uint8Array(bytes),
  });
  assert.equal(job.take(answer(402)), false);
  assert.equal(job.take(answer(302)), false);
  assert.equal(job.take(answer(1_302)), true);
  assert.deepEqual([asked, outcomes], [[400, -100, 1_000], [{ ok: false, stop }]]);
});

Deno.test("close() answers what runs and what waits, and leaves no process behind", async () => {
  let closed: WasmPool | undefined;
  await withPool(async (pool) => {
    closed = pool;
    const endless = await upload(pool, await framed(ENDLESS), { timeoutMs: 5_000 });
    const calls = Array.from({ length: 10 }, () => callOnce(pool, endless));
    await until(() => pool.measure().processIds.length === 2);
    const { processIds } = pool.measure();
    await pool.close();
    for (const call of calls) assert.equal(kindOf(await call), "unavailable");
    assert(processIds.every((pid) => !isAlive(pid)));
    assert.deepEqual(pool.measure(), { processIds: [], running: 0, waiting: 0 });
  });
  assert.equal(kindOf(await callOnce(closed!, unchecked())), "unavailable");
});

Deno.test("a runner sees nothing of the environment of the server, and may do nothing", async () => {
  await withPool(async (pool) => {
    await upload(pool, await framed(FINE));
    const [pid] = pool.measure().processIds;
    assert.equal(Deno.readTextFileSync(`/proc/${pid}/environ`).replaceAll("\0", ""), "");
    const flags = Deno.readTextFileSync(`/proc/${pid}/cmdline`).split("\0");
    assert(flags.includes("--no-prompt"));
    assert(!flags.some((flag) => flag.startsWith("--allow") || flag === "-A"));
  });
});
