/** Guards and preconditions judge writes in their transaction. See docs/reference/guards.md. */

import assert from "node:assert/strict";
import { newBudget } from "../../../src/domain/budget.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { Outcome } from "../../../src/domain/refusal.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import type { WriteRequest } from "../../../src/domain/write/write.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { describeRefusal } from "../../../src/http/reply.ts";
import { createService, type Service } from "../../../src/features/service.ts";
import {
  type ConditionTools,
  foldOutside,
  type OutsideStates,
  StatesNeeded,
} from "../../../src/features/writes/outside_states.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import { accept } from "../../../src/domain/refusal.ts";
import { saveSnapshot } from "../../../src/store/streams/snapshots.ts";
import { readHead } from "../../../src/store/streams/streams.ts";
import { isDue, type Judging, stateAt } from "../../../src/features/writes/live_states.ts";
import { readGolden } from "../../support/golden_cases.ts";
import { DOCTOR, guardedSpec } from "../../support/guarded_spec.ts";
import { erase } from "../../support/erasure_fixtures.ts";
import { type HeldEngine, heldEngine } from "../../support/held_engine.ts";
import {
  ACTOR,
  refusalOf,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { parsedState } from "../../support/parsed_state.ts";

interface CaseEvent {
  readonly key: string;
  readonly type: string;
  readonly data: JsonObject;
}

interface Case {
  readonly name: string;
  readonly before: readonly CaseEvent[];
  readonly write: readonly CaseEvent[];
  readonly form?: "atomic";
  readonly skip_occ?: true;
  readonly previous_length?: number;
  readonly preconditions?: unknown;
  readonly expect: "written" | JsonObject;
}

function requestOf(events: readonly CaseEvent[], change: Partial<WriteRequest>): WriteRequest {
  const keys = [...new Set(events.map(({ key }) => key))];
  const targets = keys.map((key) => ({
    aggregateType: key.slice(0, key.indexOf(":")),
    id: key.slice(key.indexOf(":") + 1),
    events: events.filter((event) => event.key === key),
  }));
  const form = events.length > 1 ? "batch" : "single";
  return { form, targets, metadata: { actor: ACTOR }, requestId: "r", ...change };
}

async function lengths(service: Service, tenant: Tenant, events: readonly CaseEvent[]) {
  return await Promise.all(events.map(async ({ key }) => {
    const [type = "", id = ""] = key.split(":");
    return valueOf(await service.data.readLength(tenant, type, id));
  }));
}

for (const file of ["own_state", "other_aggregates", "preconditions"]) {
  for (const one of readGolden<Case>(`guards/${file}.json`)) {
    Deno.test(`${file}: ${one.name}`, async () => {
      await withService(async ({ service, tenants: { test } }) => {
        for (const event of one.before) {
          valueOf(await service.data.writeEvents(test, requestOf([event], {})));
        }
        const { form, skip_occ, previous_length, preconditions } = one;
        const metadata = { actor: ACTOR, skip_occ, previous_length };
        const request = requestOf(one.write, {
          ...(form && { form }),
          metadata: JSON.parse(JSON.stringify(metadata)),
          preconditions,
        });
        const before = await lengths(service, test, one.write);
        const outcome = await service.data.writeEvents(test, request);
        if (one.expect === "written") return void valueOf(outcome);
        assert.ok(!outcome.ok, "it was written");
        const { status, body } = describeRefusal(outcome.refusal);
        const told = JSON.parse(JSON.stringify({ status, ...body })) as JsonObject;
        const names = Object.keys(one.expect);
        const expected = names.map((name) => [name, told[name]]);
        assert.deepEqual(Object.fromEntries(expected), one.expect);
        assert.deepEqual(await lengths(service, test, one.write), before, "nothing is written");
      }, { spec: guardedSpec });
    });
  }
}

const PRODUCT = `product:${uuid(1)}`;

function stocked(quantity: number): CaseEvent {
  return { key: PRODUCT, type: "was_stocked", data: { quantity } };
}

function sold(quantity: number): CaseEvent {
  return { key: PRODUCT, type: "was_sold", data: { quantity } };
}

function kindsOf(outcomes: readonly Outcome<unknown>[]): Record<string, number> {
  const kinds: Record<string, number> = {};
  for (const outcome of outcomes) {
    const kind = outcome.ok ? "written" : outcome.refusal.kind;
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  }
  return kinds;
}

Deno.test("of sixty-four sales at once just as many are written as there is stock", async () => {
  await withService(async ({ service: { data }, tenants: { test } }) => {
    valueOf(await data.writeEvents(test, requestOf([stocked(20)], {})));
    const outcomes = await Promise.all(
      Array.from({ length: 64 }, () => data.writeEvents(test, requestOf([sold(1)], {}))),
    );
    assert.deepEqual(kindsOf(outcomes), { written: 20, guard_failed: 44 });
    const request = { aggregateType: "product", id: uuid(1) };
    for (const synchronous of [false, true]) {
      const view = valueOf(await data.readAggregate(test, { ...request, synchronous }));
      assert.deepEqual([parsedState(view), view.length], [{ stock: 0 }, 21]);
    }
  }, { spec: guardedSpec });
});

const DUTY: JsonObject = { agent_types: ["user"], aggregate_types: { doctor: DOCTOR } };

Deno.test("two writes that are judged on each other's aggregates never both pass", async () => {
  await withService(async ({ service: { data }, tenants: { test } }) => {
    for (let round = 0; round < 20; round++) {
      const [one, other] = [uuid(2 * round), uuid(2 * round + 1)];
      const event = (id: string, type: string, data: JsonObject = {}) => (
        requestOf([{ key: `doctor:${id}`, type, data }], {})
      );
      for (const id of [one, other]) valueOf(await data.writeEvents(test, event(id, "has_come")));
      const outcomes = await Promise.all([
        data.writeEvents(test, event(one, "has_left", { other })),
        data.writeEvents(test, event(other, "has_left", { other: one })),
      ]);
      assert.deepEqual(kindsOf(outcomes), { written: 1, guard_failed: 1 });
    }
  }, { spec: DUTY });
});

Deno.test("a write is judged again if what it was judged on changes before it commits", async () => {
  let held: HeldEngine | undefined;
  await withService(async ({ service: { data }, tenants: { test } }) => {
    const write = (id: string, type: string, event: JsonObject = {}) =>
      data.writeEvents(test, requestOf([{ key: `doctor:${id}`, type, data: event }], {}));
    const [one, other] = [uuid(1), uuid(2)];
    for (const id of [one, other]) valueOf(await write(id, "has_come"));
    const commit = held!.hold();
    const leaving = write(one, "has_left", { other });
    await commit.reached;
    valueOf(await write(other, "has_left", { other: one }));
    commit.release();
    assert.equal(refusalOf(await leaving).kind, "guard_failed");
  }, { spec: DUTY, wrap: (engine) => held = heldEngine(engine) });
});

/** A type whose states are long, and folded anew for each read if it is never cached. */
function longSpec(neverCached: boolean): JsonObject {
  return {
    agent_types: ["user"],
    modules: { never_cache: neverCached ? ["list"] : [] },
    aggregate_types: {
      list: {
        events: {
          was_filled: { schema: true, handler: { append: { target: "all", value: "$.data" } } },
          was_closed: {
            schema: true,
            handler: { set: { target: "closed", value: true } },
            guards: [{ require: { not: { exists: "@.closed" } }, message: "It is closed" }],
          },
        },
      },
    },
  };
}

function filled(id: string, characters: number): CaseEvent {
  return { key: `list:${id}`, type: "was_filled", data: { text: "x".repeat(characters) } };
}

for (const neverCached of [false, true]) {
  const kind = neverCached ? "never cached" : "cached";
  Deno.test(`a state that takes long is folded outside of the transaction: ${kind}`, async () => {
    await withService(async ({ service, engine, host, access, tenants: { test } }) => {
      for (let round = 0; round < 4; round++) {
        valueOf(await service.data.writeEvents(test, requestOf([filled(uuid(1), 60_000)], {})));
        valueOf(await service.data.writeEvents(test, requestOf([filled(uuid(2), 60_000)], {})));
      }
      const cold = createService(engine, host, access);
      const closes = [1, 2, 1, 2].map((number) => (
        requestOf([{ key: `list:${uuid(number)}`, type: "was_closed", data: {} }], {})
      ));
      const outcomes = await Promise.all(closes.map((each) => cold.data.writeEvents(test, each)));
      await cold.close();
      assert.deepEqual(kindsOf(outcomes), { written: 2, guard_failed: 2 });
    }, { spec: longSpec(neverCached) });
  });
}

Deno.test("a state that is longer than guards may look at refuses the write", async () => {
  await withService(async ({ service: { data }, tenants: { test } }) => {
    const characters = 90_000;
    const count = Math.ceil(limits.guardStateCharactersMax / characters);
    for (let number = 0; number < count; number++) {
      valueOf(await data.writeEvents(test, requestOf([filled(uuid(1), characters)], {})));
    }
    const close = requestOf([{ key: `list:${uuid(1)}`, type: "was_closed", data: {} }], {});
    const refusal = refusalOf(await data.writeEvents(test, close));
    assert.equal(refusal.kind, "fold_budget_exceeded");
  }, { spec: longSpec(false) });
});

Deno.test("a guard that does not look at its own aggregate is judged however long that is", async () => {
  const { aggregate_types: types, ...spec } = longSpec(false) as { aggregate_types: JsonObject };
  const { events } = types.list as { events: JsonObject };
  const looking = {
    schema: true,
    handler: [],
    guards: [{
      with: { other: { type: "list", id: "$.data.other" } },
      require: { eq: ["$.with.other", {}] },
      message: "It is not empty",
    }],
  };
  const list = { events: { ...events, has_looked: looking } };
  await withService(async ({ service: { data }, tenants: { test } }) => {
    const characters = 90_000;
    const count = Math.ceil(limits.guardStateCharactersMax / characters);
    for (let number = 0; number < count; number++) {
      valueOf(await data.writeEvents(test, requestOf([filled(uuid(1), characters)], {})));
    }
    const look = (other: string) => {
      const event = { key: `list:${uuid(1)}`, type: "has_looked", data: { other } };
      return data.writeEvents(test, requestOf([event], {}));
    };
    valueOf(await look(uuid(2)));
    assert.equal(refusalOf(await look(uuid(1))).kind, "fold_budget_exceeded");
  }, { spec: { ...spec, aggregate_types: { ...types, list } } });
});

Deno.test("a guard may find another aggregate by the state of its own alone", async () => {
  const guards = [{
    with: { owner: { type: "owner", id: "@.owner" } },
    require: { eq: ["$.with.owner.isActive", true] },
    message: "Its owner is not active",
  }];
  const set = (target: string, value: JsonValue) => ({
    schema: true,
    handler: { set: { target, value } },
  });
  const types = {
    owner: { events: { was_activated: set("isActive", true) } },
    car: {
      events: { was_sold: set("owner", "$.data.to"), was_moved: { ...set("at", 1), guards } },
    },
  };
  await withService(async ({ service: { data }, tenants: { test } }) => {
    const write = (key: string, type: string, event: JsonObject = {}) =>
      data.writeEvents(test, requestOf([{ key, type, data: event }], {}));
    const car = `car:${uuid(1)}`;
    valueOf(await write(`owner:${uuid(2)}`, "was_activated"));
    valueOf(await write(car, "was_sold", { to: uuid(3) }));
    assert.equal(refusalOf(await write(car, "was_moved")).kind, "guard_failed");
    valueOf(await write(car, "was_sold", { to: uuid(2) }));
    valueOf(await write(car, "was_moved"));
  }, { spec: { agent_types: ["user"], aggregate_types: types } });
});

Deno.test("guards see the numbers of an event as they are stored", async () => {
  const guards = [{
    require: { and: [{ eq: ["$.data.n", 0] }, { eq: ["$.data", { n: 0 }] }] },
    message: "It is not zero",
  }];
  const count = { events: { was_counted: { schema: true, handler: [], guards } } };
  await withService(async ({ service: { data }, tenants: { test } }) => {
    for (const text of ['{"n":-0}', '{"n":0.0}', '{"n":0e5}']) {
      const event = { key: `count:${uuid(1)}`, type: "was_counted", data: JSON.parse(text) };
      valueOf(await data.writeEvents(test, requestOf([event], {})));
    }
  }, { spec: { agent_types: ["user"], aggregate_types: { count } } });
});

/** A cold service beside the fixture's: it has no state in memory. */
async function withCold(
  { engine, host, access }: ServiceFixture,
  run: (cold: Service) => Promise<void>,
): Promise<void> {
  const cold = createService(engine, host, access);
  try {
    await run(cold);
  } finally {
    await cold.close();
  }
}

/** Makes a list whose state is too long to be folded in a transaction. */
async function fill({ service, tenants: { test } }: ServiceFixture, id: string): Promise<void> {
  for (let round = 0; round < 2; round++) {
    valueOf(await service.data.writeEvents(test, requestOf([filled(id, 40_000)], {})));
  }
}

/** Notes that look at lists. */
function noteSpec(others: readonly string[]): JsonObject {
  const { aggregate_types: { list }, ...spec } = longSpec(false) as unknown as {
    aggregate_types: JsonObject;
  };
  const named = others.map((name) => [name, { type: "list", id: `$.data.${name}` }]);
  const guards = [{
    with: Object.fromEntries(named),
    require: { and: others.map((name) => ({ exists: `$.with.${name}.all` })) },
    message: "It is not filled",
  }];
  const note = { events: { was_noted: { schema: true, handler: [], guards } } };
  return { ...spec, aggregate_types: { list: list!, note } };
}

function noted(data: JsonObject): CaseEvent {
  return { key: `note:${uuid(99)}`, type: "was_noted", data };
}

Deno.test("a guard of an atomic write may look at two long states, one of them of a target", async () => {
  await withService(async (fixture) => {
    for (const number of [1, 2]) await fill(fixture, uuid(number));
    await withCold(fixture, async ({ data }) => {
      const events = [noted({ one: uuid(1), other: uuid(2) }), filled(uuid(2), 1)];
      const request = requestOf(events, { form: "atomic" });
      valueOf(await data.writeEvents(fixture.tenants.test, request));
    });
  }, { spec: noteSpec(["one", "other"]) });
});

Deno.test("sixty writes at once to one aggregate may each look at another long state", async () => {
  await withService(async (fixture) => {
    const ids = Array.from({ length: 60 }, (_, number) => uuid(number));
    for (const id of ids) await fill(fixture, id);
    await withCold(fixture, async ({ data }) => {
      const writes = ids.map((one) => requestOf([noted({ one })], {}));
      const { test } = fixture.tenants;
      const outcomes = await Promise.all(writes.map((each) => data.writeEvents(test, each)));
      assert.deepEqual(kindsOf(outcomes), { written: 60 });
    });
  }, { spec: noteSpec(["one"]) });
});

/** Doctors who leave once, and notes about those who have left. */
function leaveSpec(on: JsonValue): JsonObject {
  const guard = (path: string, value: JsonValue) => ({ eq: [path, value] });
  return {
    agent_types: ["user"],
    aggregate_types: {
      doctor: {
        events: {
          has_come: { schema: true, handler: { set: { target: "on", value: true } } },
          has_left: {
            schema: true,
            handler: { set: { target: "on", value: on } },
            guards: [{ require: guard("@.on", true), message: "Gone" }],
          },
          was_missed: {
            schema: true,
            handler: [],
            guards: [{
              with: { other: { type: "doctor", id: "$.data.other" } },
              require: guard("$.with.other.on", on),
              message: "Still there",
            }],
          },
        },
      },
    },
  };
}

Deno.test("writes that were checked against two specs are judged one after the other", async () => {
  let held: HeldEngine | undefined;
  const wrap = (engine: Engine) => held = heldEngine(engine);
  await withService(async ({ service, tenants: { test } }) => {
    const write = (number: number, type: string, data: JsonObject = {}) => (
      service.data.writeEvents(test, requestOf([{ key: `doctor:${uuid(number)}`, type, data }], {}))
    );
    const commit = held!.hold();
    const come = [1, 2].map((number) => write(number, "has_come"));
    await commit.reached;
    const left = write(1, "has_left");
    valueOf(
      await service.specs.deploySpec(test, { spec: leaveSpec("no"), force: true, dryRun: false }),
    );
    const missed = write(2, "was_missed", { other: uuid(1) });
    await new Promise((resolve) => setTimeout(resolve, 20));
    commit.release();
    for (const each of await Promise.all([...come, left, missed])) valueOf(each);
  }, { spec: leaveSpec(false), wrap });
});

Deno.test("what the guards of a batch name is charged", async () => {
  const self = { type: "note", id: uuid(1) };
  const named = Array.from({ length: limits.guardOthersMax }, (_, n) => [`n${n}`, self]);
  const guard = { with: Object.fromEntries(named), require: { ne: [1, 2] }, message: "No" };
  const guards = Array.from({ length: limits.guardsMax }, () => guard);
  const events = { was_noted: { schema: true, handler: [], guards } };
  const spec = { agent_types: ["user"], aggregate_types: { note: { events } } };
  await withService(async ({ service: { data }, tenants: { test } }) => {
    const event = { key: `note:${uuid(1)}`, type: "was_noted", data: {} };
    const write = (count: number) => (
      data.writeEvents(test, requestOf(Array.from({ length: count }, () => event), {}))
    );
    valueOf(await write(400));
    assert.equal(refusalOf(await write(700)).kind, "fold_budget_exceeded");
  }, { spec });
});

Deno.test("what was erased is gone for guards, and its events still count for preconditions", async () => {
  await withService(async (fixture) => {
    const { service: { data }, tenants: { test } } = fixture;
    const placed = (number: number, length: number) => {
      const order = { key: `order:${uuid(number)}`, type: "was_placed" };
      const event = { ...order, data: { quantity: 1, product_id: uuid(1) } };
      const preconditions = [{ key: PRODUCT, length }];
      return data.writeEvents(test, requestOf([event], { preconditions }));
    };
    for (const quantity of [2, 3]) {
      valueOf(await data.writeEvents(test, requestOf([stocked(quantity)], {})));
    }
    valueOf(await placed(2, 2));
    await erase(fixture, PRODUCT);
    const length = valueOf(await data.readLength(test, "product", uuid(1)));
    assert.equal(refusalOf(await placed(3, length)).kind, "guard_failed");
    assert.equal(refusalOf(await placed(3, length + 1)).kind, "precondition_failed");
  }, { spec: guardedSpec });
});

Deno.test("a state from a module is charged when it is parsed, and then the clock is looked at", () => {
  const text = JSON.stringify({ text: "x".repeat(100_000) });
  const ids = [1, 2, 3, 4].map((number) => `list:${uuid(number)}` as const);
  const targets = ids.map((key) => ({ key, judgedStates: new Map([[0, text]]) }));
  const scene = {
    live: { characters: () => 0 },
    spent: 0,
    judged: 1,
    steps: 0,
    looked: 0,
  };
  const budget = newBudget(limits.guardUnitsMax);
  const parts = { moved: new Map(), others: new Set(), parsed: new Map() };
  const judging = { scene, write: { targets }, budget, ...parts } as unknown as Judging;
  const type = undefined as never;
  for (const [target, { key }] of targets.entries()) {
    for (const isFirst of [true, false]) {
      const found = stateAt(judging, { target, event: 0 }, key as never, type);
      assert.ok(!(found instanceof Promise) && found !== "later" && found.ok);
      assert.equal(isDue(judging), isFirst, "a state is parsed once");
    }
  }
  assert.equal(limits.guardUnitsMax - budget.left, targets.length * text.length);
});

/** Its handler does much, and the guard of the next event looks at the state behind it. */
const workSpec = {
  agent_types: ["user"],
  aggregate_types: {
    list: {
      events: {
        was_filled: {
          schema: true,
          handler: Array.from(
            { length: 60 },
            (_, n) => ({ set: { target: `t${n}`, value: "$.data" } }),
          ),
        },
        was_judged: {
          schema: true,
          handler: [],
          guards: [{ require: { exists: "@.t0" }, message: "It is empty" }],
        },
      },
    },
  },
};

for (const [name, lateTimes] of [["for a while", 15], ["each time", Infinity]] as const) {
  Deno.test(`a write whose guards take too long ${name} is judged again, at most three times`, async () => {
    let [left, nowMs] = [0, 0];
    const monotonicMs = () => nowMs += left-- > 0 ? 30 : 0.001;
    await withService(async ({ service: { data }, tenants: { test } }) => {
      const key = `list:${uuid(1)}`;
      const events = ["was_filled", "was_judged"].map((type) => (
        { key, type, data: { text: "x".repeat(2_000) } }
      ));
      const write = () => data.writeEvents(test, requestOf(events, {}));
      valueOf(await write());
      left = lateTimes;
      const outcome = await write();
      left = 0;
      if (lateTimes === Infinity) {
        const refusal = refusalOf(outcome);
        assert.ok(
          refusal.kind === "fold_budget_exceeded" && refusal.isOfTheMoment,
          JSON.stringify(refusal),
        );
      } else valueOf(outcome);
      const written = lateTimes === Infinity ? 2 : 4;
      assert.equal(valueOf(await data.readLength(test, "list", uuid(1))), written);
      valueOf(await write());
    }, { spec: workSpec, realHost: { monotonicMs } });
  });
}

Deno.test("long states are folded one after the other, and only their refusals are kept", async () => {
  const compiled = compileSpec(longSpec(false));
  assert.ok(compiled.ok);
  const type = compiled.spec.aggregateTypes.get("list")!;
  const ids = Array.from({ length: 10 }, (_, number) => uuid(number));
  await withService(async ({ service: { data }, engine, tenants: { test } }) => {
    for (const id of ids) valueOf(await data.writeEvents(test, requestOf([filled(id, 10)], {})));
    // Of the last one, the store has the state as it is.
    const stream = `list:${ids.at(-1)!}` as never;
    const { length, bytes, generation } = await engine.snapshot((tx) =>
      readHead(tx, test.number, stream)
    );
    const stored = { length, bytes, generation, state: `"${"x".repeat(2_000_000)}"` };
    const place = { tenant: test.number, stream, foldHash: type.foldHash };
    assert.ok(await saveSnapshot(engine, place, stored, { rest: () => undefined }));
    let [reads, underWay, most] = [0, 0, 0];
    const stateJson = "x".repeat(limits.guardStateCharactersMax + 1);
    const reader = {
      async readFolded() {
        reads++;
        most = Math.max(most, ++underWay);
        await new Promise((resolve) => setTimeout(resolve, 1));
        underWay--;
        return accept({ head: { length, bytes, generation }, stateJson });
      },
    };
    const tools = { engine, reader } as unknown as ConditionTools;
    const needed = ids.map((id) => ({ key: `list:${id}` as never, type }));
    const outside: OutsideStates = new Map();
    await foldOutside(tools, test.number, new StatesNeeded(needed), true, outside);
    for (const each of outside.values()) assert.equal(refusalOf(each).kind, "fold_budget_exceeded");
    // The one in the store is refused by its length alone.
    assert.deepEqual([outside.size, most, reads], [10, 1, 9]);
  }, { spec: longSpec(false) });
});
