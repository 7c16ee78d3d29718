/** Pages that a disk has lost: checksums find each of them, and nothing else is ever reported. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { checkPages } from "../../../../src/kv/sqlite/pages/page_check.ts";
import { pageSumsPath } from "../../../../src/kv/sqlite/pages/page_sums.ts";
import { checkSqliteFile } from "../../../../src/kv/sqlite/check_file.ts";
import { openSqliteEngine } from "../../../../src/kv/sqlite/engine.ts";
import { createRandom, type Random } from "../../../crash/random.ts";
import { SMALL_SIZES } from "../../../power_cut/store_program.ts";
import { KILL_ENDS, live, startLife } from "./page_life.ts";

const SEED = Number(Deno.env.get("PAGE_SEED") ?? Math.floor(Math.random() * 2 ** 31));
const LOSSES = Number(Deno.env.get("PAGE_LOSSES") ?? 200);
/** Processes that end without a close. */
const KILLS = Number(Deno.env.get("PAGE_KILLS") ?? 24);
/** So often a loss takes all that was written since: every eighth time. */
const LOSSES_OF_ALL = 8;
const LIVES = 8;
const COMMITS_OF_LIFE = 250;
const PAGE_BYTES = 4096;

console.log(`page seed ${SEED}`);

async function withFolder(body: (path: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_pages_" });
  try {
    await body(`${folder}/store.sqlite`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function liveOnce(path: string, random: Random, commits: number): Promise<void> {
  const engine = openSqliteEngine({ path, sizes: { ...SMALL_SIZES, passMsMax: 20_000 } });
  await live(engine, random, commits);
  await engine.close();
}

function pageOf(file: Uint8Array, page: number): Uint8Array {
  return file.subarray((page - 1) * PAGE_BYTES, page * PAGE_BYTES);
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

/** Pages of the newer file that exist with another content in the older one. */
function changedPages(older: Uint8Array, newer: Uint8Array): number[] {
  const pages = Math.min(older.length, newer.length) / PAGE_BYTES;
  return Array.from({ length: pages }, (_, index) => index + 1)
    .filter((page) => !isSame(pageOf(older, page), pageOf(newer, page)));
}

/** By SQLite's file format; pages without cells belong to long values, or are free. */
const KINDS: Readonly<Record<number, string>> = {
  0x02: "inner page of an index",
  0x05: "inner page of a table",
  0x0a: "leaf of an index",
  0x0d: "leaf of a table",
};

function kindOf(file: Uint8Array, page: number): string {
  if (page === 1) return "first page";
  return KINDS[pageOf(file, page)[0]!] ?? "page of a long value, or free";
}

/** The page numbers that the report names. */
function pagesNamed(faults: readonly string[]): number[] {
  return faults.flatMap((fault) => {
    const found = /^page (\d+) is not what was last written there/.exec(fault);
    return found === null ? [] : [Number(found[1])];
  });
}

interface Life {
  readonly file: Uint8Array;
  readonly sums: Uint8Array;
}

/** The files of one store after each of its lives, each ended by a close. */
async function someLives(path: string, random: Random): Promise<Life[]> {
  const lives: Life[] = [];
  for (let life = 0; life < LIVES; life++) {
    await liveOnce(path, random, COMMITS_OF_LIFE);
    lives.push({ file: Deno.readFileSync(path), sums: Deno.readFileSync(pageSumsPath(path)) });
  }
  return lives;
}

/** Draws one or some of the pages that the newer file has in another version. In order. */
function loseSome(random: Random, older: Uint8Array, newer: Uint8Array): number[] {
  const changed = changedPages(older, newer);
  const kinds = Map.groupBy(changed, (page) => kindOf(newer, page));
  // Draws a kind first, because there are few inner pages.
  const drawOne = () => random.pick(random.pick([...kinds.values()]));
  const count = random.chance(0.6) ? 1 : 2 + random.below(6);
  return [...new Set(Array.from({ length: count }, drawOne))].sort((a, b) => a - b);
}

Deno.test("checkPages() finds each page that the disk has kept in an older version, of whatever kind, alone, with others, or with all of the last life", async () => {
  await withFolder(async (path) => {
    const random = createRandom(SEED);
    const lives = await someLives(path, random);
    const kinds = new Map<string, number>();
    for (let loss = 0; loss < LOSSES; loss++) {
      const at = 1 + random.below(LIVES - 1);
      const newer = lives[at]!;
      const older = lives[random.chance(0.5) ? at - 1 : random.below(at)]!;
      const isAll = loss % LOSSES_OF_ALL === 0;
      const pages = isAll
        ? changedPages(older.file, newer.file)
        : loseSome(random, older.file, newer.file);
      const damaged = newer.file.slice();
      for (const page of pages) {
        damaged.set(pageOf(older.file, page), (page - 1) * PAGE_BYTES);
        kinds.set(kindOf(newer.file, page), (kinds.get(kindOf(newer.file, page)) ?? 0) + 1);
      }
      Deno.writeFileSync(path, damaged);
      Deno.writeFileSync(pageSumsPath(path), newer.sums);
      const { faults } = checkPages(path);
      assert.deepEqual(pagesNamed(faults), pages.slice(0, 100), `loss ${loss} of seed ${SEED}`);
      // The older file was sound by itself, so nothing but the sums can tell.
      if (isAll) assert.deepEqual(checkSqliteFile(path), [], `loss ${loss} of seed ${SEED}`);
    }
    assert.deepEqual(
      [...kinds.keys()].sort(),
      [
        "first page",
        ...Object.values(KINDS),
        "page of a long value, or free",
      ].sort(),
    );
  });
});

Deno.test("checkPages() finds pages that are zeros, exchanged with others, or cut off", async () => {
  await withFolder(async (path) => {
    const random = createRandom(SEED).fork(1);
    await liveOnce(path, random, COMMITS_OF_LIFE);
    const sound = Deno.readFileSync(path);
    const pages = sound.length / PAGE_BYTES;
    const zeros = new Uint8Array(PAGE_BYTES);
    for (let page = 1; page <= pages; page++) {
      const other = 1 + random.below(pages);
      const zeroed = sound.slice();
      zeroed.set(zeros, (page - 1) * PAGE_BYTES);
      const exchanged = sound.slice();
      exchanged.set(pageOf(sound, other), (page - 1) * PAGE_BYTES);
      exchanged.set(pageOf(sound, page), (other - 1) * PAGE_BYTES);
      for (const damaged of [zeroed, exchanged]) {
        Deno.writeFileSync(path, damaged);
        const expected = changedPages(sound, damaged);
        assert.deepEqual(pagesNamed(checkPages(path).faults), expected, `page ${page}, ${other}`);
      }
    }
    Deno.writeFileSync(path, sound.subarray(0, -PAGE_BYTES));
    assert.deepEqual(pagesNamed(checkPages(path).faults), [pages]);
  });
});

Deno.test("a store with the sums of another time is reported with the likely reason, and at most 100 of its pages are named", async () => {
  await withFolder(async (path) => {
    const random = createRandom(SEED).fork(2);
    await liveOnce(path, random, COMMITS_OF_LIFE);
    const old = Deno.readFileSync(path);
    for (let life = 0; life < 4; life++) await liveOnce(path, random, COMMITS_OF_LIFE);
    const changed = changedPages(old, Deno.readFileSync(path)).length;
    Deno.writeFileSync(path, old);
    const { faults, pages } = checkPages(path);
    assert.ok(changed > pages / 2);
    assert.match(faults[0]!, /pages are not what was last written.*are of different times/);
    assert.ok(pagesNamed(faults).length <= 100);
    if (faults.length > 101) assert.match(faults.at(-1)!, /^\d+ more pages are not what/);
  });
});

Deno.test("without sums nothing is reported but how many pages have none, and fewer with each write", async () => {
  await withFolder(async (path) => {
    const random = createRandom(SEED).fork(3);
    await liveOnce(path, random, 4 * COMMITS_OF_LIFE);
    assert.equal(checkPages(path).unknown, 0, "each page of a new store has its sum");
    Deno.removeSync(pageSumsPath(path));
    const { faults, pages, unknown } = checkPages(path);
    assert.deepEqual([faults, unknown], [[], pages]);
    assert.equal(pages, Deno.statSync(path).size / PAGE_BYTES);
    await liveOnce(path, random, 1);
    const first = checkPages(path);
    assert.deepEqual(first.faults, []);
    assert.ok(first.unknown > 0 && first.unknown < pages, `${first.unknown} of ${pages}`);
    await liveOnce(path, random, COMMITS_OF_LIFE);
    const second = checkPages(path);
    assert.deepEqual(second.faults, []);
    assert.ok(second.unknown < first.unknown);
  });
});

Deno.test("where there is no store there is nothing to report, and nothing is made", async () => {
  await withFolder((path) => {
    assert.deepEqual(checkPages(path), { faults: [], pages: 0, unknown: 0 });
    assert.deepEqual([...Deno.readDirSync(path.slice(0, path.lastIndexOf("/")))], []);
    return Promise.resolve();
  });
});

Deno.test("checkPages() refuses a store that is open", async () => {
  await withFolder(async (path) => {
    const engine = openSqliteEngine({ path });
    assert.throws(() => checkPages(path), { name: "StoreInUse" });
    await engine.close();
  });
});

Deno.test("after VACUUM by another program no page is reported: none has a sum", async () => {
  await withFolder(async (path) => {
    const random = createRandom(SEED).fork(4);
    await liveOnce(path, random, COMMITS_OF_LIFE);
    const before = Deno.readFileSync(path);
    const db = new DatabaseSync(path);
    db.exec("VACUUM");
    db.close();
    assert.ok(changedPages(before, Deno.readFileSync(path)).length > 0);
    const { faults, pages, unknown } = checkPages(path);
    assert.deepEqual([faults, unknown], [[], pages]);
    await liveOnce(path, random, COMMITS_OF_LIFE);
    assert.deepEqual(checkPages(path).faults, []);
  });
});

Deno.test("however and whenever a process ends, no page is reported that the disk has kept, before the next start and after it", async () => {
  const random = createRandom(SEED).fork(5);
  const ended = new Map<string, number>();
  for (let round = 0; round < KILLS;) {
    await withFolder(async (path) => {
      for (let life = 0; life < 12 && round < KILLS; life++, round++) {
        const end = random.pick(KILL_ENDS);
        await startLife(path, { seed: random.below(2 ** 31), end, killMs: random.below(400) });
        const why = `life ${life}, round ${round}, ${end}, seed ${SEED}`;
        assert.deepEqual(checkPages(path).faults, [], why);
        ended.set(end, (ended.get(end) ?? 0) + 1);
        if (random.chance(0.5)) continue;
        await liveOnce(path, random, random.below(20));
        assert.deepEqual(checkPages(path).faults, [], `closed after ${why}`);
      }
    });
  }
  if (KILLS >= 24) assert.ok(ended.get("kill")! > 0, "some were killed");
});

Deno.test("no page is reported of a store whose log was moved by another program, which keeps it open for the next process", async () => {
  await withFolder(async (path) => {
    const random = createRandom(SEED).fork(7);
    const lifeOf = () => ({ seed: random.below(2 ** 31), end: "kill", killMs: 200 } as const);
    for (let turn = 0; turn < 3; turn++) {
      await startLife(path, lifeOf());
      // Like a process that is killed before it has recorded what it moved.
      const other = new DatabaseSync(path);
      other.prepare("PRAGMA wal_checkpoint(PASSIVE)").get();
      // SQLite considers the whole WAL moved, and so restarts it with the next commit.
      await startLife(path, lifeOf());
      const { faults, pages, unknown } = checkPages(path);
      assert.deepEqual(faults, [], `turn ${turn} of seed ${SEED}`);
      assert.ok(unknown < pages, "what was written since has sums");
      other.close();
    }
  });
});

Deno.test("of a store that was killed the pages are compared that its log does not have", async () => {
  await withFolder(async (path) => {
    const random = createRandom(SEED).fork(6);
    await liveOnce(path, random, 4 * COMMITS_OF_LIFE);
    const sound = Deno.readFileSync(path);
    // Long enough for some passes, too short for every page to be in the WAL.
    await startLife(path, { seed: 1, end: "kill", killMs: 5 });
    const { faults } = checkPages(path);
    assert.deepEqual(faults, []);
    const now = Deno.readFileSync(path);
    const pages = sound.length / PAGE_BYTES;
    const found = Array.from({ length: pages }, (_, index) => index + 1).filter((page) => {
      const damaged = now.slice();
      damaged.set(new Uint8Array(PAGE_BYTES), (page - 1) * PAGE_BYTES);
      Deno.writeFileSync(path, damaged);
      return pagesNamed(checkPages(path).faults).includes(page);
    });
    assert.ok(found.length > 0, "pages that the log does not have are compared");
  });
});
