/** The names of steps: large definitions are decoded once, and few are kept. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import { openStepNames } from "../../../src/features/sagas/read_sagas.ts";
import { showSaga } from "../../../src/features/sagas/read_sagas.ts";
import type { Engine, ReadTransaction } from "../../../src/kv/engine.ts";
import { encodeRecord } from "../../../src/store/json_record.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { charactersParsedIn } from "../../support/parsed_json.ts";
import { type SagaShop, SHOP, TENANT, withShop } from "../../support/saga_fixtures.ts";
import { valueOf } from "../../support/service_fixture.ts";

const CHARACTERS = 300_000;
const OTHER: Tenant = { ...TENANT, environment: "staging", number: 2 };

/** A saga that waits, or ends at once, under a definition with many characters of constants. */
function largeSpec(waits: boolean): JsonObject {
  const emit = { aggregate_type: "payment", id: "$.id", event_type: "was_requested" };
  const ask = { aggregate_type: "inventory", id: "stock", event_types: ["was_released"] };
  const large = { ...emit, data: { text: "x".repeat(CHARACTERS) } };
  const tell = { name: "tell", condition: { exists: "$.data.never" }, else: "skip", emit: large };
  const steps = [{ name: "ask", emit, ...(waits && { await: ask }) }, tell];
  const trigger = { aggregate_type: "order", event_type: "was_placed" };
  return { ...SHOP, modules: { sagas: { big: { trigger, steps } } } };
}

async function placeOrder(shop: SagaShop): Promise<string> {
  await shop.write("order", "o1", "was_placed", {});
  await shop.showAll();
  const [saga] = await shop.sagas();
  return saga!.saga_id;
}

Deno.test("many reads of a saga decode its large definition once", async () => {
  await withShop(async (shop) => {
    const id = await placeOrder(shop);
    const { engine, host } = shop;
    const reader = { engine, host, stepNames: openStepNames(engine, host) };
    const parsed = await charactersParsedIn(async () => {
      const reads = Array.from({ length: 100 }, () => showSaga(reader, TENANT, id));
      for (const found of await Promise.all(reads)) {
        assert.equal(valueOf(found).waiting_for!.step, "ask");
      }
      assert.equal(valueOf(await showSaga(reader, TENANT, id)).waiting_for!.step, "ask");
    });
    assert.ok(parsed > CHARACTERS && parsed < 2 * CHARACTERS, `${parsed} characters`);
  }, largeSpec(true));
});

Deno.test("the definition of a saga that has ended is not read", async () => {
  await withShop(async (shop) => {
    const id = await placeOrder(shop);
    const { engine, host } = shop;
    const reader = { engine, host, stepNames: openStepNames(engine, host) };
    const parsed = await charactersParsedIn(async () => {
      const saga = valueOf(await showSaga(reader, TENANT, id));
      assert.deepEqual([saga.state, saga.waiting_for], ["completed", undefined]);
    });
    assert.ok(parsed < CHARACTERS / 10, `${parsed} characters`);
  }, largeSpec(false));
});

/** An engine that has every definition, with fifty long names of steps, and counts the reads. */
function countedEngine() {
  const counts = { reads: 0, fails: 0 };
  const steps = Array.from({ length: 50 }, (_, index) => ({ name: `${index}`.padStart(64, "s") }));
  const value = encodeRecord({ name: "big", saga: { steps }, singletons: [] });
  const tx = { get: () => Promise.resolve(value) } as unknown as ReadTransaction;
  async function snapshot<T>(body: (tx: ReadTransaction) => Promise<T>): Promise<T> {
    counts.reads++;
    if (counts.fails-- > 0) throw new Error("store away");
    return await body(tx);
  }
  return { engine: { snapshot } as Pick<Engine, "snapshot">, counts };
}

Deno.test("the names of the definitions that were read last are kept, up to some megabytes", async () => {
  const { engine, counts } = countedEngine();
  const stepNames = openStepNames(engine, fakeHost());
  const count = 600;
  for (let n = 0; n < count; n++) assert.equal((await stepNames(TENANT, `h${n}`)).length, 50);
  assert.equal(counts.reads, count);
  await stepNames(TENANT, `h${count - 1}`);
  assert.equal(counts.reads, count, "the last one is known");
  await stepNames(TENANT, "h0");
  assert.equal(counts.reads, count + 1, "the first one is not");
  await stepNames(OTHER, `h${count - 1}`);
  assert.equal(counts.reads, count + 2, "nor what only another environment has read");
});

Deno.test("a read that fails is not remembered, and all who waited for it are told", async () => {
  const { engine, counts } = countedEngine();
  counts.fails = 1;
  const stepNames = openStepNames(engine, fakeHost());
  const ends = await Promise.allSettled([1, 2, 3].map(() => stepNames(TENANT, "h")));
  assert.deepEqual(ends.map(({ status }) => status), ["rejected", "rejected", "rejected"]);
  assert.equal((await stepNames(TENANT, "h")).length, 50);
  assert.equal(counts.reads, 2);
});

Deno.test("each definition is decoded in a turn of its own", async () => {
  const { engine, counts } = countedEngine();
  const host = fakeHost();
  const ends: (() => void)[] = [];
  host.yieldTurn = () => new Promise((resolve) => ends.push(resolve));
  const stepNames = openStepNames(engine, host);
  const all = Promise.all([1, 2, 3, 4].map((n) => stepNames(TENANT, `h${n}`)));
  for (let turn = 0; turn < 4; turn++) {
    await new Promise((resolve) => setTimeout(resolve, 0));
    assert.equal(counts.reads, turn);
    ends.shift()!();
  }
  assert.equal((await all).length, 4);
});
