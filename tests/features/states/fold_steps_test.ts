/**
 * Folds by modules in steps: bounded in time, without losing what was folded. Each event is
 * folded once, whatever the steps. See docs/reference/reading.md.
 */

import assert from "node:assert/strict";
import { BudgetSpent, newBudget, newPieceBudget } from "../../../src/domain/budget.ts";
import type { StoredEvent } from "../../../src/domain/event.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { StreamKey } from "../../../src/domain/identifier.ts";
import type { FoldedState } from "../../../src/features/states/folded_state.ts";
import { eachInTime, foldAtOnce, openQuickFold } from "../../../src/features/states/fold_steps.ts";
import { foldStream, type FoldWork } from "../../../src/features/states/fold_stream.ts";
import { openSpecCache } from "../../../src/features/base/current_spec.ts";
import type { ModuleRunner } from "../../../src/features/modules/run_modules.ts";
import { readHead } from "../../../src/store/streams/streams.ts";
import { noModules, noRunners } from "../../support/no_modules.ts";
import { valueOf } from "../../support/service_fixture.ts";
import { digest, type ModuleWorld, withModules } from "../../support/wasm/module_world.ts";

const EVENTS = 3_000;
const STREAM = "show:a" as StreamKey;

/** A stream of events that a module folds, and what folding it needs. */
async function withStream(
  body: (work: FoldWork, world: ModuleWorld) => Promise<void>,
): Promise<void> {
  const events = { was_counted: { wasm: "digest" }, was_skipped: [] };
  await withModules({ digest: await digest() }, events, async (world) => {
    const types = Array.from(
      { length: EVENTS },
      (_, n) => n % 3 === 2 ? "was_skipped" : "was_counted",
    );
    valueOf(await world.write("a", types));
    const { engine, host, tenant: { number } } = world;
    const specs = openSpecCache(engine, host);
    const type = (await specs.current(number)).aggregateTypes.get("show")!;
    const head = await engine.snapshot((tx) => readHead(tx, number, STREAM));
    await specs.close();
    await body({ tenant: number, stream: STREAM, type, head, base: undefined }, world);
  });
}

/** Counts events in the state; each call and each event takes a given part of the host's time. */
function counting(world: ModuleWorld, msOnce: number, msEach = 0): ModuleRunner {
  return {
    ...noModules,
    fold(_tenant, { stateJson, events }) {
      world.host.timeMs += msOnce + msEach * events.length;
      const { n = 0 } = JSON.parse(stateJson);
      return Promise.resolve({ ok: true, value: JSON.stringify({ n: n + events.length }) });
    },
  };
}

Deno.test("a fold counts each event of a module once, whatever its steps", async () => {
  await withStream(async (work, world) => {
    // From the largest steps to small ones.
    for (const msEach of [0, 1, 4]) {
      const tools = { ...world, ...noRunners, modules: counting(world, 0, msEach) };
      const folded = await foldStream(tools, work);
      assert(folded !== undefined);
      const { stateJson, length, bytes } = valueOf(folded);
      assert.deepEqual(JSON.parse(stateJson), { n: EVENTS / 3 * 2 });
      assert.deepEqual([length, bytes], [work.head.length, work.head.bytes]);
    }
  });
});

Deno.test("a fold that takes modules too long is refused, and the next one goes on where it was", async () => {
  await withStream(async (work, world) => {
    const tools = { ...world, ...noRunners, modules: counting(world, limits.wasmRequestMsMax / 2) };
    let base: FoldedState | undefined;
    for (let tries = 0;; tries++) {
      assert(tries < 2_000, "it ends");
      let part: FoldedState | undefined;
      const folded = await foldStream(tools, { ...work, base }, (state) => part = state);
      if (folded!.ok) {
        assert(tries > 3, "it was refused some times");
        assert.deepEqual(JSON.parse(folded!.value.stateJson), { n: EVENTS / 3 * 2 });
        return;
      }
      assert.equal(folded!.refusal.kind, "fold_budget_exceeded");
      assert(part !== undefined && part.length > (base?.length ?? 0), "it has come further");
      base = part;
    }
  });
});

Deno.test("a read says that modules took too long, and reading on comes to the end", async () => {
  await withStream(async (work, world) => {
    // As in the product: an empty cache, and time that passes by itself.
    const { host } = world;
    const monotonicMs = host.monotonicMs;
    let stepMs = limits.wasmRequestMsMax / 3;
    host.monotonicMs = () => host.timeMs += stepMs;
    const first = await world.stateOf("a", true) as { kind?: string };
    assert.equal(first.kind, "fold_budget_exceeded");
    stepMs = 0;
    host.monotonicMs = monotonicMs;
    assert.equal(work.head.length, EVENTS);
    assert.deepEqual(Object.keys(await world.stateOf("a", true) as object), ["digest"]);
  });
});

Deno.test("a fold that takes much longer than its units should is left to a process", async () => {
  await withStream(({ type }) => {
    const events = [{ type: "was_added" }, { type: "was_added" }] as unknown as StoredEvent[];
    let stepMs = 0;
    const clock = { nowMs: 0, monotonicMs: () => clock.nowMs };
    const add = (state: JsonObject) => {
      clock.nowMs += stepMs;
      return { n: (state.n as number ?? 0) + 1 };
    };
    const slow = { ...type, handlers: new Map([["was_added", add]]) };
    const quick = openQuickFold(clock, slow, '{"n":1}');
    assert.ok(quick.take(events)?.ok);
    // Between its parts it may wait as long as it likes.
    clock.nowMs += 1_000;
    assert.ok(quick.take(events)?.ok);
    assert.deepEqual(quick.stateJson(), { ok: true, value: '{"n":5}' });
    assert.equal(valueOf(foldAtOnce(clock, slow, undefined, events)).stateJson, '{"n":2}');
    stepMs = 50;
    assert.equal(quick.take(events), undefined);
    assert.equal(foldAtOnce(clock, slow, undefined, events).ok, false);
    return Promise.resolve();
  });
});

Deno.test("a base state whose keys are slow to find is left to a process", async () => {
  await withStream(({ type }) => {
    let nowMs = 0;
    const slow = { monotonicMs: () => nowMs += 50 };
    const keys = Array.from({ length: 5_000 }, (_, index) => [`key ${index}`, index]);
    const base = JSON.stringify(Object.fromEntries(keys));
    assert.equal(openQuickFold(slow, type, base).take([]), undefined);
    assert.equal(foldAtOnce(slow, type, base, []).ok, false);
    const quick = { monotonicMs: () => 0 };
    assert.equal(valueOf(foldAtOnce(quick, type, base, [])).stateJson, base);
    return Promise.resolve();
  });
});

Deno.test("eachInTime() decodes as long as there is time, and nothing that modules fold", () => {
  let nowMs = 0;
  const budget = newPieceBudget({ monotonicMs: () => nowMs });
  const decoded: string[] = [];
  const decode = (raw: string) => {
    decoded.push(raw);
    nowMs += 8;
    return { type: raw } as never;
  };
  const texts = ["a", "b", "c", "d", "e"].map((raw) => ({ raw }));
  const of = (modules: readonly string[]) => ({ wasmHandlers: new Set(modules) }) as never;
  assert.throws(() => [...eachInTime(texts, decode, of([]), budget)], BudgetSpent);
  assert.deepEqual(decoded.splice(0), ["a", "b", "c"]);
  const plenty = newBudget(10);
  assert.throws(() => [...eachInTime(texts, decode, of(["b"]), plenty)], BudgetSpent);
  assert.deepEqual(decoded.splice(0), ["a", "b"]);
  assert.equal([...eachInTime(texts, decode, of(["x"]), plenty)].length, 5);
});
