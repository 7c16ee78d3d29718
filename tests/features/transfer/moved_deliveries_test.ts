/** Pending deliveries are transferred with their environment; ended ones stay behind. */

import assert from "node:assert/strict";
import { createAccess } from "../../../src/features/access/access_service.ts";
import type { TryAnswer } from "../../../src/domain/listener/delivery.ts";
import { createService } from "../../../src/features/service.ts";
import { readInstance, tenantOf } from "../../../src/store/access/instances.ts";
import { fakeHost } from "../../support/fake_host.ts";
import {
  deliver,
  deliveries,
  note,
  scriptedSender,
  told,
  webhookSettings,
  withListeners,
} from "../../support/listener_fixtures.ts";
import { uuid } from "../../support/service_fixture.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { exportText, imported, importText } from "../../support/transfer_fixtures.ts";

Deno.test("deliveries go on after a move, in order, at their time, with the tries they had", async () => {
  await withListeners(async ({ service, engine, host, sender, test }) => {
    const { promise: underWay, resolve: end } = Promise.withResolvers<TryAnswer>();
    sender.answer = ({ payload: { event: { data: { text } } } }) =>
      text === "untried" ? underWay : { status: text === "done" ? 200 : 500 };
    await note(service, test, uuid(3), "done");
    await note(service, test, uuid(1), "1", "2");
    await deliver(service);
    await note(service, test, uuid(2), "untried");
    const text = await exportText(engine, host, test);
    assert.match(text, /"record":"work","kind":"delivery"/);
    const there = fakeHost("other");
    there.timeMs = host.timeMs;
    await withTemporaryEngine(async (other) => {
      const { instanceId } = imported(await importText(other, there, text));
      const record = await other.snapshot((tx) => readInstance(tx, instanceId));
      const tenant = tenantOf(record!, "test");
      const access = createAccess(other, there, { jwtSecret: new Uint8Array(32) });
      const moved = scriptedSender();
      const webhooks = webhookSettings(moved);
      const serviceThere = createService(other, there, access, { webhooks });
      const pending = await deliveries(serviceThere, tenant);
      assert.deepEqual(pending, await deliveries(service, test, "pending"));
      await deliver(serviceThere);
      assert.deepEqual(told(moved.sent), ["untried"]);
      there.timeMs += 4_999;
      await deliver(serviceThere);
      assert.equal(moved.sent.length, 1);
      there.timeMs += 1;
      await deliver(serviceThere);
      assert.deepEqual(told(moved.sent), ["untried", "1", "2"]);
      assert.equal(moved.sent[1]!.payload.attempt, 2);
      const before = sender.sent.find(({ payload }) => payload.event.data.text === "1")!;
      assert.equal(moved.sent[1]!.payload.id, before.payload.id);
      await serviceThere.close();
      await access.close();
    });
    end({ status: 200 });
  });
});
