/** The projections of environments that a node keeps in memory: by their size, not their number. */

import assert from "node:assert/strict";
import { openSpecCache } from "../../../src/features/base/current_spec.ts";
import { openProjectionSets } from "../../../src/features/projections/projection_sets.ts";
import { setProjection } from "../../../src/store/projections/projections.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const PROJECTIONS = 60;
const LARGE = "x".repeat(32 * 1024);

/** The environments of 1 to 8 whose sets are the same at a second look. */
async function keptOf(text: string): Promise<number[]> {
  const kept: number[] = [];
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const specs = openSpecCache(engine, host);
    const sets = openProjectionSets(engine, specs, host);
    const tenants = [1, 2, 3, 4, 5, 6, 7, 8];
    for (const tenant of tenants) {
      await engine.transact((tx) => {
        for (let number = 0; number < PROJECTIONS; number++) {
          const ready = { version: 1, document: { text }, columns: [], types: [], basis: "" };
          setProjection(tx, tenant, {
            name: `p${number}`,
            number,
            versions: 1,
            ready,
            removing: [],
            isDeleted: false,
            deployed_at: "2026-01-01T00:00:00.000Z",
          });
        }
        return Promise.resolve();
      });
    }
    const first = new Map<number, unknown>();
    for (const tenant of tenants) first.set(tenant, await sets.current(tenant));
    // The newest first, because a look at a set that is gone makes room for it.
    for (const tenant of tenants.toReversed()) {
      if (await sets.current(tenant) !== first.get(tenant)) break;
      kept.unshift(tenant);
    }
    await specs.close();
  });
  return kept;
}

Deno.test("sets of large projections make room for each other, as few as they are", async () => {
  assert.deepEqual(await keptOf(LARGE), [3, 4, 5, 6, 7, 8]);
});

Deno.test("sets of small projections are all kept", async () => {
  assert.deepEqual(await keptOf("x"), [1, 2, 3, 4, 5, 6, 7, 8]);
});
