/**
 * Backups of a cluster when something fails: the process of a backup dies, a reply is lost, the
 * cluster that is restored into is younger than the backup. Over a client in memory.
 */

import assert from "node:assert/strict";
import type { Engine } from "../../../src/kv/engine.ts";
import { backupSpace, dataRange, restoringKey } from "../../../src/kv/foundationdb/changes.ts";
import type { ClientDatabase } from "../../../src/kv/foundationdb/client.ts";
import { openClusterBackups } from "../../../src/kv/foundationdb/backup.ts";
import { bytesOf, takeBackup } from "../../contract/backup_contract.ts";
import { bytes, content, write } from "../../contract/engine_fixture.ts";
import { clearAll, memoryNode, restoreInMemory, SMALL_PACE } from "../../support/backup_stores.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { ClientError, memoryDatabase } from "../../support/memory_foundationdb.ts";
import { judge, newWriters, writeSome } from "../../support/random_writers.ts";

/** What a backup keeps in the store. */
function left(engine: Engine): Promise<number> {
  return engine.snapshot(async (tx) => (await tx.getRange(backupSpace)).length);
}

/** A node whose process can die: nothing that it commits lands any more. */
function mortalNode(database: ReturnType<typeof memoryDatabase>) {
  let isDead = false;
  const own: ClientDatabase = {
    ...database,
    createTransaction() {
      const tx = database.createTransaction();
      return {
        ...tx,
        commit: () => isDead ? Promise.reject(new ClientError(1510)) : tx.commit(),
      };
    },
    close() {},
  };
  const node = memoryNode(own, "mortal");
  return { node, die: () => void (isDead = true), revive: () => void (isDead = false) };
}

async function withNodes(
  body: (nodes: {
    readonly mortal: ReturnType<typeof mortalNode>;
    readonly other: Engine;
    readonly database: ReturnType<typeof memoryDatabase>;
  }) => Promise<void>,
): Promise<void> {
  const database = memoryDatabase();
  const mortal = mortalNode(database);
  const other = memoryNode(database, "other");
  try {
    await body({ mortal, other, database });
  } finally {
    await mortal.node.close();
    await other.close();
  }
}

Deno.test("a backup whose process died is found by the next one, which is whole", async () => {
  await withNodes(async ({ mortal, other }) => {
    const writers = newWriters();
    await writeSome({ engine: other, writers }, 10);
    const dead = mortal.node.backup();
    await dead.next();
    await writeSome({ engine: other, writers }, 1);
    assert.ok(await left(other) > 2, "changes are captured");
    mortal.die();
    const { pieces } = await takeBackup(other);
    assert.equal(await left(other), 0);
    await clearAll(other);
    await restoreInMemory(other, bytesOf(pieces));
    assert.deepEqual(await judge(other, writers), writers.map(() => 11));
  });
});

Deno.test("a backup that was only held up, and was ended by others, fails and ends nothing", async () => {
  await withNodes(async ({ mortal, other }) => {
    await writeSome({ engine: other, writers: newWriters() }, 20);
    const held = mortal.node.backup();
    await held.next();
    mortal.die();
    const next = other.backup();
    await next.next();
    mortal.revive();
    await assert.rejects(async () => {
      for await (const _ of held);
    }, { name: "EngineUnavailable", message: /Another process has ended this backup/ });
    for await (const _ of next);
    assert.equal(await left(other), 0);
  });
});

Deno.test("the sweep of any node clears what a dead process left, and no backup that runs", async () => {
  await withNodes(async ({ mortal, other }) => {
    await writeSome({ engine: other, writers: newWriters() }, 20);
    const backup = mortal.node.backup();
    await backup.next();
    const { sweep } = openClusterBackups(other, fakeHost(), SMALL_PACE);
    const pause = () => new Promise((resolve) => setTimeout(resolve, 3 * SMALL_PACE.beatMs));
    for (let turn = 0; turn < 3; turn++, await pause()) await sweep();
    assert.ok(await left(other) >= 2, "it lives");
    mortal.die();
    await pause();
    for (let turn = 0; turn < 2; turn++) await sweep();
    assert.equal(await left(other), 0);
    await write(other, "k=1");
    assert.equal(await left(other), 0, "nothing is captured any more");
  });
});

for (const landed of [false, true]) {
  Deno.test(`a lost reply to the beginning of a backup is no second one (landed: ${landed})`, async () => {
    await withNodes(async ({ other, database }) => {
      await write(other, "a=1 b=2");
      const first = database.counts.commit;
      database.plan = (call, number) => {
        return call === "commit" && number === first ? { code: 1021, landed } : undefined;
      };
      const { pieces } = await takeBackup(other);
      assert.equal(await left(other), 0);
      await clearAll(other);
      await restoreInMemory(other, bytesOf(pieces));
      assert.equal(await content(other), "a=1 b=2");
    });
  });
}

Deno.test("a transaction that began before a backup does not slip past it", async () => {
  await withNodes(async ({ mortal, other }) => {
    await write(other, "a=1 b=1");
    const begun = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    let runs = 0;
    // It adds without reading, so without the flag nothing would conflict.
    const early = mortal.node.transact(async (tx) => {
      await tx.readVersion();
      tx.add(bytes("n"), 1n);
      tx.set(bytes("a"), bytes("2"));
      if (++runs === 1) {
        begun.resolve();
        await goOn.promise;
      }
    });
    await begun.promise;
    const backup = other.backup();
    const first = await backup.next();
    assert.ok(first.done !== true);
    goOn.resolve();
    await early;
    assert.equal(runs, 2, "it had not seen that a backup runs");
    const pieces = [first.value];
    for await (const piece of backup) pieces.push(piece);
    const before = await content(other);
    await clearAll(other);
    await restoreInMemory(other, bytesOf(pieces));
    assert.equal(await content(other), before);
  });
});

Deno.test("a cluster with something in it is refused, and so is one before the backup's moment", async () => {
  await withNodes(async ({ other }) => {
    await writeSome({ engine: other, writers: newWriters() }, 30);
    const { pieces, moment } = await takeBackup(other);
    await assert.rejects(restoreInMemory(other, bytesOf(pieces)), { message: /not empty/ });
    const young = memoryNode(memoryDatabase(), "young");
    try {
      await assert.rejects(restoreInMemory(young, bytesOf(pieces)), (error: Error) => {
        const [, command] = /: (advanceversion \d+)$/.exec(error.message)!;
        return BigInt(command!.split(" ")[1]!) > moment.version;
      });
      const kept = await young.snapshot((tx) => tx.getRange(dataRange));
      assert.deepEqual(kept, []);
    } finally {
      await young.close();
    }
  });
});

Deno.test("a restore that was cut off is begun again, and what it left does not stay", async () => {
  await withNodes(async ({ other }) => {
    const writers = newWriters();
    await writeSome({ engine: other, writers }, 10);
    const { pieces } = await takeBackup(other);
    await clearAll(other);
    // As its process would leave it.
    await other.transact((tx) => {
      tx.set(restoringKey, new Uint8Array(20));
      tx.set(bytes("left"), bytes("over"));
      return Promise.resolve();
    });
    await restoreInMemory(other, bytesOf(pieces));
    assert.deepEqual(await judge(other, writers), writers.map(() => 10));
    assert.equal(await other.snapshot((tx) => tx.get(bytes("left"))), undefined);
    assert.equal(await other.snapshot((tx) => tx.get(restoringKey)), undefined);
  });
});
