/** Sagas on a real engine: what they write, that it happens once, and what a deploy changes. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { SagaHistoryEntry } from "../../../src/domain/saga/instance.ts";
import { FoundationdbEngine } from "../../../src/kv/foundationdb/engine.ts";
import type { CompiledSaga } from "../../../src/domain/saga/definition.ts";
import { openSagaTools } from "../../../src/features/sagas/saga_transition.ts";
import { openWatchedTypes } from "../../../src/store/reactions/watched_types.ts";
import { showSagas } from "../../../src/features/sagas/read_sagas.ts";
import { listErrorRecords } from "../../../src/store/error_records.ts";
import {
  FULFILMENT,
  openShop,
  type SagaShop,
  SHOP,
  TENANT,
  typesOf,
  withShop,
} from "../../support/saga_fixtures.ts";
import { type Fault, faultyEngine } from "../../support/faulty_engine.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { heldEngine } from "../../support/held_engine.ts";
import { memoryDatabase } from "../../support/memory_foundationdb.ts";
import { uuid } from "../../support/service_fixture.ts";
import { temporaryEngine } from "../../support/temporary_engine.ts";
import { deafEngine } from "../../support/two_nodes.ts";

const MINUTE_MS = 60_000;

/** Asks for a payment and waits for the stock. */
const ASKING: JsonObject = {
  trigger: { aggregate_type: "order", event_type: "was_placed" },
  steps: [{
    name: "ask",
    emit: { aggregate_type: "payment", id: "$.id", event_type: "was_requested" },
    await: { aggregate_type: "inventory", id: "stock", event_types: ["was_released"] },
  }],
};

async function place(shop: SagaShop, id: string): Promise<void> {
  await shop.write("order", id, "was_placed", { sku: "stock" });
  await shop.showAll();
}

function outcomes(history: readonly SagaHistoryEntry[]): string[] {
  return history.map(({ step, outcome }) => `${step} ${outcome}`);
}

Deno.test("an order that is paid in time is confirmed, and every event says whose it is", async () => {
  await withShop(async (shop) => {
    await place(shop, "o1");
    assert.deepEqual(await shop.typesIn("payment", "o1"), ["was_requested"]);
    const [running] = await shop.sagas();
    assert.equal(running!.state, "running");
    assert.deepEqual(running!.waiting_for, {
      step: "charge",
      key: "payment:o1",
      event_types: ["was_captured", "was_refused"],
      until: shop.host.timeMs / 1000 + 60,
    });
    shop.host.timeMs += 5_000;
    await shop.write("payment", "o1", "was_captured");
    await shop.showAll();
    assert.deepEqual(await shop.typesIn("order", "o1"), ["was_placed", "was_confirmed"]);
    const [saga] = await shop.sagas();
    assert.equal(saga!.state, "completed");
    assert.equal(saga!.waiting_for, undefined);
    assert.deepEqual(outcomes(saga!.history), [
      "reserve emitted",
      "reserve completed",
      "charge emitted",
      "charge completed",
      "confirm emitted",
      "confirm completed",
    ]);
    const [, confirmed] = await shop.eventsIn("order", "o1");
    assert.deepEqual(confirmed!.metadata, {
      actor: { type: "system_agent", id: "saga_coordinator" },
      timestamp: shop.host.timeMs / 1000,
      implied_by: {
        key: "order:o1",
        event_type: "was_placed",
        stream_id: "000000000000",
        depth: 1,
      },
      saga: { name: "fulfilment", saga_id: saga!.saga_id, step: "confirm", phase: "emit" },
    });
    shop.host.timeMs += 2 * MINUTE_MS;
    assert.deepEqual(await shop.dueTimers(), []);
  });
});

Deno.test("a payment that does not come in time is compensated, and a later one is too late", async () => {
  await withShop(async (shop) => {
    await place(shop, "o1");
    shop.host.timeMs += MINUTE_MS - 1;
    await shop.fireTimers();
    assert.equal((await shop.sagas())[0]!.state, "running");
    shop.host.timeMs += 1;
    await shop.fireTimers();
    const [saga] = await shop.sagas();
    assert.equal(saga!.state, "compensated");
    const [, released] = await shop.eventsIn("inventory", "stock");
    assert.equal(released!.type, "was_released");
    assert.deepEqual(released!.metadata.actor, { type: "system_agent", id: "saga_compensator" });
    assert.equal(released!.metadata.saga!.phase, "compensate");
    await shop.write("payment", "o1", "was_captured");
    await shop.showAll();
    assert.deepEqual(await shop.typesIn("order", "o1"), ["was_placed"]);
    assert.deepEqual(await shop.sagas(), [saga]);
  });
});

Deno.test("an event that was there before the emission does not count", async () => {
  await withShop(async (shop) => {
    await shop.write("payment", "o1", "was_captured");
    await place(shop, "o1");
    assert.equal((await shop.sagas())[0]!.state, "running");
    await shop.write("payment", "o1", "was_refused");
    await shop.showAll();
    assert.equal((await shop.sagas())[0]!.state, "compensated");
  });
});

Deno.test("an event written in time counts, however late it is shown to the saga", async () => {
  await withShop(async (shop) => {
    await place(shop, "o1");
    shop.host.timeMs += MINUTE_MS - 1;
    await shop.write("payment", "o1", "was_captured");
    shop.host.timeMs += 60 * MINUTE_MS;
    await shop.fireTimers();
    assert.equal((await shop.sagas())[0]!.state, "completed");
    await shop.showAll();
    assert.deepEqual(await shop.typesIn("order", "o1"), ["was_placed", "was_confirmed"]);
  });
});

Deno.test("of two awaited events the first one written counts, whichever is shown first", async () => {
  await withShop(async (shop) => {
    await place(shop, "o1");
    await shop.write("payment", "o1", "was_refused");
    await shop.write("payment", "o1", "was_captured");
    const [, second] = await shop.pending();
    // The process that wrote the first event died before it could show it to the saga.
    await shop.advancer.advance(TENANT.number, [{ kind: "event", work: second! }], 0);
    await shop.showAll();
    assert.equal((await shop.sagas())[0]!.state, "compensated");
    assert.deepEqual(await shop.typesIn("order", "o1"), ["was_placed"]);
  });
});

Deno.test("an entry or a timer that is tried again has no second effect", async () => {
  await withShop(async (shop) => {
    await shop.write("order", "o1", "was_placed", { sku: "stock" });
    const works = await shop.pending();
    const events = works.map((work) => ({ kind: "event", work }) as const);
    for (let time = 0; time < 3; time++) {
      const { done } = await shop.advancer.advance(TENANT.number, events, 0);
      assert.equal(done, 1);
    }
    shop.host.timeMs += MINUTE_MS;
    const timers = (await shop.dueTimers()).map((timer) => ({ kind: "timer", timer }) as const);
    await Promise.all([1, 2, 3].map(() => shop.advancer.advance(TENANT.number, timers, 0)));
    assert.deepEqual(await shop.typesIn("inventory", "stock"), ["was_reserved", "was_released"]);
    assert.equal((await shop.sagas()).length, 1);
  });
});

const FAULTS: readonly Fault[] = [
  { kind: "lose_reply", landed: true },
  { kind: "lose_reply", landed: false },
  { kind: "conflict", times: 2 },
  { kind: "unavailable", landed: true },
  { kind: "unavailable", landed: false },
];

const ENDINGS = ["was_captured", "was_refused", "timeout"] as const;

for (const fault of FAULTS) {
  const name = JSON.stringify(fault);
  Deno.test(`each step happens once, whichever commit is met by ${name}`, async () => {
    for (const ending of ENDINGS) {
      let met = 0;
      while (met < 20 && await meetCommit(met, fault, ending)) met++;
      assert.ok(met >= 3 && met < 20, `${met} commits`);
    }
  });
}

/** Injects the fault into one commit of a saga's life; returns false if it has fewer commits. */
async function meetCommit(
  met: number,
  fault: Fault,
  ending: typeof ENDINGS[number],
): Promise<boolean> {
  const { engine, dispose } = await temporaryEngine();
  const shop = await openShop(engine);
  let commits = 0;
  const plan = () => commits++ === met ? fault : undefined;
  const faulty = await openShop(faultyEngine(engine, plan), SHOP, shop.host);
  try {
    const isPlaced = async () => (await shop.typesIn("order", "o1")).length > 0;
    await again(() => faulty.write("order", "o1", "was_placed", { sku: "stock" }), isPlaced);
    await again(faulty.showAll);
    const hasEnded = async () => (await shop.typesIn("payment", "o1")).length > 1;
    if (ending === "timeout") shop.host.timeMs += MINUTE_MS;
    else await again(() => faulty.write("payment", "o1", ending), hasEnded);
    await again(faulty.showAll);
    await again(faulty.fireTimers);
    const isGood = ending === "was_captured";
    const undone = isGood ? [] : ["was_released"];
    assert.deepEqual(await shop.typesIn("inventory", "stock"), ["was_reserved", ...undone]);
    const paid = ending === "timeout" ? [] : [ending];
    assert.deepEqual(await shop.typesIn("payment", "o1"), ["was_requested", ...paid]);
    const confirmed = isGood ? ["was_confirmed"] : [];
    assert.deepEqual(await shop.typesIn("order", "o1"), ["was_placed", ...confirmed]);
    const states = (await shop.sagas()).map(({ state }) => state);
    assert.deepEqual(states, [isGood ? "completed" : "compensated"]);
    return commits > met;
  } finally {
    await faulty.specs.close();
    await shop.specs.close();
    await dispose();
  }
}

/** Runs `run` again after an outage, unless its work is already done. */
async function again(run: () => Promise<void>, isDone = () => Promise.resolve(false)) {
  try {
    await run();
  } catch (error) {
    assert.equal((error as Error).name, "EngineUnavailable");
    if (!await isDone()) await run();
  }
}

Deno.test("a saga finishes under the definition it was started under", async () => {
  await withShop(async (shop) => {
    await place(shop, "o1");
    await shop.deploy({ ...SHOP, modules: {} });
    await place(shop, "o2");
    await shop.write("payment", "o1", "was_captured");
    await shop.showAll();
    assert.deepEqual(await shop.typesIn("order", "o1"), ["was_placed", "was_confirmed"]);
    assert.deepEqual(await shop.typesIn("order", "o2"), ["was_placed"]);
    const [saga, ...others] = await shop.sagas();
    assert.deepEqual([saga!.state, others], ["completed", []]);
  });
});

Deno.test("an event that the spec of now does not take fails its step", async () => {
  await withShop(async (shop) => {
    await place(shop, "o1");
    const types = typesOf({
      order: ["was_placed"],
      inventory: ["was_reserved", "was_released"],
      payment: ["was_requested", "was_captured", "was_refused"],
    });
    await shop.deploy({ ...SHOP, aggregate_types: types, modules: {} });
    await shop.write("payment", "o1", "was_captured");
    await shop.showAll();
    const [saga] = await shop.sagas();
    assert.equal(saga!.state, "compensated");
    assert.deepEqual(
      saga!.history.filter(({ reason }) => reason).map(({ step, reason }) => [step, reason]),
      [
        ["confirm", "Event type 'was_confirmed' not found in spec for aggregate 'order'"],
      ],
    );
    assert.deepEqual(await shop.typesIn("inventory", "stock"), ["was_reserved", "was_released"]);
  });
});

Deno.test("a compensation that nothing takes is tried eight times, then there is an error record", async () => {
  await withShop(async (shop) => {
    await place(shop, "o1");
    const types = typesOf({
      order: ["was_placed"],
      payment: ["was_requested", "was_captured", "was_refused"],
    });
    await shop.deploy({ ...SHOP, aggregate_types: types, modules: {} });
    await shop.write("payment", "o1", "was_refused");
    await shop.showAll();
    for (let hours = 0; hours < 10; hours++) {
      shop.host.timeMs += 60 * MINUTE_MS;
      await shop.fireTimers();
    }
    const [saga] = await shop.sagas();
    assert.equal(saga!.state, "failed");
    const tries = saga!.history.filter(({ outcome }) => outcome === "compensation_failed");
    assert.equal(tries.length, limits.sagaCompensationTriesMax);
    const errors = await shop.engine.snapshot((tx) =>
      listErrorRecords(tx, TENANT.number, { limit: 10 })
    );
    assert.deepEqual(errors.map(({ error_type, context }) => [error_type, context.saga_id]), [
      ["implication_failed", saga!.saga_id],
    ]);
  });
});

Deno.test("an event for which very many sagas wait is told to each of them once", async () => {
  const spec = { ...SHOP, modules: { sagas: { asking: ASKING } } };
  await withShop(async (shop) => {
    const count = 450;
    for (let number = 0; number < count; number++) {
      await shop.write("order", "o1", "was_placed", { number });
    }
    await shop.showAll();
    await shop.write("inventory", "stock", "was_released");
    const [work] = await shop.pending();
    const advances: number[] = [];
    for (let turn = 0; turn < 10 && (await shop.pending()).length > 0; turn++) {
      const causes = [{ kind: "event", work: work! } as const];
      advances.push((await shop.advancer.advance(TENANT.number, causes, 0)).done);
    }
    assert.deepEqual(advances.filter((done) => done === 1), [1]);
    assert.ok(advances.length > 2, "it took several transactions");
    const running = await showSagas(shop.engine, TENANT, { state: "running" });
    assert.deepEqual(running.ok && running.value.data, []);
    const completed = await showSagas(shop.engine, TENANT, { state: "completed" });
    assert.ok(completed.ok && completed.value.truncated);
    assert.equal((await shop.typesIn("payment", "o1")).length, count);
    shop.host.timeMs += MINUTE_MS;
    assert.deepEqual(await shop.dueTimers(), []);
  }, spec);
});

Deno.test("sagas that start one another end at the depth limit", async () => {
  const circle = (from: string, to: string): JsonObject => ({
    trigger: { aggregate_type: "order", event_type: from },
    steps: [{ name: "next", emit: { aggregate_type: "order", id: "$.id", event_type: to } }],
  });
  const sagas = {
    there: circle("was_placed", "was_confirmed"),
    back: circle("was_confirmed", "was_placed"),
  };
  await withShop(async (shop) => {
    await shop.write("order", "o1", "was_placed");
    await shop.showAll();
    assert.equal((await shop.typesIn("order", "o1")).length, 1 + limits.implicationDepthMax);
    const errors = await shop.engine.snapshot((tx) =>
      listErrorRecords(tx, TENANT.number, { limit: 10 })
    );
    assert.deepEqual(errors.map(({ error_type }) => error_type), ["implication_depth_exceeded"]);
  }, { ...SHOP, modules: { sagas } });
});

Deno.test("what one transaction cannot hold goes on in the next", async () => {
  const big = "x".repeat(90_000);
  const steps = Array.from({ length: 10 }, (_, index): JsonObject => ({
    name: `step${index}`,
    emit: { aggregate_type: "payment", id: "$.id", event_type: "was_requested", data: "$.data" },
  }));
  const trigger = FULFILMENT.trigger!;
  // With what it schedules, each step stores three times its data: ten of them 2.7 MB.
  const emit = { aggregate_type: "order", id: "$.id", event_type: "was_confirmed", data: "$.data" };
  const implications = [1, 2].map(() => ({ schedule: { delay: "365d", emit } }));
  const types = SHOP.aggregate_types as Record<string, { events: Record<string, JsonObject> }>;
  const { events } = types.payment!;
  const requested = { ...events.was_requested, implications };
  const payment = { events: { ...events, was_requested: requested } };
  await withShop(async (shop) => {
    await shop.write("order", "o1", "was_placed", { big });
    await shop.showAll();
    assert.equal((await shop.sagas())[0]!.state, "running");
    await shop.fireTimers();
    const [saga] = await shop.sagas();
    assert.equal(saga!.state, "completed");
    assert.equal((await shop.typesIn("payment", "o1")).length, 10);
  }, {
    ...SHOP,
    aggregate_types: { ...types, payment } as unknown as JsonObject,
    modules: { sagas: { long: { trigger, steps } } },
  });
});

Deno.test("the definitions in memory are limited by their bytes, singletons included", () => {
  const { definitions } = openSagaTools(fakeHost(), openWatchedTypes());
  const singletons = Array.from({ length: 50_000 }, (_, n) => `single_${n}`);
  for (const [names, most] of [[singletons, 10], [[], 1_000]] as const) {
    for (let n = 0; n < 1_000; n++) {
      const kept = { name: "one", saga: FULFILMENT, singletons: names };
      definitions.set(`h${n}`, { kept } as unknown as CompiledSaga);
    }
    assert.ok(definitions.size > 1 && definitions.size <= most, `${definitions.size} are kept`);
  }
});

Deno.test("a saga that the service cannot move on fails for good after the last try", async () => {
  await withShop(async (shop) => {
    await place(shop, "o1");
    shop.host.timeMs += MINUTE_MS;
    for (let tries = 1; tries <= limits.reactionTriesMax; tries++) {
      const [timer] = await shop.dueTimers();
      assert.equal(await shop.advancer.postpone(timer!, "broken", () => 1_000), tries);
      assert.equal(await shop.advancer.postpone(timer!, "broken", () => 1_000), undefined);
      assert.deepEqual(await shop.dueTimers(), []);
      shop.host.timeMs += 1_000;
    }
    const [saga] = await shop.sagas();
    assert.equal(saga!.state, "failed");
    assert.deepEqual(saga!.history.at(-1)!.reason, "broken");
    await shop.write("payment", "o1", "was_captured");
    await shop.showAll();
    assert.deepEqual(await shop.typesIn("order", "o1"), ["was_placed"]);
  });
});

Deno.test("whoever tries at the same time, over an engine that fails: every order ends once", async () => {
  for (let seed = 1; seed <= 8; seed++) await runRace(randomFrom(seed));
});

/** Seeded numbers below `limit` (mulberry32). */
function randomFrom(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor(((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32 * limit);
  };
}

async function runRace(random: (limit: number) => number): Promise<void> {
  const { engine, dispose } = await temporaryEngine();
  const shop = await openShop(engine);
  const plan = () => random(4) === 0 ? FAULTS[random(3)] : undefined;
  const nodes = [
    await openShop(faultyEngine(engine, plan), SHOP, shop.host),
    await openShop(faultyEngine(engine, plan), SHOP, shop.host),
  ];
  const orders = Array.from({ length: 10 }, (_, number) => uuid(number));
  const work = async ({ pending, dueTimers, advancer }: SagaShop) => {
    const events = (await pending()).map((work) => ({ kind: "event", work }) as const);
    const timers = (await dueTimers()).map((timer) => ({ kind: "timer", timer }) as const);
    await advancer.advance(TENANT.number, [...events, ...timers], 0);
  };
  try {
    for (const id of orders) await shop.write("order", id, "was_placed", { sku: "stock" });
    for (let turn = 0; turn < 12; turn++) {
      shop.host.timeMs += random(20_000);
      const id = orders[random(orders.length)]!;
      const ending = ENDINGS[random(3)]!;
      const write = ending === "timeout" ? Promise.resolve() : shop.write("payment", id, ending);
      await Promise.all([write, ...nodes.map(work), ...nodes.map(work)]);
    }
    shop.host.timeMs += MINUTE_MS;
    await shop.showAll();
    await shop.fireTimers();
    await checkOrders(shop, orders);
  } finally {
    for (const { specs } of [shop, ...nodes]) await specs.close();
    await dispose();
  }
}

async function checkOrders(shop: SagaShop, orders: readonly string[]): Promise<void> {
  const sagas = await shop.sagas();
  assert.equal(sagas.length, orders.length);
  const stock = await shop.eventsIn("inventory", "stock");
  for (const id of orders) {
    const { state } = sagas.find(({ trigger }) => trigger.key === `order:${id}`)!;
    const moves = stock.filter(({ data }) => data.order === id).map(({ type }) => type);
    const isGood = state === "completed";
    assert.deepEqual(moves, isGood ? ["was_reserved"] : ["was_reserved", "was_released"]);
    const confirmed = isGood ? ["was_confirmed"] : [];
    assert.deepEqual(await shop.typesIn("order", id), ["was_placed", ...confirmed]);
    const payments = await shop.typesIn("payment", id);
    assert.equal(payments.filter((type) => type === "was_requested").length, 1);
    // What came first after the request has decided, if it came in time.
    const [first] = payments.slice(payments.indexOf("was_requested") + 1);
    if (isGood) assert.equal(first, "was_captured");
  }
}

Deno.test("sagas go the same way on the distributed engine", async () => {
  const engine = new FoundationdbEngine({ database: memoryDatabase(), host: fakeHost() });
  const shop = await openShop(engine);
  try {
    for (const id of ["o1", "o2", "o3"]) {
      await shop.write("order", id, "was_placed", { sku: "stock" });
    }
    await shop.showAll();
    await shop.write("payment", "o1", "was_captured");
    await shop.write("payment", "o2", "was_refused");
    await shop.showAll();
    shop.host.timeMs += MINUTE_MS;
    await shop.fireTimers();
    const sagas = await shop.sagas();
    const ends = sagas.map(({ trigger, state }) => `${trigger.key} ${state}`).sort();
    assert.deepEqual(ends, ["order:o1 completed", "order:o2 compensated", "order:o3 compensated"]);
    assert.deepEqual((await shop.typesIn("inventory", "stock")).sort(), [
      "was_released",
      "was_released",
      "was_reserved",
      "was_reserved",
      "was_reserved",
    ]);
  } finally {
    await shop.specs.close();
    await engine.close();
  }
});

Deno.test("an event that starts more sagas than one transaction holds starts each of them once", async () => {
  const names = Array.from({ length: 40 }, (_, number) => `saga${number}`);
  const sagas = Object.fromEntries(names.map((name) => [name, ASKING]));
  await withShop(async (shop) => {
    await shop.write("order", "o1", "was_placed", { text: "x".repeat(90_000) });
    const [work] = await shop.pending();
    const causes = [{ kind: "event", work: work! } as const];
    assert.equal((await shop.advancer.advance(TENANT.number, causes, 0)).done, 0);
    await shop.showAll();
    const started = (await shop.sagas()).map(({ name }) => name);
    assert.deepEqual(started.sort(), names.toSorted());
    assert.equal((await shop.typesIn("payment", "o1")).length, names.length);
  }, { ...SHOP, modules: { sagas } });
});

Deno.test("an entry that is done starts nothing, also after a deploy that adds a saga", async () => {
  await withShop(async (shop) => {
    await shop.write("order", "o1", "was_placed", { sku: "stock" });
    const causes = (await shop.pending()).map((work) => ({ kind: "event", work }) as const);
    await shop.advancer.advance(TENANT.number, causes, 0);
    await shop.deploy({ ...SHOP, modules: { sagas: { fulfilment: FULFILMENT, asking: ASKING } } });
    await shop.advancer.advance(TENANT.number, causes, 0);
    assert.deepEqual((await shop.sagas()).map(({ name }) => name), ["fulfilment"]);
  });
});

Deno.test("an event that commits while a saga begins to wait came before it", async () => {
  const { engine, dispose } = await temporaryEngine();
  const spec = { ...SHOP, modules: { sagas: { asking: ASKING } } };
  const shop = await openShop(engine, spec);
  const held = heldEngine(engine);
  const slow = await openShop(held, spec, shop.host);
  try {
    await shop.write("order", "o1", "was_placed");
    const beginning = held.hold();
    const showing = slow.showAll();
    await beginning.reached;
    await shop.write("inventory", "stock", "was_released");
    beginning.release();
    await showing;
    await shop.showAll();
    assert.deepEqual((await shop.sagas()).map(({ state }) => state), ["running"]);
    await shop.write("inventory", "stock", "was_released");
    await shop.showAll();
    assert.deepEqual((await shop.sagas()).map(({ state }) => state), ["completed"]);
  } finally {
    await slow.specs.close();
    await shop.specs.close();
    await dispose();
  }
});

Deno.test("a node that has not heard of a deploy starts sagas under the new spec all the same", async () => {
  const { engine, dispose } = await temporaryEngine();
  const shop = await openShop(engine);
  const node = await openShop(deafEngine(engine), SHOP, shop.host);
  try {
    // Until the node follows deploys, it asks the store each time.
    while (node.specs.current(TENANT.number) instanceof Promise) {
      await node.specs.current(TENANT.number);
    }
    await shop.deploy({ ...SHOP, modules: { sagas: { asking: ASKING } } });
    assert.ok((await node.specs.current(TENANT.number)).sagas.has("fulfilment"), "it is deaf");
    await shop.write("order", "o1", "was_placed", { sku: "stock" });
    await node.showAll();
    assert.deepEqual((await shop.sagas()).map(({ name }) => name), ["asking"]);
  } finally {
    await node.specs.close();
    await shop.specs.close();
    await dispose();
  }
});
