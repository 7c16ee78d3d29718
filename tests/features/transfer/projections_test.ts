/** Projections are transferred as documents; the target builds the same rows from them. */

import assert from "node:assert/strict";
import { createAccess } from "../../../src/features/access/access_service.ts";
import { createService } from "../../../src/features/service.ts";
import { keys } from "../../../src/store/keys.ts";
import { readInstance, tenantOf } from "../../../src/store/access/instances.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { settleProjections } from "../../support/settle_projections.ts";
import {
  holdRows,
  ORDERS_SEEN,
  type ShopStreams,
  writeShop,
} from "../../support/shop_projections.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { exportText, imported, importText } from "../../support/transfer_fixtures.ts";
import { shopSpec } from "../../support/projection_shop.ts";

Deno.test("an imported environment has its projections, built anew from its events", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    valueOf(await service.projections.deploy(test, ORDERS_SEEN));
    valueOf(await service.projections.deploy(test, { ...ORDERS_SEEN, name: "gone" }));
    valueOf(await service.projections.remove(test, "gone"));
    const streams: ShopStreams = new Map();
    const placed = { type: "was_placed", data: { customer: uuid(11) } };
    await writeShop(service, test, {
      streams,
      stream: ["order", uuid(1)],
      event: placed,
      nowMs: host.timeMs,
    });
    await settleProjections(service);
    const text = await exportText(engine, host, test);
    assert.equal(text.split('"kind":"projection"').length, 2, "one, and none that was deleted");
    assert.equal(text.includes('"kind":"view'), false);

    await withTemporaryEngine(async (other) => {
      const otherHost = fakeHost("other");
      otherHost.timeMs = host.timeMs + 60_000;
      imported(await importText(other, otherHost, text));
      assert.equal((await other.snapshot((tx) => tx.getRange(keys.projectionTenants()))).length, 1);
      const instance = await other.snapshot((tx) => readInstance(tx, test.instanceId));
      const moved = tenantOf(instance!, "test");
      const access = createAccess(other, otherHost, { jwtSecret: new Uint8Array(32).fill(7) });
      const there = createService(other, otherHost, access);
      try {
        await settleProjections(there);
        const [status] = valueOf(await there.projections.list(moved)).data;
        const [before] = valueOf(await service.projections.list(test)).data;
        assert.equal(status?.deployed_at, before?.deployed_at);
        assert.equal(status?.state, "ready");
        await holdRows(other, moved, streams);
        const renamed = { type: "was_registered", data: { name: "Ada" } };
        const nowMs = otherHost.timeMs;
        await writeShop(there, moved, {
          streams,
          stream: ["customer", uuid(11)],
          event: renamed,
          nowMs,
        });
        await settleProjections(there);
        await holdRows(other, moved, streams);
      } finally {
        await there.close();
        await access.close();
      }
    });
  }, { spec: shopSpec() });
});
