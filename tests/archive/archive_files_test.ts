/** The logs of an archive are read as they were written, as far as they are whole. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type ArchivedCommit,
  commitBytes,
  encodeCommit,
  fileName,
  listArchive,
  LOG_MAGIC,
  readCommits,
} from "../../src/archive/archive_files.ts";
import type { Bytes, Change } from "../../src/kv/engine.ts";

function bytes(max: number): fc.Arbitrary<Bytes> {
  return fc.uint8Array({ maxLength: max }) as fc.Arbitrary<Bytes>;
}

const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ cleared: bytes(30) }),
  fc.record({ clearedRange: fc.record({ begin: bytes(30), end: bytes(30) }) }),
  fc.tuple(bytes(30), bytes(3_000)).map(([key, value]) => ({ pairs: [key, value] })),
);
const commit: fc.Arbitrary<ArchivedCommit> = fc.record({
  version: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
  timeMs: fc.nat({ max: 8e14 }),
  changes: fc.array(change, { maxLength: 8 }),
});

function encode(commits: readonly ArchivedCommit[]): Bytes {
  const sizes = commits.map(({ changes }) => commitBytes(changes));
  const log = new Uint8Array(LOG_MAGIC.length + sizes.reduce((sum, size) => sum + size, 0));
  log.set(LOG_MAGIC);
  let at = LOG_MAGIC.length;
  for (const one of commits) at = encodeCommit(one, log, at);
  assert.equal(at, log.length, "as long as was said");
  return log;
}

async function withFile<T>(content: Bytes, body: (path: string) => Promise<T>): Promise<T> {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeFile(path, content);
    return await body(path);
  } finally {
    await Deno.remove(path);
  }
}

async function read(content: Bytes) {
  return await withFile(content, async (path) => {
    const commits: ArchivedCommit[] = [];
    const reading = readCommits(path);
    let step = await reading.next();
    for (; step.done !== true; step = await reading.next()) commits.push(step.value);
    return { commits, end: step.value };
  });
}

/** Pairs are read one by one. */
function plain({ version, timeMs, changes }: ArchivedCommit) {
  const hex = (some: readonly Bytes[]) => some.map((one) => one.toHex());
  return {
    version,
    timeMs,
    changes: changes.flatMap((one): string[][] => {
      if ("cleared" in one) return [["clear", ...hex([one.cleared])]];
      if ("clearedRange" in one) {
        return [["range", ...hex([one.clearedRange.begin, one.clearedRange.end])]];
      }
      const pairs: string[][] = [];
      for (let at = 0; at < one.pairs.length; at += 2) {
        pairs.push(["set", ...hex(one.pairs.slice(at, at + 2))]);
      }
      return pairs;
    }),
  };
}

Deno.test("commits are read from a log as they were written", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(commit, { maxLength: 10 }), async (commits) => {
      const log = encode(commits);
      const found = await read(log);
      assert.deepEqual(found.commits.map(plain), commits.map(plain));
      assert.deepEqual(found.end, { bytes: log.length, isTorn: false });
    }),
    { numRuns: 60 },
  );
});

Deno.test("a commit of 20 MB is read, beside small ones", async () => {
  const large = new Uint8Array(100_000).fill(7);
  const pairs = Array.from({ length: 200 }, (_, at) => [Uint8Array.of(at), large]).flat();
  const commits = [1, 2, 3].map((version) => ({
    version,
    timeMs: version,
    changes: version === 2 ? [{ pairs }] : [{ cleared: Uint8Array.of(version) }],
  }));
  const { commits: found } = await read(encode(commits));
  assert.deepEqual(found.map(({ version }) => version), [1, 2, 3]);
  assert.equal(found[1]!.changes.length, 200);
});

const SMALL: readonly ArchivedCommit[] = [1, 2, 3].map((version) => ({
  version,
  timeMs: 1_000 * version,
  changes: [{ pairs: [Uint8Array.of(version), Uint8Array.of(1, 2, 3)] }],
}));

Deno.test("a log that ends in the middle of a commit has the commits before it", async () => {
  const log = encode(SMALL);
  const ends = SMALL.map((_, at) => encode(SMALL.slice(0, at + 1)).length);
  for (let length = LOG_MAGIC.length; length <= log.length; length++) {
    const { commits, end } = await read(log.slice(0, length));
    const whole = ends.filter((bytes) => bytes <= length);
    assert.equal(commits.length, whole.length);
    const last = whole.at(-1) ?? LOG_MAGIC.length;
    assert.deepEqual(end, { bytes: last, isTorn: length > last });
  }
});

Deno.test("no bit of a log can change without ending it there", async () => {
  const log = encode(SMALL);
  for (let at = 0; at < log.length; at++) {
    const changed = log.slice();
    changed[at]! ^= 1 << (at % 8);
    const { commits, end } = await read(changed);
    const before = SMALL.filter((_, index) => encode(SMALL.slice(0, index + 1)).length <= at);
    assert.deepEqual(commits.map(plain), before.map(plain), `byte ${at}`);
    assert.ok(end.isTorn);
  }
});

Deno.test("an archive is listed by version and time, and other files are left alone", async () => {
  const folder = await Deno.makeTempDir();
  const at = Date.UTC(2026, 10, 26, 18, 5, 3, 7);
  const names = [
    fileName("log", 1_826_000_000_000_123, at),
    fileName("full", 7, at),
    fileName("log", 7, at + 1),
    fileName("log", 99, at - 1),
  ];
  assert.equal(names[1], "full-0000000000000007-20261126T180503007Z.backup");
  for (const name of [...names, "full.part", "notes.txt"]) {
    await Deno.writeTextFile(`${folder}/${name}`, "");
  }
  assert.deepEqual(
    listArchive(folder).map(({ kind, version, timeMs }) => [kind, version, timeMs]),
    [
      ["full", 7, at],
      ["log", 7, at + 1],
      ["log", 99, at - 1],
      ["log", 1_826_000_000_000_123, at],
    ],
  );
  await Deno.remove(folder, { recursive: true });
});
