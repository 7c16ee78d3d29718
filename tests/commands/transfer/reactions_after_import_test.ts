/** A moved environment goes on: its sagas start, and nothing that was pending comes along. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import { readInstance, tenantOf } from "../../../src/store/instances.ts";
import { createService } from "../../../src/service.ts";
import { createAccess } from "../../../src/access.ts";
import { eventsOf, reactiveSpec, setOff, write } from "../../support/reactive_spec.ts";
import { uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { exportText, imported, importText } from "../../support/transfer_fixtures.ts";

const spec: JsonObject = {
  ...reactiveSpec,
  modules: {
    sagas: {
      noting: {
        trigger: { aggregate_type: "order", event_type: "was_paid" },
        steps: [{
          name: "note",
          emit: { aggregate_type: "ledger", id: "$.id", event_type: "was_noted" },
        }],
      },
    },
  },
};

Deno.test("sagas start and events imply others after an import as before it", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    await write(service, test, setOff(uuid(1), "was_paid"));
    await write(service, test, setOff(uuid(1), "was_promised"));
    assert.equal((await eventsOf(service, test, "ledger", uuid(1))).length, 1);
    const text = await exportText(engine, host, test);
    await withTemporaryEngine(async (other) => {
      const { instanceId } = imported(await importText(other, host, text));
      const record = await other.snapshot((tx) => readInstance(tx, instanceId));
      const tenant = tenantOf(record!, "test");
      const access = createAccess(other, host, { jwtSecret: new Uint8Array(32) });
      const moved = createService(other, host, access);
      assert.deepEqual(valueOf(await moved.data.listScheduled(tenant, {})).data, []);
      assert.equal((await eventsOf(moved, tenant, "ledger", uuid(1))).length, 1);
      for (const type of ["was_paid", "was_placed"]) {
        await write(moved, tenant, setOff(uuid(1), type));
      }
      assert.equal((await eventsOf(moved, tenant, "ledger", uuid(1))).length, 3);
      await moved.close();
      await access.close();
    });
  }, { spec });
});
