/** The worker that keeps the SQL copies up to date with the projections. */

import assert from "node:assert/strict";
import { projectionCopyWorker } from "../../src/workers/workers.ts";
import { uuid } from "../support/service_fixture.ts";
import { withQueries } from "../support/projection_queries.ts";

Deno.test("projectionCopyWorker() follows what was asked of, so that a removed row does not stay", async () => {
  await withQueries(async ({ place, rows, service, folder, tenant }) => {
    await place([[1, { note: "before" }]]);
    assert.deepEqual(await rows("SELECT note FROM orders"), [{ note: "before" }]);
    await place([[1, { note: "afterwards" }]]);
    const worker = projectionCopyWorker(service);
    assert.equal(await worker.drain(100), 0);
    const text = await Deno.readTextFile(`${folder}/${tenant.number}.db`);
    assert.ok(text.includes(uuid(1)) && text.includes("afterwards") && !text.includes("before"));
  });
});
