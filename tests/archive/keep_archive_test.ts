/** An archive can restore any moment of a store, and says so where it cannot. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { listArchive } from "../../src/archive/archive_files.ts";
import { type Archive, openArchive } from "../../src/archive/keep_archive.ts";
import { applyCommits, planRestore } from "../../src/archive/read_archive.ts";
import { readBackup } from "../../src/domain/backup/read_backup.ts";
import { writeBackup } from "../../src/features/backup/write_backup.ts";
import type { Host } from "../../src/host.ts";
import type { Bytes, Engine } from "../../src/kv/engine.ts";
import { restoreSqliteStore } from "../../src/kv/sqlite/backup/restore_store.ts";
import { openSqliteEngine } from "../../src/kv/sqlite/engine.ts";
import { fakeHost } from "../support/fake_host.ts";
import {
  judge,
  keepWriting,
  withWriters,
  type World,
  writeSome,
} from "../support/random_writers.ts";
import { until } from "../support/until.ts";

/** Moments that are restored. The bar of a long run is 200. */
const RESTORES = Number(Deno.env.get("ARCHIVE_RESTORES") ?? 12);
const SETTINGS = { fullHours: 24, keepDays: 7 };
const FILES = { store: "sqlite", readPrivateFiles: () => Promise.resolve([]) };

/** The clock of this machine, and quiet timers. */
function realHost(): Host & { readonly lines: { readonly level: string; message: string }[] } {
  const host = fakeHost();
  return Object.assign(Object.create(host), {
    lines: host.lines,
    log: host.log,
    nowMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    startTimer(ms: number, run: () => void) {
      const timer = setTimeout(run, ms);
      return () => clearTimeout(timer);
    },
  });
}

interface Archived extends World {
  readonly archive: Archive;
  readonly archiveFolder: string;
  readonly host: ReturnType<typeof realHost>;
}

/** A store with writers and an archive, which `body` may close before the end. */
async function withArchive(body: (archived: Archived) => Promise<void>): Promise<void> {
  const archiveFolder = await Deno.makeTempDir({ prefix: "daybook_archive_" });
  const host = realHost();
  const archive = openArchive({ ...SETTINGS, folder: archiveFolder }, host);
  try {
    await withWriters(async (world) => {
      await begin(archive, world.engine, host);
      await body({ ...world, archive, archiveFolder, host });
      archive.expectEnd();
    }, archive.onDurable);
  } finally {
    await archive.close();
    await Deno.remove(archiveFolder, { recursive: true });
  }
}

async function begin(archive: Archive, engine: Engine, host: Host): Promise<void> {
  const version = await engine.snapshot((tx) => tx.readVersion());
  archive.begin(Number(version), () => writeBackup(engine, host, FILES));
}

function fullsOf(folder: string) {
  return listArchive(folder).filter(({ kind }) => kind === "full");
}

async function* piecesOf(path: string): AsyncGenerator<Bytes> {
  for await (const item of readBackup((await Deno.open(path)).readable)) {
    if (item.kind === "store") yield item.piece;
  }
}

/** Restores a moment, as the command does, and gives the store to `body`. */
async function restoreAt(
  archiveFolder: string,
  atMs: number | undefined,
  body: (engine: Engine) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_restored_" });
  const path = join(folder, "store.sqlite");
  try {
    const plan = await planRestore(archiveFolder, atMs);
    await restoreSqliteStore(path, piecesOf(plan.full.path), {
      nowMs: Date.now(),
      prepare: (engine) => applyCommits(engine, plan.commits()),
    });
    const engine = openSqliteEngine({ path });
    await body(engine).finally(() => engine.close());
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Waits for less than the pause after a failure, so that another try is not what it sees. */
function inTime(condition: () => boolean, what: string): Promise<void> {
  return until(condition, what, 20_000);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

Deno.test("each moment of a busy store is restored as it was", async () => {
  await withArchive(async (archived) => {
    const { archive, archiveFolder, writers } = archived;
    await inTime(() => archive.measure().fullAt !== undefined, "the first full backup");
    const fromMs = Date.now();
    const writing = keepWriting(archived);
    await sleep(4_000);
    await writing.end();
    const toMs = Date.now();
    await inTime(() => archive.measure().behindSeconds === 0, "the last commits");
    for (let round = 0; round < RESTORES; round++) {
      const atMs = Math.floor(fromMs + Math.random() * (toMs - fromMs));
      await restoreAt(archiveFolder, atMs, async (engine) => {
        const counts = await judge(engine, writers);
        for (const [number, count] of counts.entries()) {
          const { times } = writers[number]!;
          const acked = times.filter(({ ackedMs }) => ackedMs < atMs).length;
          const begun = times.filter(({ begunMs }) => begunMs <= atMs).length;
          assert.ok(count >= acked && count <= begun, `${acked} <= ${count} <= ${begun}`);
        }
      });
    }
    await restoreAt(archiveFolder, undefined, async (engine) => {
      assert.deepEqual(
        await judge(engine, writers),
        writers.map(({ acknowledged }) => acknowledged),
      );
    });
  });
});

Deno.test("what is acknowledged is in the archive within a second", async () => {
  await withArchive(async (archived) => {
    const writing = keepWriting(archived);
    let most = 0;
    for (let round = 0; round < 40; round++) {
      await sleep(50);
      most = Math.max(most, archived.archive.measure().behindSeconds);
    }
    await writing.end();
    assert.ok(most < 1, `${most} s behind`);
  });
});

Deno.test("an archive goes on after a clean restart without a full backup", async () => {
  const archiveFolder = await Deno.makeTempDir({ prefix: "daybook_archive_" });
  const host = realHost();
  const settings = { ...SETTINGS, folder: archiveFolder };
  await withWriters(async (world) => {
    let archive = openArchive(settings, host);
    const path = join(world.folder, "other.sqlite");
    let engine = openSqliteEngine({ path, onDurable: archive.onDurable });
    for (let life = 0; life < 3; life++) {
      await begin(archive, engine, host);
      await inTime(() => archive.measure().fullAt !== undefined, "a full backup");
      await writeSome({ ...world, engine }, 20);
      archive.expectEnd();
      await engine.close();
      await archive.close();
      archive = openArchive(settings, host);
      engine = openSqliteEngine({ path, onDurable: archive.onDurable });
    }
    await begin(archive, engine, host);
    await sleep(600);
    assert.equal(archive.measure().hasGap, false);
    assert.equal(fullsOf(archiveFolder).length, 1);
    archive.expectEnd();
    await engine.close();
    await archive.close();
    await restoreAt(archiveFolder, undefined, async (restored) => {
      assert.deepEqual(await judge(restored, world.writers), world.writers.map(() => 60));
    });
  });
  await Deno.remove(archiveFolder, { recursive: true });
});

Deno.test("commits that never reached the archive are a gap, which a full backup ends", async () => {
  const archiveFolder = await Deno.makeTempDir({ prefix: "daybook_archive_" });
  const host = realHost();
  const settings = { ...SETTINGS, folder: archiveFolder };
  await withWriters(async (world) => {
    const path = join(world.folder, "other.sqlite");
    const first = openArchive(settings, host);
    let engine = openSqliteEngine({ path, onDurable: first.onDurable });
    await begin(first, engine, host);
    await inTime(() => first.measure().fullAt !== undefined, "a full backup");
    await writeSome({ ...world, engine }, 10);
    first.expectEnd();
    await engine.close();
    await first.close();
    await sleep(20);
    // As if the process had been killed before it could archive these.
    engine = openSqliteEngine({ path });
    await writeSome({ ...world, engine }, 10);
    await engine.close();
    const lostMs = Date.now();
    await sleep(20);

    const second = openArchive(settings, host);
    engine = openSqliteEngine({ path, onDurable: second.onDurable });
    await begin(second, engine, host);
    await inTime(() => fullsOf(archiveFolder).length === 2, "another full backup");
    await inTime(() => !second.measure().hasGap, "the end of the gap");
    await writeSome({ ...world, engine }, 10);
    second.expectEnd();
    await engine.close();
    await second.close();

    const counts = (expected: number) => async (restored: Engine) => {
      assert.deepEqual(await judge(restored, world.writers), world.writers.map(() => expected));
    };
    await restoreAt(archiveFolder, undefined, counts(30));
    const refusal = await restoreAt(archiveFolder, lostMs, counts(20)).catch((error) => error);
    assert.equal(refusal.name, "NotArchived");
    const can =
      /lacks the commits of that time. It can restore any moment from (\S+) to (\S+), and/;
    const [, from, to] = can.exec(refusal.message)!;
    await restoreAt(archiveFolder, Date.parse(to!), counts(10));
    await restoreAt(archiveFolder, Date.parse(from!), counts(0));
    await assert.rejects(restoreAt(archiveFolder, Date.parse(from!) - 1, counts(0)), {
      name: "NotArchived",
      message: /begins later/,
    });
  });
  await Deno.remove(archiveFolder, { recursive: true });
});

Deno.test("a disk that refuses the archive holds up no write, is told, and leaves no lie", async () => {
  await withArchive(async (archived) => {
    const { archive, archiveFolder, engine, writers, host } = archived;
    await inTime(() => archive.measure().fullAt !== undefined, "the first full backup");
    await writeSome(archived, 5);
    await inTime(() => archive.measure().behindSeconds === 0, "the first commits");
    await writeSome(archived, 1);
    // Without the folder no log can be begun. The open one takes 64 MiB; as much again may wait.
    const away = `${archiveFolder}.away`;
    await Deno.rename(archiveFolder, away);
    const large = new Uint8Array(90_000);
    try {
      for (let round = 0; round < 32; round++) {
        await engine.transact((tx) => {
          for (let at = 0; at < 100; at++) tx.set(Uint8Array.of(9, at), large);
          return Promise.resolve();
        });
      }
      assert.equal(archive.measure().hasGap, true);
      assert.ok(archive.measure().failures > 0);
      assert.ok(host.lines.some(({ message }) => /archive has fallen behind/.test(message)));
    } finally {
      await Deno.rename(away, archiveFolder);
    }
    assert.ok(writers.every(({ acknowledged }) => acknowledged === 6));
  });
});

Deno.test("files that no moment of the kept days needs are removed", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook_archive_" });
  const host = fakeHost();
  const archive = openArchive({ folder, fullHours: 24, keepDays: 2 }, host);
  await withWriters(async (world) => {
    await begin(archive, world.engine, host);
    const day = async () => {
      const count = fullsOf(folder).length;
      const newest = fullsOf(folder).at(-1)?.timeMs ?? 0;
      await writeSome(world, 3);
      for (let hour = 0; hour < 24; hour++) {
        host.timeMs += 3_600_000;
        await sleep(15);
      }
      await until(
        () => (fullsOf(folder).at(-1)?.timeMs ?? 0) > newest,
        `full backup ${count + 1}`,
        5_000,
      );
      await sleep(50);
    };
    for (let days = 0; days < 5; days++) await day();
    const limitMs = host.timeMs - 2 * 86_400_000;
    const fulls = fullsOf(folder);
    assert.equal(fulls.filter(({ timeMs }) => timeMs <= limitMs).length, 1, "one to begin with");
    assert.ok(fulls.length >= 3 && fulls.length <= 4, `${fulls.length}`);
    const plan = await planRestore(folder, limitMs);
    assert.equal(plan.full.path, fulls[0]!.path);
    archive.expectEnd();
  }, archive.onDurable);
  await archive.close();
  await Deno.remove(folder, { recursive: true });
});

/** An archive of a store of its own for each life of a server, in one folder. */
async function withLives(
  body: (
    lives: World & {
      readonly archiveFolder: string;
      readonly host: ReturnType<typeof realHost>;
      live(
        run: (archive: Archive, world: World) => Promise<void>,
        takeFull?: () => AsyncIterable<Bytes>,
      ): Promise<void>;
    },
  ) => Promise<void>,
): Promise<void> {
  const archiveFolder = await Deno.makeTempDir({ prefix: "daybook_archive_" });
  const host = realHost();
  await withWriters(async (world) => {
    const path = join(world.folder, "other.sqlite");
    await body({
      ...world,
      archiveFolder,
      host,
      async live(run, takeFull) {
        const archive = openArchive({ ...SETTINGS, folder: archiveFolder }, host);
        const engine = openSqliteEngine({ path, onDurable: archive.onDurable });
        try {
          const version = Number(await engine.snapshot((tx) => tx.readVersion()));
          archive.begin(version, takeFull ?? (() => writeBackup(engine, host, FILES)));
          await run(archive, { ...world, engine });
        } finally {
          archive.expectEnd();
          await engine.close();
          await archive.close();
        }
      },
    });
  });
  await Deno.remove(archiveFolder, { recursive: true });
}

function refuseFull(): never {
  throw new Error("the disk has no room for it");
}

Deno.test("a gap that a stopped server has left is still one for the next, and ends with a full backup", async () => {
  await withLives(async ({ archiveFolder, folder, writers, live, ...world }) => {
    await live(async (archive, own) => {
      await inTime(() => archive.measure().fullAt !== undefined, "a full backup");
      await writeSome(own, 10);
    });
    const engine = openSqliteEngine({ path: join(folder, "other.sqlite") });
    await writeSome({ ...world, writers, engine }, 10);
    await engine.close();
    await live(async (archive, own) => {
      await inTime(() => archive.measure().hasGap, "the gap");
      await writeSome(own, 10);
    }, refuseFull);
    await live(async (archive) => {
      await inTime(() => fullsOf(archiveFolder).length === 2, "another full backup");
      await inTime(() => !archive.measure().hasGap, "the end of the gap");
    });
    await restoreAt(archiveFolder, undefined, async (restored) => {
      assert.deepEqual(await judge(restored, writers), writers.map(() => 30));
    });
  });
});

Deno.test("a full backup that fails does not hold up the log", async () => {
  await withLives(async ({ live }) => {
    await live(async (archive, own) => {
      await inTime(() => archive.measure().failures > 0, "a failure");
      await writeSome(own, 5);
      await inTime(() => archive.measure().behindSeconds === 0, "the log");
    }, refuseFull);
  });
});

Deno.test("full backups go on when the clock was ahead and is put back", async () => {
  await withLives(async ({ archiveFolder, host, live }) => {
    let aheadMs = 400 * 86_400_000;
    host.nowMs = () => Date.now() + aheadMs;
    await live(async () => {
      await inTime(() => fullsOf(archiveFolder).length === 1, "a full backup");
      aheadMs = 0;
      await sleep(600);
      assert.equal(fullsOf(archiveFolder).length, 1, "the next is due a day later");
      aheadMs = 25 * 3_600_000;
      await inTime(() => fullsOf(archiveFolder).length === 2, "the next");
    });
  });
});

Deno.test("a log that was removed is told, and a full backup follows at once", async () => {
  await withLives(async ({ archiveFolder, live, writers }) => {
    await live(async (archive, own) => {
      await inTime(() => archive.measure().fullAt !== undefined, "a full backup");
      await writeSome(own, 5);
      await inTime(() => archive.measure().behindSeconds === 0, "the log");
      for (const { path } of listArchive(archiveFolder)) await Deno.remove(path);
      await writeSome(own, 5);
      await inTime(() => archive.measure().failures > 0, "the failure");
      await inTime(() => fullsOf(archiveFolder).length === 1, "a full backup");
    });
    await restoreAt(archiveFolder, undefined, async (restored) => {
      assert.deepEqual(await judge(restored, writers), writers.map(() => 10));
    });
  });
});

Deno.test("a log that cannot be begun leaves no file, open or closed", async () => {
  await withLives(async ({ archiveFolder, live }) => {
    await live(async (archive, own) => {
      await inTime(() => archive.measure().fullAt !== undefined, "a full backup");
      const { write } = Deno.FsFile.prototype;
      Deno.FsFile.prototype.write = () => Promise.reject(new Error("No space left on device"));
      try {
        await writeSome(own, 1);
        await inTime(() => archive.measure().failures > 0, "the failure");
      } finally {
        Deno.FsFile.prototype.write = write;
      }
      assert.equal(listArchive(archiveFolder).filter(({ kind }) => kind === "log").length, 0);
      const open = [...Deno.readDirSync("/proc/self/fd")].flatMap(({ name }) => {
        try {
          return Deno.readLinkSync(`/proc/self/fd/${name}`);
        } catch {
          return [];
        }
      });
      const logs = open.filter((path) => path.startsWith(archiveFolder) && /log-/.test(path));
      assert.deepEqual(logs, []);
    });
  });
});

Deno.test("a second server is refused the folder of an archive, until the first has ended", async () => {
  await withLives(async ({ archiveFolder, live, host }) => {
    const settings = { ...SETTINGS, folder: archiveFolder };
    await live(async () => {
      await Promise.resolve();
      assert.throws(() => openArchive(settings, host), /Another server keeps its archive in/);
    });
    await openArchive(settings, host).close();
  });
});
