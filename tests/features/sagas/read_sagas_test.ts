/** What clients see of sagas: lists and single ones, through the service. */

import assert from "node:assert/strict";
import { ACTOR, refusalOf, uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { SHOP } from "../../support/saga_fixtures.ts";

Deno.test("sagas are listed by name and state, and shown with their history", async () => {
  await withService(async ({ service: { data }, tenants: { test: tenant, staging } }) => {
    const write = async (type: string, id: string, event: string) => {
      const events = [{ type: event, data: { sku: "stock" } }];
      const targets = [{ aggregateType: type, id, events }];
      const request = {
        form: "single",
        targets,
        metadata: { actor: ACTOR },
        requestId: "r",
      } as const;
      valueOf(await data.writeEvents(tenant, request));
    };
    for (const number of [1, 2, 3]) await write("order", uuid(number), "was_placed");
    await write("payment", uuid(2), "was_captured");
    const all = valueOf(await data.listSagas(tenant, {}));
    assert.deepEqual([all.data.length, all.limit, all.truncated], [3, 50, false]);
    const completed = valueOf(await data.listSagas(tenant, { state: "completed" }));
    assert.deepEqual(completed.data.map(({ trigger }) => trigger.key), [`order:${uuid(2)}`]);
    const named = valueOf(await data.listSagas(tenant, { name: "fulfilment", limit: 2 }));
    assert.deepEqual(named.data, all.data.slice(0, 2));
    assert.equal(named.next_start, named.data[1]!.saga_id);
    const rest = await data.listSagas(tenant, { name: "fulfilment", start: named.next_start });
    assert.deepEqual(valueOf(rest).data, all.data.slice(2));
    for (const name of ["none", "", "x".repeat(10_000)]) {
      assert.deepEqual(valueOf(await data.listSagas(tenant, { name })).data, []);
    }
    assert.equal(valueOf(await data.listSagas(tenant, { limit: 1_000 })).limit_clamped, true);
    assert.deepEqual(valueOf(await data.listSagas(staging, {})).data, []);
    const tooLong = await data.listSagas(tenant, { start: "x".repeat(65) });
    assert.equal(refusalOf(tooLong).kind, "bad_request");
    const id = completed.data[0]!.saga_id;
    const saga = valueOf(await data.readSaga(tenant, id));
    assert.deepEqual({ ...completed.data[0] }, {
      saga_id: saga.saga_id,
      name: saga.name,
      state: saga.state,
      started_at: saga.started_at,
      trigger: saga.trigger,
    });
    assert.equal(saga.history.length, 6);
    for (const unknown of ["saga_1", "x".repeat(10_000)]) {
      assert.equal(refusalOf(await data.readSaga(tenant, unknown)).kind, "not_found");
    }
    assert.equal(refusalOf(await data.readSaga(staging, id)).kind, "not_found");
  }, { spec: SHOP });
});
