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
  readProjectionRow,
  setProjectionRow,
} from "../../../src/store/projections/projection_rows.ts";
import { addRetry, countRetries } from "../../../src/store/projections/projection_work.ts";
import { uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { settleProjections } from "../../support/settle_projections.ts";
import {
  ORDERS_SEEN,
  type ShopStreams,
  storedRows,
  writeShop,
} from "../../support/shop_projections.ts";
import { shopSpec } from "../../support/projection_shop.ts";
import { changeHead } from "../../support/stored_head.ts";

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

Deno.test("eraseFromProjections() empties what is kept of a failure, in the row and beside its retry", async () => {
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
      const row = (await readProjectionRow(tx, place, uuid(1)))!;
      setProjectionRow(tx, place, row, encodeRow({ ...row, error }));
      addRetry(tx, place, { dueMs: 5, row: uuid(1) }, message);
    });
    const stream = streamKey("order", uuid(1));
    const erased = { tenant: test.number, stream, generation: 1, erasedMs: host.timeMs };
    await engine.transact((tx) => changeHead(tx, test.number, stream, { generation: 1 }));
    await engine.transact((tx) => eraseFromProjections(tx, erased, undefined));
    const row = await engine.snapshot((tx) => readProjectionRow(tx, place, uuid(1)));
    assert.deepEqual([row?.data, row?.error?.message], [null, ""]);
    const counted = await engine.snapshot((tx) => countRetries(tx, place, 9));
    assert.deepEqual(counted, { count: 1, message: "" });
  }, { spec: shopSpec() });
});
