/** Erased streams and erasure requests are transferred with their environment at any stage. */

import assert from "node:assert/strict";
import { readInstanceBySlug, tenantOf } from "../../../src/store/access/instances.ts";
import { verifyReceipt } from "../../../src/domain/erasure/receipt.ts";
import type { Service } from "../../../src/features/service.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { checkStore } from "../../../src/features/checks/check_store.ts";
import { readHead } from "../../../src/store/streams/streams.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import {
  drainErasures,
  erase,
  erasureOf,
  eventsOf,
  keysWith,
} from "../../support/erasure_fixtures.ts";
import { type FakeHost, fakeHost } from "../../support/fake_host.ts";
import {
  noteWrite,
  orderWrite,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import {
  exportText,
  imported,
  importText,
  openService,
  refusedRule,
} from "../../support/transfer_fixtures.ts";

const SECRET = "Grete Samsa";
const HOUR_MS = 3_600_000;
const ORDER = streamKey("order", uuid(1));

interface Moved {
  readonly service: Service;
  readonly engine: Engine;
  readonly host: FakeHost;
  readonly tenant: Tenant;
}

async function withMoved(
  { engine, host, tenants: { test } }: ServiceFixture,
  body: (moved: Moved) => Promise<void>,
): Promise<void> {
  const text = await exportText(engine, host, test);
  await withTemporaryEngine(async (other) => {
    const there = fakeHost("other");
    there.timeMs = host.timeMs;
    imported(await importText(other, there, text));
    assert.deepEqual((await checkStore(other, true)).faults, []);
    const record = await other.snapshot((tx) => readInstanceBySlug(tx, "shop"));
    const tenant = tenantOf(record!, "test");
    const { service, close } = openService(other, there, "test");
    await body({ service, engine: other, host: there, tenant });
    await close();
  });
}

async function write({ service, tenants: { test } }: ServiceFixture, ...numbers: number[]) {
  const notes = Array.from({ length: 12 }, () => ({
    type: "was_noted",
    data: { text: `${SECRET} ${"x".repeat(900)}` },
  }));
  for (const number of numbers) {
    // More than one step of a rewrite takes.
    const batch = Array.from({ length: 100 }, () => notes).flat();
    valueOf(await service.data.writeEvents(test, orderWrite(uuid(number), batch)));
  }
}

Deno.test("an erased stream moves with its markers, its generation and its receipt", async () => {
  await withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    await write(fixture, 1);
    const before = await erase(fixture, ORDER);
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "behind")));
    const events = await eventsOf(service, test, uuid(1));
    await withMoved(fixture, async ({ service, engine, tenant }) => {
      assert.deepEqual(await eventsOf(service, tenant, uuid(1)), events);
      const head = await engine.snapshot((tx) => readHead(tx, tenant.number, ORDER));
      assert.deepEqual([head.generation, head.length], [1, 1_201]);
      const moved = valueOf(await service.erasure.read(tenant, before.id));
      assert.deepEqual(moved, before);
      assert.ok(verifyReceipt(moved.receipt!));
      assert.deepEqual(await keysWith(engine, SECRET), []);
      // It can be erased again like any other stream.
      const { id } = valueOf(await service.erasure.request(tenant, erasureOf(ORDER)));
      await drainErasures(service);
      const again = valueOf(await service.erasure.read(tenant, id));
      assert.deepEqual([again.state, again.receipt?.generation], ["completed", 2]);
      assert.deepEqual((await checkStore(engine, true)).faults, []);
    });
  });
});

Deno.test("requests that wait go on waiting, and are done in time; what was taken back stays so", async () => {
  await withService(async (fixture) => {
    const { service, tenants: { test } } = fixture;
    await write(fixture, 1, 2);
    const wait = valueOf(
      await service.erasure.request(test, erasureOf(ORDER, { grace_hours: 2 })),
    );
    const other = erasureOf(streamKey("order", uuid(2)), { grace_hours: 2 });
    const back = valueOf(await service.erasure.request(test, other));
    valueOf(await service.erasure.cancel(test, back.id));
    await withMoved(fixture, async ({ service, engine, host, tenant }) => {
      assert.deepEqual(valueOf(await service.erasure.read(tenant, wait.id)), wait);
      const again = await service.erasure.request(tenant, erasureOf(ORDER));
      assert.equal(again.ok, false, "it is open there too");
      host.timeMs += 2 * HOUR_MS;
      await service.background.drainTimers(1_600);
      await drainErasures(service);
      assert.equal(valueOf(await service.erasure.read(tenant, wait.id)).state, "completed");
      assert.equal(valueOf(await service.erasure.read(tenant, back.id)).state, "cancelled");
      assert.equal((await keysWith(engine, SECRET)).length > 0, true, "the other is there");
      const types = (await eventsOf(service, tenant, uuid(1))).map(({ raw }) =>
        JSON.parse(raw).type
      );
      assert.deepEqual(new Set(types), new Set(["_was_tombstoned"]));
    });
  });
});

for (const steps of [1, 2, 3, 6]) {
  Deno.test(`an erasure that is under way, after step ${steps}, is finished where it was moved`, async () => {
    await withService(async (fixture) => {
      const { service, tenants: { test } } = fixture;
      await write(fixture, 1);
      const { id } = valueOf(await service.erasure.request(test, erasureOf(ORDER)));
      let asked = 0;
      await service.erasure.eraseDue(1, () => ++asked > steps);
      assert.equal(valueOf(await service.erasure.read(test, id)).state, "running");
      await withMoved(fixture, async ({ service, engine, tenant }) => {
        await service.background.drainTimers(1_600);
        await drainErasures(service);
        const { state, receipt } = valueOf(await service.erasure.read(tenant, id));
        assert.equal(state, "completed");
        assert.ok(verifyReceipt(receipt!));
        assert.deepEqual(await keysWith(engine, SECRET), []);
        assert.deepEqual((await checkStore(engine, true)).faults, []);
      });
      await drainErasures(service);
      assert.equal(valueOf(await service.erasure.read(test, id)).state, "completed");
    });
  });
}

Deno.test("a file with a changed receipt, or a request that cannot be, is refused", async () => {
  await withService(async (fixture) => {
    const { engine, host, tenants: { test } } = fixture;
    await write(fixture, 1);
    const { id, receipt } = await erase(fixture, ORDER);
    const text = await exportText(engine, host, test);
    assert.match(text, /^\{"record":"header","format":"daybook-environment","version":5,/);
    const changes = [
      [receipt!.tip, "0".repeat(64)],
      [receipt!.signature, "0".repeat(128)],
      ['\\"state\\":\\"completed\\"', '\\"state\\":\\"pending\\"'],
      [id, `${id.slice(0, -1)}x`],
    ] as const;
    for (const [from, to] of changes) {
      const lines = text.split("\n");
      const at = lines.findLastIndex((line) => line.startsWith('{"record":"work_part"'));
      const changed = lines.with(at, lines[at]!.replaceAll(from, to)).join("\n");
      assert.notEqual(changed, text, from);
      await withTemporaryEngine(async (other) => {
        const outcome = await importText(other, fakeHost("other"), changed);
        assert.equal(refusedRule(outcome), "work_form", from);
      });
    }
  });
});
