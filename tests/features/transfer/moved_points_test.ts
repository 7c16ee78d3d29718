/** A file has no index of points: an import rebuilds it from the stored events. */

import assert from "node:assert/strict";
import { checkStore } from "../../../src/features/checks/check_store.ts";
import { readInstanceBySlug, tenantOf } from "../../../src/store/access/instances.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { geoSpec, geoWrite, nearbyVans, seen } from "../../support/geo_spec.ts";
import { uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { exportText, imported, importText, openService } from "../../support/transfer_fixtures.ts";

const BERLIN = { lat: 52.52, lng: 13.405 };
const NEAR = { lat: 52.53, lng: 13.405 };
const SYDNEY = { lat: -33.8688, lng: 151.2093 };
/** Large, so that a stream is imported in several transactions. */
const WASHED = { type: "was_washed", data: { fill: "x".repeat(90_000) } };

const drives: readonly (readonly [id: string, events: ReturnType<typeof seen>[]])[] = [
  [uuid(1), [seen(SYDNEY), seen(BERLIN)]],
  [uuid(2), [seen(NEAR), ...Array.from({ length: 30 }, () => WASHED)]],
  [uuid(3), [seen(NEAR), ...Array.from({ length: 30 }, () => WASHED), seen(SYDNEY)]],
  [uuid(4), [WASHED]],
  ["depot", [seen(BERLIN)]],
];

Deno.test("an imported environment has all points, and no others", async () => {
  await withService(async ({ service, engine, host, tenants: { test } }) => {
    for (const [id, events] of drives) {
      for (const event of events) {
        valueOf(await service.data.writeEvents(test, geoWrite("van", id, [event])));
      }
    }
    const before = {
      berlin: await nearbyVans(service, test, BERLIN),
      sydney: await nearbyVans(service, test, SYDNEY),
    };
    assert.deepEqual(before.berlin.entries.map(({ id }) => id), [uuid(1), "depot", uuid(2)]);
    assert.deepEqual(before.sydney.entries.map(({ id }) => id), [uuid(3)]);
    const text = await exportText(engine, host, test);
    await withTemporaryEngine(async (other) => {
      imported(await importText(other, fakeHost("other"), text));
      assert.deepEqual((await checkStore(other, true)).faults, []);
      const record = await other.snapshot((tx) => readInstanceBySlug(tx, "shop"));
      const moved = openService(other, fakeHost("other"), "test");
      const tenant = tenantOf(record!, "test");
      assert.deepEqual(await nearbyVans(moved.service, tenant, BERLIN), before.berlin);
      assert.deepEqual(await nearbyVans(moved.service, tenant, SYDNEY), before.sydney);
      await moved.close();
    });
  }, { spec: geoSpec });
});
