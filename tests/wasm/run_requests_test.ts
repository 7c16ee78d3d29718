/** How a runner handles requests, with a simulated clock and simulated memory. */

import assert from "node:assert/strict";
import { checkModule } from "../../src/domain/wasm/check_module.ts";
import type { RunnerRequest } from "../../src/wasm/messages.ts";
import { newRunner } from "../../src/wasm/run_requests.ts";
import { framed, handler, returning } from "../support/wasm/build_module.ts";

const NOTHING = new Uint8Array(0);
const MEBIBYTES = 1024 * 1024;
/** Grows its memory by 960 pages, to 62 MiB. */
const GROWING = returning('{"state":{}}').replace(
  "(result i64)",
  "(result i64) (drop (memory.grow (i32.const 960)))",
);

/** A runner that has the module, and its surroundings, which a test may change. */
async function runnerWith(source: string) {
  const world = { nowMs: 0, millisecondsPerLook: 0, residentBytes: 0, collections: 0 };
  const runner = newRunner({
    collect: () => void world.collections++,
    residentBytes: () => world.residentBytes,
    nowMs: () => world.nowMs += world.millisecondsPerLook,
  });
  const check = checkModule(await framed(source));
  assert(check.ok);
  const { bytes: body } = check.module;
  const loaded = runner.answer({ message: { kind: "module", digest: "m" }, body });
  assert.equal(loaded.message.kind, "loaded");
  return { runner, world };
}

function callOf(group?: number, digest = "m"): RunnerRequest {
  const target = { digest, entrypoint: "apply_handler", timeoutMs: 1_000 };
  const call = { kind: "call", target, output: "state" } as const;
  return group === undefined ? call : { ...call, group };
}

function foldOf(events: number, sliceMs: number): RunnerRequest {
  const target = { digest: "m", entrypoint: "apply_handler", timeoutMs: 1_000 };
  const each = Array.from({ length: events }, () => ({ bytes: 2, target: 0 }));
  return { kind: "fold", stateBytes: 2, events: each, targets: [target], sliceMs };
}

Deno.test("a runner skips the rest of a group after a call that took long, and no other group", async () => {
  const { runner, world } = await runnerWith(returning('{"state":{}}'));
  const answer = (group?: number) => runner.answer({ message: callOf(group), body: NOTHING });
  assert.equal(answer(1).message.kind, "value");
  world.millisecondsPerLook = 6;
  assert.equal(answer(1).message.kind, "value");
  world.millisecondsPerLook = 0;
  assert.deepEqual([answer(1), answer(1)].map(({ message }) => message.kind), [
    "skipped",
    "skipped",
  ]);
  assert.equal(answer(2).message.kind, "value");
  assert.equal(answer().message.kind, "value");
});

Deno.test("a runner ends a slice of a fold in time, after one event at least", async () => {
  const { runner, world } = await runnerWith(returning('{"state":{}}'));
  const body = new TextEncoder().encode("{}".repeat(11));
  const done = (sliceMs: number) => {
    const { message } = runner.answer({ message: foldOf(10, sliceMs), body });
    assert.equal(message.kind, "value");
    return message.kind === "value" ? message.done : 0;
  };
  assert.equal(done(5), 10);
  world.millisecondsPerLook = 2;
  assert.equal(done(0), 1);
  assert.equal(done(5), 3);
});

Deno.test("what ends too late is a timeout, interrupted or not", async () => {
  // Takes some 50 ms for long inputs, otherwise no time.
  const { runner } = await runnerWith(
    returning('{"state":{}}').replace(
      "(result i64)",
      `(result i64) (local $i i32) (if (i32.gt_u (local.get $length) (i32.const 500)) (then
         (local.set $i (i32.const 100000000))
         (loop (local.set $i (i32.sub (local.get $i) (i32.const 1))) (br_if 0 (local.get $i)))))`,
    ),
  );
  function callWith(bytes: number, timeoutMs = 10): string {
    const target = { digest: "m", entrypoint: "apply_handler", timeoutMs };
    const message = { kind: "call", target, output: "state" } as const;
    const { message: answer } = runner.answer({ message, body: new Uint8Array(bytes) });
    return answer.kind === "failed" ? answer.failure.message : answer.kind;
  }
  assert.match(callWith(600), /within 10 ms: it was stopped in its entrypoint$/);
  for (let run = 0; run < 120; run++) callWith(0, 5_000);
  assert.match(callWith(600), /within 10 ms$/, "it was proven, and is not interrupted");
  assert.match(callWith(600), /within 10 ms: it was stopped in its entrypoint$/);
});

Deno.test("a runner asks for a module that it has not got", async () => {
  const { runner } = await runnerWith(returning('{"state":{}}'));
  const { message } = runner.answer({ message: callOf(undefined, "other"), body: NOTHING });
  assert.deepEqual(message, { kind: "missing", digest: "other", tookMs: 0, pauses: false });
});

Deno.test("a runner collects what calls left behind when its process has grown, and not before", async () => {
  const { runner, world } = await runnerWith(GROWING);
  const pauses = () => runner.answer({ message: callOf(), body: NOTHING }).message.pauses;
  for (let turn = 0; turn < 10; turn++) assert.equal(pauses(), false);
  world.residentBytes = 129 * MEBIBYTES;
  // 62 MiB each: after the second call it checks its memory.
  assert.deepEqual([pauses(), pauses()].includes(true), true);
  runner.cleanUp();
  assert.equal(world.collections, 1);
  world.residentBytes = 0;
  assert.equal(pauses(), false);
});

Deno.test("a runner stops in mid-fold to collect", async () => {
  const { runner, world } = await runnerWith(GROWING);
  world.residentBytes = 129 * MEBIBYTES;
  const body = new TextEncoder().encode("{}".repeat(11));
  const { message } = runner.answer({ message: foldOf(10, 1_000), body });
  assert(message.kind === "value" && message.done < 10 && message.pauses, JSON.stringify(message));
});

Deno.test("a runner collects after many memories, however little of them was used", async () => {
  const growing = handler("(drop (memory.grow (i32.const 1))) (i64.const 0)");
  const { runner } = await runnerWith(growing);
  let calls = 1;
  while (!runner.answer({ message: callOf(), body: NOTHING }).message.pauses && calls < 3_000) {
    calls++;
  }
  assert.equal(calls, 2_000);
});
