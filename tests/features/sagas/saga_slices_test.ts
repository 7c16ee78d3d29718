/** Sagas in large numbers and of large definitions: others have a turn between them. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import { newCounters } from "../../../src/domain/measures/counters.ts";
import {
  discardReactions,
  type ManageParts,
} from "../../../src/features/reactions/manage_reactions.ts";
import { listErrorRecords } from "../../../src/store/error_records.ts";
import { type SagaShop, SHOP, TENANT, withShop } from "../../support/saga_fixtures.ts";
import { charactersParsedIn } from "../../support/parsed_json.ts";
import { valueOf } from "../../support/service_fixture.ts";

const TRIGGER = { aggregate_type: "order", event_type: "was_placed" };
const NEVER = { eq: ["$.data.a", "b"] };

function manySagas(count: number, definition: JsonObject): JsonObject {
  const names = Array.from({ length: count }, (_, number) => `saga${number}`);
  return { ...SHOP, modules: { sagas: Object.fromEntries(names.map((n) => [n, definition])) } };
}

/** Waits for stock, and has so many characters of constants. */
function waiting(characters: number): JsonObject {
  return {
    trigger: TRIGGER,
    steps: [{
      name: "ask",
      emit: { aggregate_type: "payment", id: "$.id", event_type: "was_requested" },
      await: { aggregate_type: "inventory", id: "stock", event_types: ["was_released"] },
    }, {
      name: "tell",
      emit: {
        aggregate_type: "payment",
        id: "$.id",
        event_type: "was_requested",
        data: { text: "x".repeat(characters) },
      },
    }],
  };
}

/** The turns that `body` leaves to others when each look at the clock finds a slice over. */
async function turnsIn({ host }: SagaShop, body: () => Promise<unknown>): Promise<number> {
  const { monotonicMs, yieldTurn } = host;
  let turns = 0;
  let nowMs = monotonicMs();
  host.monotonicMs = () => nowMs += 5;
  host.yieldTurn = () => {
    turns++;
    return yieldTurn();
  };
  try {
    await body();
  } finally {
    Object.assign(host, { monotonicMs, yieldTurn });
  }
  return turns;
}

Deno.test("others have a turn before each condition of the sagas that an event may start", async () => {
  const count = 60;
  await withShop(async (shop) => {
    await shop.write("order", "o1", "was_placed", { a: "c" });
    const turns = await turnsIn(shop, () => shop.showAll());
    assert.ok(turns >= count, `${turns} turns`);
    assert.deepEqual(await shop.sagas(), []);
  }, manySagas(count, { ...waiting(1), trigger: { ...TRIGGER, condition: NEVER } }));
});

Deno.test("others have a turn before each condition of the steps that a saga skips", async () => {
  const steps = Array.from({ length: 50 }, (_, number) => ({
    name: `s${number}`,
    condition: NEVER,
    else: "skip",
    emit: { aggregate_type: "payment", id: "$.id", event_type: "was_requested" },
  }));
  await withShop(async (shop) => {
    await shop.write("order", "o1", "was_placed", { a: "c" });
    const turns = await turnsIn(shop, () => shop.showAll());
    assert.ok(turns >= steps.length, `${turns} turns`);
    assert.deepEqual((await shop.sagas()).map(({ state }) => state), ["completed"]);
  }, manySagas(1, { trigger: TRIGGER, steps }));
});

/** A condition that takes as much work as one may, and an event for it. */
const HEAVY = { and: Array.from({ length: 60 }, () => ({ eq: ["$.data.a", "$.data.b"] })) };
const EMPTY = Array.from({ length: 12_000 }, () => ({}));

for (const [heavy, starts] of [[6, true], [9, false]] as const) {
  Deno.test(`a saga with a condition after ${heavy} whose conditions take long ${starts ? "starts" : "is reported instead"}`, async () => {
    const isHeavy = { ...waiting(1), trigger: { ...TRIGGER, condition: HEAVY } };
    const { modules } = manySagas(heavy, isHeavy) as { modules: { sagas: JsonObject } };
    const last = { ...waiting(1), trigger: { ...TRIGGER, condition: { exists: "$.data.a" } } };
    const sagas = { ...modules.sagas, last, always: waiting(1) };
    await withShop(async (shop) => {
      await shop.write("order", "o1", "was_placed", { a: EMPTY, b: EMPTY });
      await shop.showAll();
      const names = (await shop.sagas()).map(({ name }) => name).sort();
      assert.deepEqual(names, starts ? ["always", "last"] : ["always"]);
      const errors = await shop.engine.snapshot((tx) =>
        listErrorRecords(tx, TENANT.number, { limit: 10 })
      );
      const found = errors.map(({ error_type, context }) => [error_type, context.event_key]);
      assert.deepEqual(found, starts ? [] : [["implication_failed", "order:o1"]]);
    }, { ...SHOP, modules: { sagas } });
  });
}

Deno.test("sagas of one definition are discarded one at a time, and it is read once", async () => {
  const characters = 300_000;
  const count = 12;
  await withShop(async (shop) => {
    const ids = ["o1", "o2", "o3"];
    for (let n = 0; n < count; n++) await shop.write("order", ids[n % 3]!, "was_placed", {});
    await shop.showAll();
    assert.equal((await shop.sagas()).length, count);
    const { engine, host, advancer: sagas } = shop;
    const parts = { engine, host, counters: newCounters(), sagas } as Partial<ManageParts>;
    const request = { filter: { kind: "saga" }, by: "anna", requestId: "r" } as const;
    let turns = 0;
    const parsed = await charactersParsedIn(async () => {
      turns = await turnsIn(shop, async () => {
        const done = valueOf(await discardReactions(parts as ManageParts, TENANT, request));
        assert.equal(done.discarded.saga, count);
      });
    });
    assert.ok(turns >= count, `${turns} turns`);
    assert.ok(parsed < 2 * characters, `${parsed} characters`);
    const [first] = await shop.sagas();
    assert.equal(first!.history.at(-1)!.step, "ask");
  }, manySagas(1, waiting(characters)));
});

Deno.test("an event starts all sagas of a spec with very many singletons", async () => {
  const singletons = Array.from({ length: 30_000 }, (_, number) => `singleton-${number}`);
  const spec = manySagas(40, waiting(1));
  await withShop(async (shop) => {
    await shop.write("order", "o1", "was_placed", {});
    await shop.showAll();
    assert.equal((await shop.sagas()).length, 40);
  }, { ...spec, singletons: ["o1", "stock", ...singletons] });
});

Deno.test("a saga that holds much is decoded in a turn of its own", async () => {
  await withShop(async (shop) => {
    await shop.write("order", "o1", "was_placed", {});
    await shop.showAll();
    const small = await turnsIn(shop, () => shop.sagas());
    await shop.write("order", "o2", "was_placed", { text: "x".repeat(90_000) });
    await shop.showAll();
    const turns = await turnsIn(shop, () => shop.sagas());
    assert.equal(turns, small + 1);
  }, manySagas(1, waiting(1)));
});
