/**
 * An environment before and after its transfer: every reply is the same, to the byte. Chain
 * tips are equal, between the engines too. See docs/reference/transfer.md.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { SEGMENT_LIMITS } from "../../../src/features/transfer/read_streams.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import type { Host } from "../../../src/host.ts";
import { FoundationdbEngine } from "../../../src/kv/foundationdb/engine.ts";
import { readInstance, tenantOf } from "../../../src/store/access/instances.ts";
import { makeKey } from "../../support/access_fixtures.ts";
import { memoryDatabase } from "../../support/memory_foundationdb.ts";
import { HISTORY_IDS, type HistoryStep, randomHistory } from "../../support/random_history.ts";
import { copyOfExampleSpec } from "../../support/example_spec.ts";
import { OLDER_SCHEMAS, olderSpec, storeOlderSpec } from "../../support/older_spec.ts";
import {
  noteWrite,
  orderWrite,
  refusalOf,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import {
  exportText,
  imported,
  importText,
  type OpenedService,
  openService,
} from "../../support/transfer_fixtures.ts";

/** Everything that a client can request: reads of every kind, then every write again. */
async function askEverything(
  { ask }: OpenedService,
  key: string,
  history: readonly HistoryStep[],
): Promise<string[]> {
  const answers: string[] = [];
  const read = async (path: string) => void answers.push(await ask("GET", path, key));
  for (const id of HISTORY_IDS) {
    for (const query of ["", "?synchronous=true", "?at=1000000000"]) {
      await read(`/order/${id}${query}`);
    }
    await read(`/order/${id}/length`);
    for (const query of ["", "?raw=true", "?count=3&direction=backwards"]) {
      await read(`/order/${id}/events${query}`);
    }
  }
  for (const query of ["", "?resolve", "?limit=2", "?start=global"]) await read(`/order${query}`);
  // Replays, misused keys, conflicts, and writes that land again.
  for (const step of history) {
    answers.push(await ask("POST", step.path, key, step));
  }
  return answers;
}

async function moved(
  engine: Engine,
  host: Host,
  from: Engine,
  tenant: Tenant,
): Promise<Tenant> {
  const text = await exportText(from, host, tenant);
  const { instanceId } = imported(await importText(engine, host, text));
  const record = await engine.snapshot((tx) => readInstance(tx, instanceId));
  return tenantOf(record!, tenant.environment);
}

Deno.test("a moved environment answers everything as before: reads, replays, conflicts", async () => {
  await fc.assert(
    fc.asyncProperty(randomHistory, async (history) => {
      await withService(async ({ access, engine, host, tenants }) => {
        const { key } = await makeKey(engine, host, tenants.test);
        const before = openService(engine, host, "test");
        for (const step of history) {
          host.timeMs += 1_500;
          await before.ask("POST", step.path, key, step);
        }
        await withTemporaryEngine(async (other) => {
          const tenant = await moved(other, host, engine, tenants.test);
          const after = openService(other, host, "test");
          const expected = await askEverything(before, key, history);
          assert.deepEqual(await askEverything(after, key, history), expected);
          const [were, are] = [valueOf(await before.service.specs.listSpecs(tenants.test)).data]
            .concat([valueOf(await after.service.specs.listSpecs(tenant)).data]);
          assert.deepEqual(are, were);
          assert.deepEqual(
            await after.service.access.listApiKeys(tenant),
            await access.listApiKeys(tenants.test),
          );
          await after.close();
        });
        await before.close();
      });
    }),
    { numRuns: 12 },
  );
});

Deno.test("a moved environment, exported again, is the same file to the byte", async () => {
  await withService(async ({ service, engine, host, tenants }) => {
    const spec = copyOfExampleSpec();
    spec.title = "A longer title: " + "ü\u2028\ud83d\ude00".repeat(20_000);
    valueOf(
      await service.specs.deploySpec(tenants.production, { spec, force: false, dryRun: false }),
    );
    const { key } = await makeKey(engine, host, tenants.production);
    const app = openService(engine, host, "production");
    const events = Array.from({ length: 6_000 }, (_, index) => ({
      type: "was_noted",
      data: { text: `note ${index} ` + "x".repeat(300) },
    }));
    // One event of nearly 100 KB in which every character is escaped.
    events.push({ type: "was_viewed", data: { text: '"'.repeat(50_000) } });
    const metadata = { actor: { type: "user", id: "global" } };
    assert.match(
      await app.ask("POST", `/order/${uuid(1)}`, key, { body: { events, metadata } }),
      /^201/,
    );
    await app.close();
    const text = await exportText(engine, host, tenants.production, { withSigningKeys: true });
    for (const line of text.split("\n")) assert.ok(line.length < 256 * 1024, line.slice(0, 80));
    await withTemporaryEngine(async (other) => {
      const { instanceId } = imported(await importText(other, host, text));
      const record = await other.snapshot((tx) => readInstance(tx, instanceId));
      const tenant = tenantOf(record!, "production");
      assert.equal(await exportText(other, host, tenant, { withSigningKeys: true }), text);
    });
  });
});

Deno.test("an environment without a spec and without events can be moved too", async () => {
  await withTemporaryEngine(async (engine) => {
    await withService(async ({ host, engine: other, tenants }) => {
      const { instanceId } = imported(
        await importText(engine, host, await exportText(other, host, tenants.staging)),
      );
      assert.equal(instanceId, tenants.staging.instanceId);
      const record = await engine.snapshot((tx) => readInstance(tx, instanceId));
      const empty = await exportText(engine, host, tenantOf(record!, "production"));
      await withTemporaryEngine(async (third) => {
        assert.equal(imported(await importText(third, host, empty)).counts.lines, 1);
      });
    });
  });
});

Deno.test("nothing in the file tells the numbers by which a store knows its tenants", async () => {
  await withService(async ({ host, engine, tenants }) => {
    const text = await exportText(engine, host, tenants.test);
    await withTemporaryEngine(async (other) => {
      // Here the environment has another number, and the file is the same.
      const tenant = await moved(other, host, engine, tenants.test);
      assert.notEqual(tenant.number, tenants.test.number);
      assert.equal(await exportText(other, host, tenant), text);
    });
  });
});

Deno.test("an environment moved to FoundationDB and back is the same file to the byte", async () => {
  await withService(async ({ access, engine, host, tenants }) => {
    const { key } = await makeKey(engine, host, tenants.test);
    const before = openService(engine, host, "test");
    const [history] = fc.sample(randomHistory, { numRuns: 1, seed: 7 });
    for (const step of history!) {
      await before.ask("POST", step.path, key, step);
    }
    const cluster = new FoundationdbEngine({ database: memoryDatabase(), host });
    const tenant = await moved(cluster, host, engine, tenants.test);
    const after = openService(cluster, host, "test");
    const text = await exportText(engine, host, tenants.test);
    // A cluster's version grows without writes: the second round finds nothing new and is the
    // last.
    const limits = { ...SEGMENT_LIMITS, batch: 1, heads: 1 };
    assert.equal(await exportText(cluster, host, tenant, { limits }), text);
    const expected = await askEverything(before, key, history!);
    assert.deepEqual(await askEverything(after, key, history!), expected);
    assert.equal((await access.listApiKeys(tenants.test)).length, 1);
    await withTemporaryEngine(async (third) => {
      const again = await moved(third, host, cluster, tenant);
      assert.equal(
        await exportText(third, host, again),
        await exportText(engine, host, tenants.test),
      );
    });
    await before.close();
    await after.close();
    await cluster.close();
  });
});

Deno.test("an environment moves with a spec that an older version took, and works but for one type", async () => {
  await withService(async ({ engine, host, tenants }) => {
    const [schema, reason] = Object.values(OLDER_SCHEMAS)[0]!;
    await storeOlderSpec(engine, tenants.test.number, olderSpec(schema));
    await withTemporaryEngine(async (other) => {
      const tenant = await moved(other, host, engine, tenants.test);
      const { service, close } = openService(other, host, "test");
      const boxed = orderWrite(uuid(1), [{ type: "was_boxed", data: {} }]);
      const refusal = refusalOf(await service.data.writeEvents(tenant, boxed));
      assert.ok(refusal.kind === "schema_validation");
      assert.match(refusal.faults[0]!.message, reason);
      valueOf(await service.data.writeEvents(tenant, noteWrite(uuid(1), "n")));
      await close();
    });
  });
});
