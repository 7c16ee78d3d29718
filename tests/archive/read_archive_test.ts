/** Which moments an archive can restore, told by its files alone. */

import assert from "node:assert/strict";
import {
  type ArchivedCommit,
  commitBytes,
  encodeCommit,
  fileName,
  LOG_MAGIC,
} from "../../src/archive/archive_files.ts";
import { planRestore } from "../../src/archive/read_archive.ts";

/** A full backup, or a log with these commits. Each commit is durable at 10 times its version. */
type File =
  | { readonly full: number; readonly at: number }
  | { readonly log: number; readonly at?: number; readonly commits: readonly number[] };

function encode(versions: readonly number[]): Uint8Array {
  const commits = versions.map((version): ArchivedCommit => ({
    version,
    timeMs: 10 * version,
    changes: [{ cleared: Uint8Array.of(version) }],
  }));
  const size = commits.reduce((sum, { changes }) => sum + commitBytes(changes), LOG_MAGIC.length);
  const bytes = new Uint8Array(size);
  bytes.set(LOG_MAGIC);
  commits.reduce((at, commit) => encodeCommit(commit, bytes, at), LOG_MAGIC.length);
  return bytes;
}

async function withArchive(files: readonly File[], body: (folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "daybook_archive_" });
  try {
    for (const file of files) {
      if ("full" in file) {
        await Deno.writeTextFile(`${folder}/${fileName("full", file.full, file.at)}`, "");
      } else {
        const name = fileName("log", file.log, file.at ?? 10 * file.log);
        await Deno.writeFile(`${folder}/${name}`, encode(file.commits));
      }
    }
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The full backup, the commits behind it, and those after the moment. */
async function plan(folder: string, at?: number) {
  const { full, version, timeMs, commits, later } = await planRestore(folder, at);
  const versions = async (some: AsyncIterable<ArchivedCommit, unknown>) =>
    (await Array.fromAsync(some)).map((commit) => commit.version);
  return {
    full: full.version,
    version,
    timeMs,
    commits: await versions(commits()),
    later: await versions(later()),
  };
}

Deno.test("a moment is the newest full backup before it, and the commits up to it", async () => {
  const files: File[] = [
    { full: 2, at: 25 },
    { log: 0, commits: [1, 2, 3, 4] },
    { log: 4, commits: [5, 6] },
    { full: 5, at: 55 },
    { log: 6, commits: [7, 8, 9] },
  ];
  await withArchive(files, async (folder) => {
    assert.deepEqual(await plan(folder, 44), {
      full: 2,
      version: 4,
      timeMs: 40,
      commits: [3, 4],
      later: [5, 6, 7, 8, 9],
    });
    assert.deepEqual(await plan(folder, 55), {
      full: 5,
      version: 5,
      timeMs: 55,
      commits: [],
      later: [6, 7, 8, 9],
    });
    assert.deepEqual(await plan(folder), {
      full: 5,
      version: 9,
      timeMs: 90,
      commits: [6, 7, 8, 9],
      later: [],
    });
    assert.deepEqual((await plan(folder, 70)).version, 7, "exactly at a commit");
    assert.deepEqual((await plan(folder, 5_000)).version, 9, "after the last");
    await assert.rejects(planRestore(folder, 24), { message: /^The archive begins later\./ });
  });
});

Deno.test("a moment whose commits are missing is refused, and the others are not", async () => {
  const files: File[] = [
    { full: 0, at: 1 },
    { log: 0, commits: [1, 2, 3] },
    { log: 5, commits: [6, 7] },
    { full: 7, at: 75 },
    { log: 7, commits: [8] },
  ];
  await withArchive(files, async (folder) => {
    assert.equal((await plan(folder, 30)).version, 3);
    for (const at of [31, 55, 70, 74]) {
      await assert.rejects(planRestore(folder, at), (error: Error) => {
        assert.equal(error.name, "NotArchived");
        const text = "lacks the commits of that time. It can restore any moment from " +
          "1970-01-01T00:00:00.001Z to 1970-01-01T00:00:00.030Z, and from " +
          "1970-01-01T00:00:00.075Z to 1970-01-01T00:00:00.080Z";
        assert.ok(error.message.endsWith(text), error.message);
        return true;
      }, `at ${at}`);
    }
    assert.equal((await plan(folder, 76)).version, 7);
    assert.equal((await plan(folder)).version, 8);
  });
});

Deno.test("logs of a killed process overlap with nothing, and those that begin again are joined", async () => {
  const files: File[] = [
    { full: 1, at: 12 },
    { log: 1, at: 13, commits: [2, 3] },
    { log: 3, at: 31, commits: [] },
    { log: 3, at: 33, commits: [4] },
  ];
  await withArchive(files, async (folder) => {
    assert.deepEqual((await plan(folder)).commits, [2, 3, 4]);
  });
});

Deno.test("an archive without a full backup restores nothing", async () => {
  await withArchive([{ log: 0, commits: [1] }], async (folder) => {
    await assert.rejects(planRestore(folder), { name: "NotArchived", message: /no full backup/ });
  });
});

Deno.test("a gap behind a moment is told, for what was erased in it is not known", async () => {
  const isWhole = async (files: readonly File[], at: number) => {
    let result: boolean | undefined;
    await withArchive(files, async (folder) => {
      const later = (await planRestore(folder, at)).later();
      for (;;) {
        const { done, value } = await later.next();
        if (!done) continue;
        result = value;
        return;
      }
    });
    return result;
  };
  const begin: File[] = [{ full: 1, at: 12 }, { log: 1, commits: [2, 3] }];
  assert.equal(await isWhole(begin, 20), true);
  assert.equal(await isWhole([...begin, { log: 3, commits: [4] }], 20), true);
  assert.equal(await isWhole([...begin, { log: 4, commits: [5] }], 20), false);
  assert.equal(await isWhole([...begin, { full: 4, at: 45 }], 20), false);
  assert.equal(await isWhole([...begin, { full: 4, at: 45 }, { log: 3, commits: [4] }], 20), true);
  assert.equal(await isWhole([...begin, { full: 4, at: 45 }], 50), true, "from behind the gap");
});

Deno.test("a moment behind damage in the last log is refused, and one behind a torn end is not", async () => {
  const files: File[] = [{ full: 1, at: 12 }, { log: 1, commits: [2, 3, 4, 5, 6] }];
  await withArchive(files, async (folder) => {
    const path = `${folder}/${fileName("log", 1, 10)}`;
    const bytes = await Deno.readFile(path);
    assert.equal((await plan(folder, 100)).version, 6);
    const commit = (bytes.length - LOG_MAGIC.length) / 5;
    // Each commit but the last, in its length, its checksum, its version and its changes.
    for (let at = LOG_MAGIC.length; at < bytes.length - commit; at++) {
      const damaged = bytes.slice();
      damaged[at]! ^= 0x40;
      await Deno.writeFile(path, damaged);
      const whole = 1 + Math.floor((at - LOG_MAGIC.length) / commit);
      const where = `byte ${at}`;
      await assert.rejects(planRestore(folder, 100), { name: "NotArchived" }, where);
      assert.equal((await plan(folder, 10 * whole + (whole === 1 ? 2 : 0))).version, whole, where);
      assert.equal((await plan(folder)).version, whole, "the newest that there is");
    }
    await Deno.writeFile(path, bytes.map((byte, at) => at === 0 ? 0 : byte));
    await assert.rejects(planRestore(folder, 100), { name: "NotArchived" }, "no log any more");
    for (let length = bytes.length - commit; length < bytes.length; length++) {
      await Deno.writeFile(path, bytes.subarray(0, length));
      assert.equal((await plan(folder, 100)).version, 5, `${length} bytes`);
    }
  });
});
