/** Instances and the numbers of their tenants. */

import { deepEqual, equal, notDeepEqual } from "node:assert/strict";
import type { Instance } from "../../../src/domain/access/access.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import {
  isSlugTaken,
  listInstances,
  readInstance,
  storeInstance,
  tenantOf,
  updateTier,
  viewInstance,
} from "../../../src/store/access/instances.ts";
import { keys } from "../../../src/store/keys.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

function instance(id: string, slug: string): Instance {
  return { id, slug, tier: "free", created_at: "2026-01-01T00:00:00.000Z" };
}

function accessVersion(engine: Engine) {
  return engine.snapshot((tx) => tx.get(keys.accessVersion()));
}

Deno.test("storeInstance() gives each instance three numbers of its own, from 1", async () => {
  await withTemporaryEngine(async (engine) => {
    const a = await engine.transact((tx) => storeInstance(tx, instance("a", "first")));
    const b = await engine.transact((tx) => storeInstance(tx, instance("b", "second")));
    deepEqual(a.tenants, { production: 1, staging: 2, test: 3 });
    deepEqual(b.tenants, { production: 4, staging: 5, test: 6 });
    deepEqual(tenantOf(b, "staging"), { instanceId: "b", environment: "staging", number: 5 });
  });
});

Deno.test("storeInstance() gives no number twice when twenty are made at once", async () => {
  await withTemporaryEngine(async (engine) => {
    const records = await Promise.all(
      Array.from(
        { length: 20 },
        (_, index) =>
          engine.transact((tx) => storeInstance(tx, instance(`id${index}`, `slug${index}`))),
      ),
    );
    const numbers = records.flatMap(({ tenants }) => Object.values(tenants));
    deepEqual(numbers.toSorted((a, b) => a - b), Array.from({ length: 60 }, (_, i) => i + 1));
  });
});

Deno.test("readInstance() finds what was stored; isSlugTaken() knows its slug", async () => {
  await withTemporaryEngine(async (engine) => {
    const stored = await engine.transact((tx) => storeInstance(tx, instance("a", "first")));
    await engine.snapshot(async (tx) => {
      deepEqual(await readInstance(tx, "a"), stored);
      equal(await readInstance(tx, "b"), undefined);
      equal(await isSlugTaken(tx, "first"), true);
      equal(await isSlugTaken(tx, "firs"), false);
    });
  });
});

Deno.test("listInstances() gives all in the order of their ids, or the first few", async () => {
  await withTemporaryEngine(async (engine) => {
    for (const id of ["b", "a", "c"]) {
      await engine.transact((tx) => storeInstance(tx, instance(id, `slug-${id}`)));
    }
    await engine.snapshot(async (tx) => {
      deepEqual((await listInstances(tx)).map(({ id }) => id), ["a", "b", "c"]);
      deepEqual((await listInstances(tx, 1)).map(({ id }) => id), ["a"]);
    });
  });
});

Deno.test("updateTier() changes the tier alone and moves the access version", async () => {
  await withTemporaryEngine(async (engine) => {
    const stored = await engine.transact((tx) => storeInstance(tx, instance("a", "first")));
    const before = await accessVersion(engine);
    await engine.transact((tx) => Promise.resolve(updateTier(tx, stored, "pro")));
    const read = await engine.snapshot((tx) => readInstance(tx, "a"));
    deepEqual(read, { ...stored, tier: "pro" });
    notDeepEqual(await accessVersion(engine), before);
  });
});

Deno.test("viewInstance() leaves the tenant numbers out", async () => {
  await withTemporaryEngine(async (engine) => {
    const made = instance("a", "first");
    deepEqual(viewInstance(await engine.transact((tx) => storeInstance(tx, made))), made);
  });
});
