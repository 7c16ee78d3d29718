/** The list of a tenant's keys. */

import { deepEqual } from "node:assert/strict";
import { listApiKeys } from "../../../src/features/access/list_api_keys.ts";
import { makeKey, makeTenant } from "../../support/access_fixtures.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

Deno.test("listApiKeys() gives one environment's keys, oldest first, never the key", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const tenant = await makeTenant(engine, host);
    const views = [];
    for (let made = 0; made < 12; made++) {
      const { key: _, ...view } = await makeKey(engine, host, tenant, made % 2 ? "read" : "write");
      views.push(view);
      host.timeMs += 1 + made * 1_000_000;
    }
    await makeKey(engine, host, { ...tenant, environment: "test", number: 3 });
    deepEqual(await listApiKeys(engine, tenant), views);
  });
});
