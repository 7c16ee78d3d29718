/**
 * Dry runs that try a spec on stored data. What they tell is compared with what deploying the spec
 * does: writes that it refuses, states that it folds. See docs/reference/check-data.md.
 */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { Environment } from "../../../src/domain/tenant.ts";
import type { DataCheck } from "../../../src/domain/spec/data_check.ts";
import { openDataCheck } from "../../../src/domain/spec/data_check.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import type { CompiledSpec } from "../../../src/domain/spec/compiled.ts";
import { EMPTY_SPEC, type SpecCache } from "../../../src/features/base/current_spec.ts";
import { openPastJudge } from "../../../src/features/specs/judge_past.ts";
import { createDataChecker } from "../../../src/features/specs/check_data.ts";
import type { FoldTools } from "../../../src/features/states/fold_stream.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { systemHost } from "../../../src/host.ts";
import { copyOfExampleSpec } from "../../support/example_spec.ts";
import { erase } from "../../support/erasure_fixtures.ts";
import {
  ACTOR,
  orderWrite,
  refusalOf,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { showSpec, withModules } from "../../support/wasm/module_world.ts";
import { framed, returning } from "../../support/wasm/build_module.ts";
import { parsedState } from "../../support/parsed_state.ts";

// deno-lint-ignore no-explicit-any -- a spec is changed at one place
type Draft = any;
type Limits = { readonly [K in keyof typeof limits]?: number };

function changed(change: (types: Draft, spec: Draft) => void): JsonObject {
  const spec = copyOfExampleSpec();
  change(spec.aggregate_types, spec);
  return spec;
}

async function tryOut(
  { service, tenants: { test } }: ServiceFixture,
  spec: JsonObject,
): Promise<DataCheck> {
  const request = { spec, force: true, dryRun: true, checkData: true };
  const { data_check } = valueOf(await service.specs.deploySpec(test, request));
  assert.ok(data_check !== undefined, "the answer has the check");
  return data_check;
}

async function deploy({ service, tenants: { test } }: ServiceFixture, spec: JsonObject) {
  valueOf(await service.specs.deploySpec(test, { spec, force: true, dryRun: false }));
}

async function fill({ service, tenants: { test } }: ServiceFixture, orders: number) {
  for (let order = 1; order <= orders; order++) {
    const events = [
      { type: "was_placed", data: { customer: order % 3 === 0 ? "B" : "Ada", total: order } },
      ...Array.from({ length: order % 4 }, () => ({ type: "was_noted", data: { text: "n" } })),
      { type: "was_viewed", data: {} },
    ];
    valueOf(await service.data.writeEvents(test, orderWrite(uuid(order), events)));
  }
}

async function withShop(body: (fixture: ServiceFixture) => Promise<void>) {
  const { monotonicMs, yieldTurn } = systemHost();
  await withService(body, { realHost: { monotonicMs, yieldTurn } });
}

/** Runs `body` with other limits. */
async function withLimits(change: Limits, body: () => Promise<void>) {
  const before = { ...limits };
  Object.assign(limits, change);
  try {
    await body();
  } finally {
    Object.assign(limits, before);
  }
}

async function stateOf({ service, tenants: { test } }: ServiceFixture, key: string) {
  const [aggregateType = "", id = ""] = key.split(":");
  const asked = { aggregateType, id, synchronous: true };
  return parsedState(valueOf(await service.data.readAggregate(test, asked)));
}

function countsOf({ refused, changed: types }: DataCheck) {
  return {
    refused: Object.fromEntries(refused.map(({ event_type, count }) => [event_type, count])),
    changed: Object.fromEntries(types.map(({ type, count }) => [type, count])),
  };
}

const EVERYTHING = { begin: new Uint8Array(), end: Uint8Array.of(0xfe) };

async function contentOf(engine: Engine): Promise<string> {
  const pairs = await engine.snapshot((tx) => tx.getRange(EVERYTHING, {}));
  return pairs.map(({ key, value }) => `${key.toHex()}=${value.toHex()}`).join("\n");
}

Deno.test("a spec that changes no schema and no handler refuses and changes nothing", () =>
  withShop(async (fixture) => {
    await fill(fixture, 7);
    const check = await tryOut(fixture, { ...copyOfExampleSpec(), title: "Next" });
    // Seven are placed and viewed each; 1 + 2 + 3 + 0 + 1 + 2 + 3 are noted.
    const none = { refused: [], changed: [], complete: true };
    assert.deepEqual(check, { events: 26, aggregates: 7, ...none });
  }));

Deno.test("the events that are told as refused are those that writes would refuse", () =>
  withShop(async (fixture) => {
    await fill(fixture, 9);
    const spec = changed(({ order: { events } }) => {
      events.was_placed.schema.properties.customer.minLength = 2;
      events.was_placed.schema.properties.total.maximum = 7;
      delete events.was_viewed;
    });
    const check = await tryOut(fixture, spec);
    await deploy(fixture, spec);
    const { service, tenants: { test } } = fixture;
    const refused: Record<string, number> = {};
    let tried = 0;
    for (let order = 1; order <= 9; order++) {
      const request = { aggregateType: "order", id: uuid(order), direction: "forwards" } as const;
      const { entries } = valueOf(await service.data.readEvents(test, request));
      for (const { raw } of entries) {
        const { type, data } = JSON.parse(raw);
        tried++;
        const again = orderWrite(uuid(1_000), [{ type, data }]);
        if ((await service.data.writeEvents(test, again)).ok) continue;
        refused[`order.${type}`] = (refused[`order.${type}`] ?? 0) + 1;
      }
    }
    assert.deepEqual([check.events, check.complete], [tried, true]);
    assert.deepEqual(countsOf(check).refused, refused);
    assert.deepEqual(refused, { "order.was_placed": 4, "order.was_viewed": 9 });
    const [viewed, placed] = check.refused;
    assert.equal(viewed!.event_type, "order.was_viewed", "the most first");
    const third = { key: `order:${uuid(3)}`, id: "000000000000" };
    const example = placed!.examples.find(({ key }) => key === third.key)!;
    assert.deepEqual([example.id, example.details[0]!.path], [third.id, "data.customer"]);
  }));

Deno.test("the states that are told as changed are those before and after a deploy", () =>
  withShop(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    await fill(fixture, 8);
    const customer = {
      aggregateType: "customer",
      id: uuid(1),
      events: [{ type: "was_registered", data: { name: "Ada", email: "a@example.com" } }],
    };
    const write = { form: "single", targets: [customer], metadata: { actor: ACTOR } } as const;
    valueOf(await service.data.writeEvents(test, { ...write, requestId: "1" }));
    const spec = changed(({ order, customer }) => {
      order.events.was_noted.handler = { increment: { target: "notes" } };
      // The same state, with its keys in another order.
      const set = (target: string) => ({ set: { target, value: `$.data.${target}` } });
      customer.events.was_registered.handler = [set("email"), set("name")];
    });
    const check = await tryOut(fixture, spec);
    assert.deepEqual([check.aggregates, check.complete], [9, true]);
    // Of every fourth order, nothing is noted.
    assert.deepEqual(countsOf(check), { refused: {}, changed: { order: 6 } });
    const { examples } = check.changed[0]!;
    assert.equal(examples.length, limits.dataCheckExamplesMax);
    for (const { key, before } of examples) assert.deepEqual(await stateOf(fixture, key), before);
    await deploy(fixture, spec);
    for (const { key, after } of examples) assert.deepEqual(await stateOf(fixture, key), after);
  }));

Deno.test("a check writes nothing, and only what asks for it has it", () =>
  withShop(async (fixture) => {
    await fill(fixture, 3);
    const spec = changed(({ order }) => order.events.was_noted.handler = []);
    const before = await contentOf(fixture.engine);
    await tryOut(fixture, spec);
    assert.equal(await contentOf(fixture.engine), before);
    const { service, tenants: { test } } = fixture;
    const plain = await service.specs.deploySpec(test, { spec, force: true, dryRun: true });
    assert.equal(valueOf(plain).data_check, undefined);
  }));

Deno.test("erased events are not tried; their aggregates are compared as any other", () =>
  withShop(async (fixture) => {
    await fill(fixture, 3);
    await erase(fixture, `order:${uuid(3)}`);
    const spec = changed(({ order }) => order.events.was_placed.schema = false);
    const check = await tryOut(fixture, spec);
    assert.deepEqual(countsOf(check).refused, { "order.was_placed": 2 });
    assert.deepEqual([check.events, check.aggregates], [7, 3]);
  }));

Deno.test("types take turns: one with many aggregates does not hide the others", () =>
  withShop(async (fixture) => {
    await fill(fixture, 60);
    const { service, tenants: { test } } = fixture;
    const stocked = { type: "was_stocked", data: { by: 1 } };
    const targets = [{ aggregateType: "inventory", id: "global", events: [stocked] }];
    const write = { form: "single", targets, metadata: { actor: ACTOR }, requestId: "1" } as const;
    valueOf(await service.data.writeEvents(test, write));
    const spec = changed(({ inventory }) => inventory.events.was_stocked.schema = false);
    await withLimits({ dataCheckEventsMax: 60 }, async () => {
      const check = await tryOut(fixture, spec);
      assert.deepEqual(countsOf(check).refused, { "inventory.was_stocked": 1 });
      assert.equal(check.complete, false);
      assert.ok(check.events >= 60 && check.events < 120, `${check.events} events`);
    });
  }));

Deno.test("each limit ends a check, which then says that it is not complete", () =>
  withShop(async (fixture) => {
    await fill(fixture, 40);
    const spec = changed(({ order }) => order.events.was_placed.handler = []);
    const whole = await tryOut(fixture, spec);
    assert.deepEqual([whole.events, whole.aggregates, whole.complete], [140, 40, true]);
    const ends: readonly [Limits, number, number][] = [
      [{ dataCheckMsMax: -1 }, 0, 0],
      [{ dataCheckBytesMax: 0 }, 2, 0],
      [{ dataCheckEventsMax: 0 }, 0, 0],
      [{ dataCheckFoldsMax: 3 }, 140, 3],
      [{ dataCheckStreamBytesMax: 0 }, 140, 0],
    ];
    for (const [change, events, aggregates] of ends) {
      await withLimits(change, async () => {
        const check = await tryOut(fixture, spec);
        const name = JSON.stringify(change);
        assert.deepEqual([check.aggregates, check.complete], [aggregates, false], name);
        assert.ok(events === 2 ? check.events < 10 : check.events === events, name);
      });
    }
  }));

Deno.test("examples of long states show where they differ, and are cut", () =>
  withShop(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    const text = "x".repeat(900);
    const events = [
      { type: "was_placed", data: { customer: "Ada", letter: text.repeat(9) } },
      ...Array.from({ length: 30 }, () => ({ type: "was_noted", data: { text } })),
    ];
    valueOf(await service.data.writeEvents(test, orderWrite(uuid(1), events)));
    const spec = changed(({ order }) => {
      order.events.was_noted.handler = { append: { target: "notes", value: "$.data" } };
    });
    const [{ examples: [example] }] = (await tryOut(fixture, spec)).changed as Draft;
    const { before, after } = example;
    assert.deepEqual([Object.keys(before), Object.keys(after)], [["notes"], ["notes"]]);
    assert.deepEqual(after.notes[0], { text });
    assert.equal(before.notes.at(-1), "... 27 more");
    assert.ok(JSON.stringify(example).length < 3 * limits.dataCheckExampleCharactersMax);
  }));

Deno.test("heavy folds of a check run in processes, and nobody waits for them", () =>
  withShop(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    const text = "y".repeat(990);
    for (let order = 1; order <= 4; order++) {
      for (let part = 0; part < 4; part++) {
        const events = Array.from({ length: 200 }, (_, n) => ({
          type: "was_noted",
          data: { text: `${text} ${part} ${n}` },
        }));
        valueOf(await service.data.writeEvents(test, orderWrite(uuid(order), events)));
      }
    }
    const spec = changed(({ order }) => {
      order.events.was_noted.handler = {
        append_unique: { target: "notes", value: "$.data.text" },
      };
    });
    let [worst, last] = [0, performance.now()];
    const timer = setInterval(() => {
      const now = performance.now();
      [worst, last] = [Math.max(worst, now - last), now];
    }, 5);
    const check = await tryOut(fixture, spec).finally(() => clearInterval(timer));
    // All notes are different, so that nothing changes, after much work.
    assert.deepEqual(check, {
      events: 3_200,
      refused: [],
      aggregates: 4,
      changed: [],
      complete: true,
    });
    assert.ok(worst < 500, `others waited ${worst} ms`);
  }));

Deno.test("one check of an instance is under way at a time, and two in the process", () =>
  withShop(async ({ engine, host }) => {
    const gate = Promise.withResolvers<CompiledSpec>();
    const specs = { current: () => gate.promise } as unknown as SpecCache;
    // Without aggregates, nothing is folded.
    const tools = { engine, host } as unknown as FoldTools;
    const checker = createDataChecker(tools, specs);
    const check = (instanceId: string, environment: Environment, number: number) => (
      checker.check({ instanceId, environment, number }, EMPTY_SPEC)
    );
    const begun = [check("one", "test", 1)];
    // Another environment of the same instance.
    assert.equal(refusalOf(await check("one", "staging", 4)).kind, "no_room");
    begun.push(check("two", "test", 2));
    for (const instance of ["one", "three"]) {
      assert.equal(refusalOf(await check(instance, "test", 3)).kind, "no_room");
    }
    gate.resolve(EMPTY_SPEC);
    for (const outcome of await Promise.all(begun)) valueOf(outcome);
    valueOf(await check("three", "test", 3));
  }));

Deno.test("handlers that are modules are folded too, and one that fails has no state", async () => {
  const handled = (blob_name: string) => ({ wasm: { blob_name, entrypoint: "apply_handler" } });
  const blobs = {
    one: await framed(returning('{"state":{"n":1}}')),
    two: await framed(returning('{"state":{"n":2}}')),
    bad: await framed(`(func (export "apply_handler") (param i32 i32) (result i64) unreachable)`),
  };
  const { monotonicMs, yieldTurn } = systemHost();
  await withModules(blobs, { was_done: handled("one") }, async (world) => {
    for (const id of ["a", "b"]) valueOf(await world.write(id, ["was_done"]));
    const two = await tryOut(world, showSpec({ was_done: handled("two") }));
    assert.deepEqual([two.aggregates, two.complete], [2, true]);
    assert.deepEqual(two.changed, [{
      type: "show",
      count: 2,
      examples: ["a", "b"].map((id) => ({
        key: `show:${id}`,
        before: { n: 1 },
        after: { n: 2 },
      })),
    }]);
    const same = await tryOut(world, showSpec({ was_done: { set: { target: "n", value: 1 } } }));
    assert.deepEqual([same.aggregates, same.changed, same.complete], [2, [], true]);
    const bad = await tryOut(world, showSpec({ was_done: handled("bad") }));
    const [{ examples: [example] }] = bad.changed as Draft;
    assert.deepEqual([example.before, example.after], [{ n: 1 }, null]);
    assert.match(example.error, /^module_failed: /);
  }, { realHost: { monotonicMs, yieldTurn } });
});

Deno.test("guards of the new spec are judged on the states before stored events", async () => {
  await withService(async (fixture) => {
    await fill(fixture, 6);
    const guarded = changed((types) => {
      types.order.events.was_noted.guards = [
        { require: { lt: ["$.data.text", "z"] }, message: "Always so" },
        { require: { not: { exists: "@.notes[1]" } }, message: "Two notes at most" },
        {
          with: { self: { type: "order", id: "$.id" } },
          require: { not: { exists: "$.with.self.notes[1]" } },
          message: "Two notes here",
        },
      ];
    });
    const { guards } = await tryOut(fixture, guarded);
    // Orders have 1, 2, 3, 0, 1 and 2 notes; the guard is false for the third note of one.
    assert.deepEqual(guards, {
      judged: 9,
      failed: ["Two notes at most", "Two notes here"].map((message, index) => ({
        event_type: "order.was_noted",
        guard: 1 + index,
        message,
        count: 1,
        examples: [{ key: `order:${uuid(3)}`, id: "000000000003" }],
      })),
      untried: 0,
    });
    assert.equal((await tryOut(fixture, copyOfExampleSpec())).guards, undefined);
  });
});

Deno.test("guards of stored events see other aggregates as they were in the second of the event", async () => {
  await withService(async (fixture) => {
    const { service: { data }, host, tenants: { test } } = fixture;
    const place = (number: number, total: number) => (
      { type: "was_placed", data: { customer: "Ada", total }, number }
    );
    const note = (text: string) => ({ type: "was_noted", data: { text }, number: 9 });
    const seconds = [
      [place(1, 1), note(uuid(1))],
      [note(uuid(2))],
      [note(uuid(2)), place(2, 1)],
      [place(1, 0), note(uuid(1))],
      [note(uuid(1)), note("none")],
    ];
    for (const events of seconds) {
      for (const { number, ...event } of events) {
        valueOf(await data.writeEvents(test, orderWrite(uuid(number), [event])));
      }
      host.timeMs += 10_000;
    }
    const guarded = changed((types) => {
      types.order.events.was_noted.guards = [{
        with: { other: { type: "order", id: "$.data.text" } },
        require: { eq: ["$.with.other.total", 1] },
        message: "The other is not placed",
      }];
    });
    const { guards, complete } = await tryOut(fixture, guarded);
    const failedAt = guards!.failed[0]!.examples.map(({ id }) => Number(id));
    assert.deepEqual([guards!.judged, guards!.untried, complete], [6, 0, true]);
    // Order 2 was placed after the note at 1; order 1 had no total when those at 4 and 5 came.
    assert.deepEqual(failedAt, [1, 4, 5]);
  });
});

Deno.test("a guard that looks at a long aggregate leaves its events out", async () => {
  await withLimits({ dataCheckStreamBytesMax: 1_000 }, async () => {
    await withService(async (fixture) => {
      const { service: { data }, tenants: { test } } = fixture;
      for (const [number, length] of [[1, 900], [2, 10]] as const) {
        const long = [{ type: "was_noted", data: { text: "n".repeat(length) } }];
        valueOf(await data.writeEvents(test, orderWrite(uuid(number), long)));
        const viewed = [{ type: "was_viewed", data: { other: uuid(number) } }];
        valueOf(await data.writeEvents(test, orderWrite(uuid(8 + number), viewed)));
      }
      const guarded = changed((types) => {
        types.order.events.was_viewed.guards = [{
          with: { other: { type: "order", id: "$.data.other" } },
          require: { exists: "$.with.other.notes" },
          message: "No notes",
        }];
      });
      const { guards, complete } = await tryOut(fixture, guarded);
      assert.deepEqual([guards, complete], [{ judged: 1, failed: [], untried: 0 }, false]);
    });
  });
});

/** Guards that look at so many other orders each; together they look at those of `ids`. */
function lookingAt(ids: readonly string[], each: number): JsonObject {
  const guards = Array.from({ length: ids.length / each }, (_, guard) => {
    const named = ids.slice(guard * each, (guard + 1) * each)
      .map((id, number) => [`n${number}`, { type: "order", id }]);
    return { with: Object.fromEntries(named), require: { ne: [1, 2] }, message: "No" };
  });
  return changed(({ order: { events } }) => {
    events.was_noted.schema = true;
    events.was_viewed.guards = guards;
  });
}

/** Judges one event on others of five events of 40 KB each, until so many events are read. */
async function judgeOthers(
  others: number,
  each: number,
  { readsMax = Infinity, events: count = 5 } = {},
) {
  let [bytes, reads, rests] = [0, 0, 0];
  const ids = Array.from({ length: others }, (_, number) => uuid(1 + number));
  const spec = lookingAt(ids, each);
  const compiled = compileSpec(spec);
  assert.ok(compiled.ok);
  const draft = openDataCheck(0);
  await withService(async ({ service: { data }, engine, tenants: { test } }) => {
    const text = "n".repeat(40_000);
    for (const id of ids) {
      const events = Array.from({ length: count }, () => ({ type: "was_noted", data: { text } }));
      valueOf(await data.writeEvents(test, orderWrite(id, events)));
    }
    const judge = openPastJudge({
      engine,
      tenant: test.number,
      spec: compiled.spec,
      draft,
      noteRead: (read) => void (bytes += read, reads++),
      pieces: { rest: () => void rests++ },
      clock: { monotonicMs: () => 0 },
      isOver: () => reads >= readsMax,
    });
    const key = `order:${uuid(99)}` as const;
    const metadata = { actor: ACTOR, timestamp: 4_000_000_000 };
    const event = { key, type: "was_viewed", data: {}, metadata } as never;
    const type = compiled.spec.aggregateTypes.get("order");
    await judge.walk(type, key as never, 100)!(event, "000000000000");
  }, { spec });
  return { check: draft.end(), bytes, reads, rests };
}

Deno.test("others that guards look at are read in windows, with a rest after each event", async () => {
  const { check, reads, rests } = await judgeOthers(10, 5);
  assert.deepEqual([check.guards!.judged, check.complete, reads], [1, true, 50]);
  // After each event that is read, and after each that is folded on the way to either moment.
  assert.ok(rests >= 3 * 50, `${rests} rests`);
});

Deno.test("no further aggregate is read for guards once a check is over", async () => {
  const { check, reads } = await judgeOthers(10, 5, { readsMax: 1 });
  assert.equal(check.complete, false);
  assert.ok(reads <= 2, `${reads} events were read`);
});

Deno.test("guards of one stored event look at no more others than those of a write", async () => {
  const { check, reads } = await judgeOthers(20, 5);
  assert.deepEqual([check.complete, reads], [false, 50]);
});

Deno.test("a guard whose others are long together is left out", async () => {
  const most = 2 * limits.dataCheckStreamBytesMax;
  const { check, bytes } = await judgeOthers(10, 10, { events: 6 });
  assert.deepEqual([check.guards!.judged, check.complete], [0, false]);
  // The aggregate that was too much was read, too.
  assert.ok(bytes <= most + 6 * 50_000, `${bytes} bytes are read`);
});
