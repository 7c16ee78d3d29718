/** Definitions of projections: pages of them, and calls that concern one of many. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { parsedIn } from "../../support/parsed_json.ts";
import { shopSpec } from "../../support/projection_shop.ts";
import {
  type FixtureOptions,
  refusalOf,
  type ServiceFixture,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { settleProjections } from "../../support/settle_projections.ts";
import { ORDERS_SEEN } from "../../support/shop_projections.ts";

/** As text it has some 20 KB. */
function definition(name: string, column = "customer"): JsonObject {
  const columns = Array.from({ length: 100 }, (_, n) => [
    `${column}_${n}`,
    `$.order.${"long_".repeat(35)}`,
  ]);
  return { ...ORDERS_SEEN, name, select: Object.fromEntries(columns) };
}

const COUNT = 30;
const NAMES = Array.from({ length: COUNT }, (_, n) => `p${String(n).padStart(2, "0")}`);

function withMany(
  body: (fixture: ServiceFixture) => Promise<void>,
  options: FixtureOptions = {},
): Promise<void> {
  return withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    for (const name of NAMES) valueOf(await service.projections.deploy(test, definition(name)));
    await body(fixture);
  }, { spec: shopSpec(), ...options });
}

Deno.test("pages of projections have each that is not deleted once, by name", () =>
  withMany(async ({ service: { projections }, tenants: { test } }) => {
    const deleted = ["p00", "p07", "p08", "p29"];
    for (const name of deleted) valueOf(await projections.remove(test, name));
    const kept = NAMES.filter((name) => !deleted.includes(name));
    for (const limit of [1, 7, 26, 200]) {
      const found: string[] = [];
      let start: string | undefined;
      do {
        const page = valueOf(await projections.list(test, { limit, start }));
        assert.ok(page.data.length > 0 && page.data.length <= limit);
        found.push(...page.data.map(({ name }) => name));
        assert.equal(page.next_start, page.truncated ? found.at(-1) : undefined);
        start = page.next_start;
      } while (start !== undefined);
      assert.deepEqual(found, kept, `in pages of ${limit}`);
    }
    assert.equal(valueOf(await projections.list(test, { start: "p10zzz" })).data[0]?.name, "p11");
    assert.deepEqual(valueOf(await projections.list(test, { start: "z" })).data, []);
    const tooLong = refusalOf(await projections.list(test, { start: "p".repeat(65) }));
    assert.equal(tooLong.kind, "bad_request");
  }));

Deno.test("a call that concerns one of many projections decodes no others", () =>
  withMany(async ({ service, tenants: { test } }) => {
    const { projections } = service;
    await settleProjections(service);
    const length = JSON.stringify(definition("p05")).length;
    /** How many definitions are decoded. */
    async function definitionsIn(call: () => Promise<unknown>): Promise<number> {
      return (await parsedIn(async () => void await call())).filter((each) => each > length).length;
    }
    assert.equal(await definitionsIn(() => projections.show(test, "p05")), 1);
    // One more says whether anything follows.
    assert.equal(await definitionsIn(() => projections.list(test, { limit: 1 })), 2);
    assert.equal(await definitionsIn(() => projections.list(test, { limit: 1, start: "p28" })), 1);
    const again = () => projections.deploy(test, definition("p05"));
    assert.equal(await definitionsIn(again), 1);
    assert.equal(valueOf(await again()).isNew, false);
    const none = async () => refusalOf(await projections.remove(test, "none"));
    assert.equal(await definitionsIn(none), 0);
    assert.equal((await none()).kind, "not_found");
    // What is left decides which commits wake the upkeep.
    assert.ok(await definitionsIn(() => projections.remove(test, "p05")) >= COUNT);
  }));

Deno.test("changes of an environment that are asked for at once go one by one, and none is lost", () => {
  const bodies = { underWay: 0, most: 0 };
  // The clock passes by a whole slice at each look, so every definition is read in one of its own.
  let clockMs = 0;
  const monotonicMs = () => clockMs += 100;
  const wrap = (inner: Engine) =>
    wrapEngine(inner, {
      transact: (body, options) =>
        inner.transact(async (tx) => {
          bodies.most = Math.max(bodies.most, ++bodies.underWay);
          try {
            return await body(tx);
          } finally {
            bodies.underWay--;
          }
        }, options),
    });
  return withMany(async ({ service: { projections }, tenants: { test, staging } }) => {
    bodies.most = 0;
    const changed = NAMES.slice(0, 20);
    const outcomes = await Promise.all([
      ...changed.map((name) => projections.deploy(test, definition(name, "changed"))),
      ...NAMES.slice(20).map((name) => projections.remove(test, name)),
    ]);
    assert.ok(outcomes.every(({ ok }) => ok));
    assert.equal(bodies.most, 1);
    const { data } = valueOf(await projections.list(test));
    assert.deepEqual(data.map(({ name }) => name), changed);
    assert.ok(data.every(({ projection }) => "changed_0" in (projection.select as JsonObject)));
    assert.deepEqual(valueOf(await projections.list(staging)).data, []);
  }, { wrap, realHost: { monotonicMs } });
});

Deno.test("100 short pages that are asked for at once are read in a turn each", () => {
  let turns = 0;
  const yieldTurn = () => {
    turns++;
    return new Promise<void>((resolve) => setImmediate(resolve));
  };
  return withMany(async ({ service: { projections }, tenants: { test } }) => {
    turns = 0;
    const pages = await Promise.all(
      Array.from({ length: 100 }, () => projections.list(test, { limit: 1 })),
    );
    assert.ok(pages.every((page) => valueOf(page).data.length === 1));
    assert.ok(turns >= 100, `${turns} turns`);
  }, { realHost: { yieldTurn } });
});
