/**
 * Data of an erased stream disappears from every row, and rows are recomputed from what is
 * left.
 */

import assert from "node:assert/strict";
import { streamKey } from "../../../src/domain/identifier.ts";
import type { Bytes } from "../../../src/kv/engine.ts";
import {
  eraseFromProjections,
  logRewrite,
} from "../../../src/store/projections/erased_projections.ts";
import {
  encodeRow,
  findProjectionRow,
  setProjectionRow,
} from "../../../src/store/projections/projection_rows.ts";
import { addRetry, countRetries } from "../../../src/store/projections/projection_work.ts";
import {
  type ProjectionRecord,
  setProjection,
} from "../../../src/store/projections/projections.ts";
import { pack } from "../../../src/kv/tuple.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { charactersParsedIn, parsedIn } from "../../support/parsed_json.ts";
import { settleProjections } from "../../support/settle_projections.ts";
import {
  ORDERS_SEEN,
  type ShopStreams,
  storedRows,
  writeShop,
} from "../../support/shop_projections.ts";
import { shopSpec } from "../../support/projection_shop.ts";
import { changeHead } from "../../support/stored_head.ts";
import { readParsedRow } from "../../support/parsed_rows.ts";

const ORDERS = 120;

for (
  const [what, type, id] of [
    ["shown by many rows", "customer", uuid(11)],
    ["of a row's own", "order", uuid(1_003)],
    ["in every row", "settings", "main"],
  ] as const
) {
  Deno.test(`eraseFromProjections() empties the rows that show an erased stream (${what})`, async () => {
    await withService(async ({ service, engine, host, tenants: { test } }) => {
      valueOf(await service.projections.deploy(test, ORDERS_SEEN));
      const streams: ShopStreams = new Map();
      const write = (place: [string, string], event: string, data: Record<string, string>) =>
        writeShop(service, test, {
          streams,
          stream: place,
          event: { type: event, data },
          nowMs: host.timeMs,
        });
      await write(["customer", uuid(11)], "was_registered", { name: "Ada" });
      await write(["settings", "main"], "was_set", { currency: "EUR" });
      for (let n = 0; n < ORDERS; n++) {
        const customer = uuid(n % 2 === 0 ? 11 : 12);
        await write(["order", uuid(1_000 + n)], "was_placed", { customer });
      }
      await settleProjections(service);
      const before = await storedRows(engine, test);

      const stream = streamKey(type, id);
      const tenant = test.number;
      await engine.transact(async (tx) => {
        await changeHead(tx, tenant, stream, { generation: 1 });
        await logRewrite(tx, tenant, stream);
      });
      const erased = { tenant, stream, generation: 1, erasedMs: host.timeMs };
      let after: Bytes | undefined;
      do after = await engine.transact((tx) => eraseFromProjections(tx, erased, after)); while (
        after !== undefined
      );

      const rows = await storedRows(engine, test);
      const isShown = (at: number) =>
        type === "settings" || (type === "customer" ? at % 2 === 0 : at === 3);
      for (const [at, { data }] of rows.entries()) {
        assert.deepEqual(data, isShown(at) ? null : before[at]!.data, `row ${at}`);
      }
      await settleProjections(service);
      // The events are unchanged here, so each row is what it was.
      const refreshed = await storedRows(engine, test);
      assert.deepEqual(refreshed.map(({ data }) => data), before.map(({ data }) => data));
    }, { spec: shopSpec() });
  });
}

for (const isShown of [true, false]) {
  const what = isShown ? "a row with data" : "a row without data";
  Deno.test(`eraseFromProjections() empties what is kept of a failure, in ${what} and beside its retry`, async () => {
    await withService(async ({ service, engine, host, tenants: { test } }) => {
      valueOf(await service.projections.deploy(test, ORDERS_SEEN));
      await writeShop(service, test, {
        streams: new Map(),
        stream: ["order", uuid(1)],
        event: { type: "was_placed", data: { customer: uuid(11) } },
        nowMs: host.timeMs,
      });
      await settleProjections(service);
      const place = { tenant: test.number, number: 1, version: 1 };
      const message = "Ada has no address";
      const error = {
        error_id: uuid(2),
        error_type: "module_failed",
        message,
        since: 0,
        tries: 1,
        nextTryMs: 5,
      };
      await engine.transact(async (tx) => {
        const row = (await readParsedRow(tx, place, uuid(1)))!;
        const dataJson = JSON.stringify(isShown ? row.data : null);
        setProjectionRow(tx, place, row, encodeRow({ ...row, dataJson, error }));
        addRetry(tx, place, { dueMs: 5, row: uuid(1) }, message);
      });
      const stream = streamKey("order", uuid(1));
      const erased = { tenant: test.number, stream, generation: 1, erasedMs: host.timeMs };
      await engine.transact((tx) => changeHead(tx, test.number, stream, { generation: 1 }));
      await engine.transact((tx) => eraseFromProjections(tx, erased, undefined));
      const row = await engine.snapshot((tx) => readParsedRow(tx, place, uuid(1)));
      assert.deepEqual([row?.data, row?.error?.message], [null, ""]);
      const counted = await engine.snapshot((tx) => countRetries(tx, place, 9));
      assert.deepEqual(counted, { count: 1, message: "" });
    }, { spec: shopSpec() });
  });
}

Deno.test("eraseFromProjections() ends a transaction with the row that reaches 4 MiB, and parses the data of none", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    valueOf(await service.projections.deploy(test, ORDERS_SEEN));
    const place = { tenant: test.number, number: 1, version: 1 };
    const stream = streamKey("customer", uuid(11));
    const rows = [1, 2, 3, 4, 5, 6].map((n) => uuid(1_000 + n));
    const dataJson = JSON.stringify({ list: new Array(400_000).fill({}) });
    for (const key of rows) {
      const about = { position: 1, generation: 0, updatedAt: 5, includes: [], error: undefined };
      const row = encodeRow({ key, ...about, sources: [[stream, 0, 1]], dataJson });
      await engine.transact((tx) => Promise.resolve(setProjectionRow(tx, place, undefined, row)));
    }
    const erased = { tenant: test.number, stream, generation: 1, erasedMs: host.timeMs };
    const empty: number[] = [];
    const parsed = await parsedIn(async () => {
      for (let after: Bytes | undefined, isFirst = true; isFirst || after; isFirst = false) {
        after = await engine.transact((tx) => eraseFromProjections(tx, erased, after));
        const found = await engine.snapshot((tx) =>
          Promise.all(rows.map((key) => findProjectionRow(tx, place, key)))
        );
        empty.push(found.filter((row) => row!.bytes < 1_000).length);
      }
    });
    assert.deepEqual(empty.slice(0, 2), [4, 6]);
    const longest = Math.max(...parsed);
    assert.ok(longest < 10_000, `${longest} characters were parsed together`);
  }, { spec: shopSpec() });
});

/** A projection that nothing but its own type is in, with a definition of about 30 KB. */
function definition(number: number, type: string): ProjectionRecord {
  const document = { for_each: type, note: "a".repeat(30_000) };
  const ready = { version: 1, document, columns: [], types: [type], basis: "" };
  const name = `p${`${number}`.padStart(3, "0")}`;
  const rest = { versions: 1, removing: [], isDeleted: false, deployed_at: "" };
  return { name, number, ready, ...rest };
}

Deno.test("eraseFromProjections() decodes a few definitions in a transaction, and goes on with those that read the type", async () => {
  await withTemporaryEngine(async (engine) => {
    const [tenant, count] = [1, 40];
    const key = uuid(1);
    const stream = streamKey("order", key);
    // Numbers and names are in different orders.
    const isOfType = (number: number) => number === 3 || number === 39;
    const about = { key, position: 1, generation: 0, updatedAt: 5, includes: [], error: undefined };
    const places = [3, 39].map((number) => ({ tenant, number, version: 1 }));
    for (let number = 0; number < count; number++) {
      const record = definition(number, isOfType(number) ? "order" : "note");
      await engine.transact((tx) => Promise.resolve(setProjection(tx, tenant, record)));
    }
    for (const place of places) {
      const row = encodeRow({ ...about, sources: [[stream, 0, 1]], dataJson: '{"name":"Ada"}' });
      await engine.transact((tx) => Promise.resolve(setProjectionRow(tx, place, undefined, row)));
    }
    const erased = { tenant, stream, generation: 1, erasedMs: 5 };
    // An erasure that an earlier build has begun goes by numbers: it begins again.
    let after: Bytes | undefined = pack([20, 1, key]);
    let steps = 0;
    for (; after !== undefined; steps++) {
      const from = after;
      const characters = await charactersParsedIn(async () => {
        after = await engine.transact((tx) => eraseFromProjections(tx, erased, from));
      });
      assert.ok(characters < 250_000, `${characters} characters in a step`);
    }
    assert.ok(steps < count / 2, `${steps} steps`);
    for (const place of places) {
      const row = await engine.snapshot((tx) => readParsedRow(tx, place, key));
      assert.equal(row?.data, null);
    }
  });
});
