/** The anchor worker: makes anchors at the interval, and only if something has changed. */

import assert from "node:assert/strict";
import { verifyPlatformAnchor } from "../../src/domain/audit/anchor.ts";
import { merkleRoot } from "../../src/domain/audit/merkle.ts";
import { anchorWorker } from "../../src/workers/workers.ts";
import { wrapEngine } from "../../src/kv/calls.ts";
import type { Bytes, Engine } from "../../src/kv/engine.ts";
import { keys } from "../../src/store/keys.ts";
import { leaveCut } from "../support/anchor_fixtures.ts";
import {
  noteWrite,
  refusalOf,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../support/service_fixture.ts";

const INTERVAL_S = 3600;
const HOUR_MS = 3_600_000;

async function write({ service, tenants }: ServiceFixture, environment: "production" | "test") {
  valueOf(await service.data.writeEvents(tenants[environment], noteWrite(uuid(1), "news")));
}

Deno.test("anchorWorker() makes anchors once an interval, where something has changed", async () => {
  await withService(async (fixture) => {
    const { service, host, tenants: { test } } = fixture;
    const worker = anchorWorker(service, INTERVAL_S);
    await write(fixture, "test");
    assert.equal(await worker.drain(100), 0);
    host.timeMs += HOUR_MS;
    assert.equal(await worker.drain(100), 1);
    await write(fixture, "test");
    host.timeMs += HOUR_MS - 1;
    assert.equal(await worker.drain(100), 0);
    host.timeMs += 1;
    assert.equal(await worker.drain(100), 1);
    host.timeMs += HOUR_MS;
    assert.equal(await worker.drain(100), 0);
    assert.equal(valueOf(await service.audit.listAnchors(test, {})).data.length, 2);
  });
});

Deno.test("anchorWorker() does not wait for an interval behind a cut that somebody has left", async () => {
  await withService(async (fixture) => {
    const { service, engine, host, tenants: { test } } = fixture;
    const worker = anchorWorker(service, INTERVAL_S);
    await write(fixture, "test");
    await leaveCut(engine, test);
    await write(fixture, "test");
    host.timeMs += HOUR_MS;
    assert.equal(await worker.drain(100), 1);
    assert.equal(valueOf(await service.audit.readAnchor(test)).event_count, 1);
    assert.equal(await worker.drain(100), 1);
    assert.equal(valueOf(await service.audit.readAnchor(test)).event_count, 2);
    await write(fixture, "test");
    assert.equal(await worker.drain(100), 0);
  });
});

Deno.test("anchorWorker() goes on when the clock was set back, and makes no more of them than before", async () => {
  await withService(async (fixture) => {
    const { service, host, tenants } = fixture;
    const worker = anchorWorker(service, INTERVAL_S);
    const count = async (environment: "production" | "test") =>
      valueOf(await service.audit.listAnchors(tenants[environment], {})).data.length;
    for (const environment of ["production", "test"] as const) await write(fixture, environment);
    host.timeMs += HOUR_MS;
    // One of each environment, and one of the platform.
    assert.equal(await worker.drain(100), 3);
    for (const environment of ["production", "test"] as const) await write(fixture, environment);
    host.timeMs -= 1_000;
    assert.equal(await worker.drain(100), 0, "a little is nothing");
    host.timeMs -= 24 * HOUR_MS;
    assert.equal(await worker.drain(100), 3);
    await write(fixture, "test");
    assert.equal(await worker.drain(100), 0);
    host.timeMs += HOUR_MS;
    assert.equal(await worker.drain(100), 1);
    assert.deepEqual([await count("production"), await count("test")], [2, 3]);
  });
});

Deno.test("an environment without an anchor, whose streams are erased all the time, holds up no other", async () => {
  let rewrites: Bytes | undefined;
  const wrap = (engine: Engine): Engine =>
    wrapEngine(engine, {
      async snapshot(read, limits) {
        // Counted between any two reads of a cut, as if another process erased there.
        const counter = rewrites;
        if (counter !== undefined) {
          await engine.transact((tx) => Promise.resolve(tx.add(counter, 1n)));
        }
        return await engine.snapshot(read, limits);
      },
    });
  await withService(async (fixture) => {
    const { service, host, tenants } = fixture;
    const worker = anchorWorker(service, INTERVAL_S);
    await write(fixture, "test");
    await write(fixture, "production");
    const [first, second] = tenants.production.number < tenants.test.number
      ? [tenants.production, tenants.test]
      : [tenants.test, tenants.production];
    host.timeMs += HOUR_MS;
    rewrites = keys.auditRewrites(first.number);
    assert.ok(await worker.drain(100) >= 1);
    assert.equal(valueOf(await service.audit.readAnchor(second)).event_count, 1);
    assert.equal(refusalOf(await service.audit.readAnchor(first)).kind, "anchor_not_found");
    const told = host.lines.filter(({ level }) => level === "error");
    assert.deepEqual(told.map(({ fields }) => fields.environment), [first.environment]);
    rewrites = undefined;
    assert.ok(await worker.drain(100) >= 1);
    assert.equal(valueOf(await service.audit.readAnchor(first)).event_count, 1);
  }, { wrap });
});

Deno.test("anchorWorker() looks often enough for its interval", async () => {
  await withService(({ service }) => {
    assert.equal(anchorWorker(service, INTERVAL_S).idleMs, 10_000);
    assert.equal(anchorWorker(service, 1).idleMs, 1_000);
    return Promise.resolve();
  });
});

Deno.test("a platform anchor signs the newest production anchor of each instance, by its id", async () => {
  await withService(async (fixture) => {
    const { service, access, host, tenants } = fixture;
    const worker = anchorWorker(service, INTERVAL_S);
    const none = refusalOf(await service.audit.readPlatformAnchor());
    assert.equal(none.kind, "anchor_not_found");
    const other = valueOf(await access.createInstance("other", "unlimited"));
    const second = valueOf(
      await access.resolveTenant({ subject: "test" }, other.id, "production"),
    );
    const spec = valueOf(await service.specs.readSpec(tenants.test)).spec;
    valueOf(await service.specs.deploySpec(second, { spec, force: false, dryRun: false }));
    await write(fixture, "production");
    await write(fixture, "test");
    valueOf(await service.data.writeEvents(second, noteWrite(uuid(1), "elsewhere")));
    host.timeMs += HOUR_MS;
    // Three environments, and the platform.
    assert.equal(await worker.drain(100), 4);
    const platform = valueOf(await service.audit.readPlatformAnchor());
    assert.ok(verifyPlatformAnchor(platform));
    assert.equal(platform.public_key, (await service.audit.readPlatformKey()).public_key);
    const newest = await Promise.all(
      [tenants.production, second].map(async (tenant) =>
        valueOf(await service.audit.readAnchor(tenant))
      ),
    );
    const roots = newest.toSorted((a, b) => a.instance_id < b.instance_id ? -1 : 1)
      .map(({ merkle_root }) => merkle_root);
    assert.equal(platform.merkle_root, merkleRoot(roots));
    assert.equal(platform.instance_count, 2);
    await write(fixture, "test");
    host.timeMs += HOUR_MS;
    // Only of test: the platform's has nothing new.
    assert.equal(await worker.drain(100), 1);
    assert.deepEqual(valueOf(await service.audit.readPlatformAnchor()), platform);
  });
});
