/** A restored deployment waits with all that reaches out into the world until it is resumed. */

import assert from "node:assert/strict";
import { readBackup } from "../../../src/domain/backup/read_backup.ts";
import { holdRestored } from "../../../src/features/backup/backup_service.ts";
import { writeBackup } from "../../../src/features/backup/write_backup.ts";
import { openSqliteEngine } from "../../../src/kv/sqlite/engine.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { deliver, note, told, withListeners } from "../../support/listener_fixtures.ts";
import { drain, eventsOf, reactiveSpec, setOff, write } from "../../support/reactive_spec.ts";
import { refusalOf, uuid, valueOf, withService } from "../../support/service_fixture.ts";

const MARK = { restored_at: "2026-11-26T12:00:00.000Z", moment: "2026-11-26T03:00:00.000Z" };

Deno.test("nothing reacts in a restored deployment until it is resumed, in any environment", async () => {
  await withService(async ({ engine, service, host, tenants }) => {
    await holdRestored(engine, MARK);
    assert.deepEqual(await service.backup.readRestored(), { paused: true, ...MARK });
    for (const tenant of [tenants.production, tenants.staging, tenants.test]) {
      await write(service, tenant, setOff(uuid(1), "was_placed"));
      const pending = valueOf(await service.data.readPending(tenant, {}));
      assert.deepEqual(
        [pending.paused, pending.paused_by, pending.paused_since],
        [true, "restore", MARK.restored_at],
      );
    }
    host.timeMs += 120_000;
    await drain(service);
    assert.equal((await eventsOf(service, tenants.test, "ledger", uuid(1))).length, 0);

    await service.backup.resumeRestored();
    assert.deepEqual(await service.backup.readRestored(), { paused: false });
    await drain(service);
    for (const tenant of [tenants.production, tenants.staging, tenants.test]) {
      assert.equal((await eventsOf(service, tenant, "ledger", uuid(1))).length, 1);
    }
  }, { spec: reactiveSpec });
});

Deno.test("what an operator had paused before the backup stays paused after the resumption", async () => {
  await withService(async ({ engine, service, tenants: { test, staging } }) => {
    await service.data.pauseReactions(test, "anna");
    await holdRestored(engine, MARK);
    await service.backup.resumeRestored();
    await drain(service);
    const pauses = await Promise.all(
      [test, staging].map(async (tenant) =>
        valueOf(await service.data.readPending(tenant, {})).paused
      ),
    );
    assert.deepEqual(pauses, [true, false]);
  }, { spec: reactiveSpec });
});

Deno.test("a restored deployment sends no delivery and makes no anchor by itself until it is resumed", async () => {
  await withListeners(async ({ engine, service, host, sender, test }) => {
    await holdRestored(engine, MARK);
    await note(service, test, uuid(1), "a");
    await deliver(service);
    host.timeMs += 3_600_000;
    await deliver(service);
    assert.deepEqual(told(sender.sent), []);
    assert.equal(await service.audit.makeDueAnchors(1), 0);

    await service.backup.resumeRestored();
    await deliver(service);
    assert.deepEqual(told(sender.sent), ["a"]);
    assert.ok(await service.audit.makeDueAnchors(1) > 0);
  });
});

Deno.test("a process without the files of the deployment refuses to begin a backup", async () => {
  await withService(({ service }) => {
    assert.equal(refusalOf(service.backup.begin()).kind, "no_room");
    return Promise.resolve();
  });
});

Deno.test("a backup tells when its moment was, however slowly the rest of it is taken", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook_backup_" });
  const host = fakeHost();
  const engine = openSqliteEngine({ path: `${folder}/store.sqlite`, nowMs: host.monotonicMs });
  const source = { store: "sqlite", readPrivateFiles: () => Promise.resolve([]) };
  /** When each version of the store was written. */
  const times = new Map<string, number>();

  async function* taken(): AsyncGenerator<Uint8Array> {
    for await (const chunk of writeBackup(engine, host, source)) {
      host.timeMs += 1_000;
      await engine.transact((tx) =>
        Promise.resolve(tx.set(Uint8Array.of(1), Uint8Array.of(times.size)))
      );
      times.set(String(await engine.snapshot((tx) => tx.readVersion())), host.timeMs);
      yield chunk;
    }
  }

  try {
    for await (const item of readBackup(taken())) {
      if (item.kind !== "end") continue;
      const { version, completed_at } = item.end;
      const lateMs = Date.parse(completed_at) - times.get(version)!;
      assert.ok(lateMs >= 0 && lateMs < 1_000, `${lateMs} ms behind the last write that it has`);
    }
  } finally {
    await engine.close();
    await Deno.remove(folder, { recursive: true });
  }
});
