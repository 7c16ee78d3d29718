/** Long folds run in compute processes: the results are right and the thread stays free. */

import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import type { AggregateView } from "../../../src/domain/reading.ts";
import type { Outcome } from "../../../src/domain/refusal.ts";
import { systemHost } from "../../../src/host.ts";
import { copyOfExampleSpec } from "../../support/example_spec.ts";
import {
  orderWrite,
  refusalOf,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { parsedState } from "../../support/parsed_state.ts";

/** Nothing may hold the thread longer; this allows for a noisy machine. */
const DELAY_MS_MAX = 500;

interface Attack extends ServiceFixture {
  /** Merges `data` into the state of the order. */
  fill(data: JsonObject): Promise<void>;
  /** Writes `count` events that the handler folds. */
  attack(count: number, data?: JsonObject): Promise<void>;
  read(synchronous?: boolean): Promise<Outcome<AggregateView>>;
}

async function withAttack(handler: JsonValue, body: (attack: Attack) => Promise<void>) {
  const spec = copyOfExampleSpec();
  const open = { schema: { type: "object" } };
  // deno-lint-ignore no-explicit-any
  const { events } = (spec.aggregate_types as any).order;
  events.was_filled = { ...open, handler: { merge: { target: "", value: "$.data" } } };
  events.was_attacked = { ...open, handler };
  const { monotonicMs, yieldTurn } = systemHost();
  await withService(async (fixture) => {
    const { service: { data: calls }, tenants: { test } } = fixture;
    async function write(type: string, data: JsonObject, count: number): Promise<void> {
      const all = Array.from({ length: count }, () => ({ type, data }));
      valueOf(await calls.writeEvents(test, orderWrite(uuid(1), all)));
    }
    await body({
      ...fixture,
      fill: (data) => write("was_filled", data, 1),
      attack: (count, data = {}) => write("was_attacked", data, count),
      read: (synchronous = true) =>
        calls.readAggregate(test, { aggregateType: "order", id: uuid(1), synchronous }),
    });
  }, { spec, realHost: { monotonicMs, yieldTurn } });
}

/** The longest time that others have waited for the thread. */
async function delayDuring(work: Promise<unknown>): Promise<number> {
  let [worst, last] = [0, performance.now()];
  const timer = setInterval(() => {
    const now = performance.now();
    worst = Math.max(worst, now - last);
    last = now;
  }, 5);
  await work.finally(() => clearInterval(timer));
  return Math.max(worst, performance.now() - last);
}

function keysOf(from: number, count: number): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`key${from + n}`, n]));
}

Deno.test("a state that is folded in a process is the one that its events make", async () => {
  const handler = { increment: { target: "n" } };
  await withAttack(handler, async ({ fill, attack, read, service, tenants: { test } }) => {
    const expected: JsonObject = {};
    // More than is folded in this process, with characters of each encoded length.
    for (let part = 0; part < 12; part++) {
      const data = { [`text${part}`]: `aé€😀"\n`.repeat(7_000) };
      await fill(data);
      Object.assign(expected, data);
    }
    await attack(7);
    expected.n = 7;
    for (const synchronous of [true, false, false]) {
      const { dataJson, length } = valueOf(await read(synchronous));
      assert.equal(dataJson, JSON.stringify(expected));
      assert.equal(length, 19);
    }
    await attack(1);
    assert.equal(parsedState(valueOf(await read(false))).n, 8, "on from what is known");
    const at = { aggregateType: "order", id: uuid(1), synchronous: false, atSeconds: 2e9 };
    const then = valueOf(await service.data.readAggregate(test, at));
    assert.equal(parsedState(then).n, 8);
    assert.equal(then.length, 20);
  });
});

function not(each: JsonValue): JsonValue {
  return { not: each };
}

function many(count: number, each: JsonValue): JsonValue[] {
  return Array.from({ length: count }, () => each);
}

const ATTACKS: readonly { what: string; handler: JsonValue; events: number; data: JsonObject[] }[] =
  [
    {
      what: "1,500 comparisons with a large object",
      handler: { if: { and: many(1_500, not({ eq: ["@", { key0: 0 }] })) }, then: [] },
      events: 50,
      data: Array.from({ length: 20 }, (_, part) => keysOf(part * 6_000, 6_000)),
    },
    {
      what: "1,500 comparisons of long texts",
      handler: { if: { and: many(1_500, { eq: ["@.a", "@.b"] }) }, then: [] },
      events: 500,
      data: [{ a: "x".repeat(50_000) }, { b: "x".repeat(50_000) }],
    },
    {
      what: "many removals from a long list",
      handler: many(1_000, [{ append: { target: "list", value: 1 } }, {
        remove: { target: "list[0]" },
      }]).flat(),
      events: 300,
      data: [{ list: Array.from({ length: 30_000 }, (_, n) => n % 10) }],
    },
    {
      what: "a full budget of steps",
      handler: many(4_000, { increment: { target: "n" } }),
      events: 9_000,
      data: [{ n: 0 }],
    },
  ];

for (const { what, handler, events, data } of ATTACKS) {
  Deno.test(`others have the thread during ${what}`, async () => {
    await withAttack(handler, async ({ fill, attack, read }) => {
      for (const each of data) await fill(each);
      await attack(events);
      let outcome: Outcome<AggregateView> | undefined;
      const worst = await delayDuring(read().then((each) => void (outcome = each)));
      assert.ok(outcome!.ok || refusalOf(outcome!).kind === "fold_budget_exceeded");
      assert.ok(worst < DELAY_MS_MAX, `${worst} ms`);
    });
  });
}

Deno.test("of many short folds that begin together, eight at most are made in each turn", async () => {
  const handler = { increment: { target: "n" } };
  await withAttack(handler, async ({ fill, host, read }) => {
    await fill({ text: "x".repeat(20_000) });
    const madeIn: number[] = [];
    let turn = 0;
    let isOver = false;
    async function countTurns(): Promise<void> {
      while (!isOver) {
        await host.yieldTurn();
        turn++;
      }
    }
    const counting = countTurns();
    const reads = Array.from({ length: 30 }, async () => {
      valueOf(await read());
      madeIn.push(turn);
    });
    await Promise.all(reads);
    isOver = true;
    await counting;
    const inOne = Math.max(...madeIn.map((at) => madeIn.filter((each) => each === at).length));
    assert.ok(inOne <= 8, `${inOne} of 30 were made in one turn`);
  });
});
