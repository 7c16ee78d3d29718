/** The file of page checksums: its content, and that it never obstructs the store. */

import assert from "node:assert/strict";
import { crc32 } from "node:zlib";
import type { Engine } from "../../../../src/kv/engine.ts";
import { checkPages } from "../../../../src/kv/sqlite/pages/page_check.ts";
import {
  dropForeignSums,
  openPageSums,
  pageSumsPath,
  readPageSums,
  type StoreMoment,
} from "../../../../src/kv/sqlite/pages/page_sums.ts";
import { openSqliteEngine } from "../../../../src/kv/sqlite/engine.ts";
import { createRandom } from "../../../crash/random.ts";
import { SMALL_SIZES } from "../../../power_cut/store_program.ts";
import { live } from "./page_life.ts";

const PAGE_BYTES = 4096;
/** Magic, bytes of a page, version, redo log, schema, checksum. */
const HEAD_BYTES = 8 + 4 + 8 + 16 + 4 + 4;
const MOMENT: StoreMoment = { version: 7, redo: new Uint8Array(16).fill(9), schema: 2 };

async function withPath(body: (path: string) => void | Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_sums_" });
  try {
    await body(`${folder}/store.sqlite`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function write(path: string, sums: [number, number][], moment?: StoreMoment): Promise<void> {
  const file = openPageSums(path, PAGE_BYTES);
  try {
    file.write(new Map(sums), moment);
    await file.sync();
  } finally {
    file.close();
  }
}

function sumsOf(path: string, pages: readonly number[]): (number | undefined)[] {
  const stored = readPageSums(path);
  assert.ok(stored !== undefined);
  return pages.map((page) => stored.of(page));
}

/** CRC-32 of each page of a file, by Python or, without Python, by a loop of this test. */
async function crcsOf(path: string): Promise<number[]> {
  const program = "import sys,zlib\nd=open(sys.argv[1],'rb').read()\n" +
    `print(*[zlib.crc32(d[i:i+${PAGE_BYTES}]) for i in range(0,len(d),${PAGE_BYTES})])`;
  try {
    const { stdout } = await new Deno.Command("python3", { args: ["-c", program, path] }).output();
    return new TextDecoder().decode(stdout).trim().split(" ").map(Number);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const file = Deno.readFileSync(path);
  const pages = Array.from({ length: file.length / PAGE_BYTES }, (_, index) => index * PAGE_BYTES);
  return pages.map((at) => crcByBits(file.subarray(at, at + PAGE_BYTES)));
}

function crcByBits(bytes: Uint8Array): number {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

Deno.test("the sums of a closed store are the CRC-32 of each of its pages, as Python computes it", async () => {
  await withPath(async (path) => {
    for (let life = 0; life < 3; life++) {
      const engine = openSqliteEngine({ path, sizes: { ...SMALL_SIZES, passMsMax: 20_000 } });
      await live(engine, createRandom(life + 1), 400);
      await engine.close();
      const crcs = await crcsOf(path);
      assert.ok(crcs.length > 50, `${crcs.length} pages`);
      assert.deepEqual(sumsOf(path, crcs.map((_, index) => index + 1)), crcs);
    }
  });
});

Deno.test("after forget() the sums are those of the pages as they are now, so nothing tells of what was erased", async () => {
  await withPath(async (path) => {
    const engine = openSqliteEngine({ path, sizes: { ...SMALL_SIZES, passMsMax: 20_000 } });
    await live(engine, createRandom(5), 300);
    await engine.transact((tx) => {
      tx.clearRange({ begin: new Uint8Array(), end: Uint8Array.of(0xfe) });
      return Promise.resolve();
    });
    await engine.forget();
    const crcs = await crcsOf(path);
    assert.deepEqual(sumsOf(path, crcs.map((_, index) => index + 1)), crcs);
    await engine.close();
  });
});

Deno.test("only the owner may read the sums", async () => {
  await withPath(async (path) => {
    await write(path, [[1, 1]]);
    assert.equal(Deno.statSync(pageSumsPath(path)).mode! & 0o777, 0o600);
  });
});

Deno.test("a sum is what was written last; pages between and behind have none; a sum of 0 is kept as 1", async () => {
  await withPath(async (path) => {
    await write(path, [[5_000, 1], [3, 33], [1, 0xffffffff]]);
    await write(path, [[3, 34], [1_025, 0]], MOMENT);
    assert.deepEqual(
      sumsOf(path, [1, 2, 3, 4, 1_024, 1_025, 1_026, 4_999, 5_000, 5_001, 2 ** 31]),
      [0xffffffff, undefined, 34, undefined, undefined, 1, undefined, undefined, 1, undefined]
        .concat([undefined]),
    );
    assert.deepEqual(readPageSums(path)!.moment, MOMENT);
    assert.equal(Deno.statSync(pageSumsPath(path)).size, HEAD_BYTES + 4 * 5_000);
  });
});

Deno.test("the moment of the store stays what it was until all of its log is in the database again", async () => {
  await withPath(async (path) => {
    await write(path, [[1, 1]]);
    assert.equal(readPageSums(path)!.moment, undefined);
    await write(path, [[1, 2]], { ...MOMENT, redo: null });
    await write(path, [[1, 3]]);
    assert.deepEqual(readPageSums(path)!.moment, { ...MOMENT, redo: null });
  });
});

Deno.test("whichever byte of its head is damaged, no sum of the file counts any more", async () => {
  await withPath(async (path) => {
    await write(path, [[1, 1], [2, 2]], MOMENT);
    const sound = Deno.readFileSync(pageSumsPath(path));
    for (let at = 0; at < HEAD_BYTES; at++) {
      const damaged = sound.slice();
      damaged[at]! ^= 1 << at % 8;
      Deno.writeFileSync(pageSumsPath(path), damaged);
      assert.equal(readPageSums(path), undefined, `byte ${at}`);
      await write(path, [[2, 4]]);
      assert.deepEqual(sumsOf(path, [1, 2]), [undefined, 4], `byte ${at}`);
    }
    for (let length = 0; length < HEAD_BYTES; length++) {
      Deno.writeFileSync(pageSumsPath(path), sound.subarray(0, length));
      assert.equal(readPageSums(path), undefined, `${length} bytes`);
    }
  });
});

Deno.test("a file that was cut within a sum has the sums before it", async () => {
  await withPath(async (path) => {
    await write(path, [[1, 1], [2, 2], [3, 3]]);
    Deno.truncateSync(pageSumsPath(path), HEAD_BYTES + 10);
    assert.deepEqual(sumsOf(path, [1, 2, 3]), [1, 2, undefined]);
    await write(path, [[4, 4]]);
    assert.deepEqual(sumsOf(path, [1, 2, 4]), [1, 2, 4]);
  });
});

const NOW: readonly (readonly [string, StoreMoment, boolean])[] = [
  ["what they say of it", MOMENT, true],
  ["an older version, which the disk may have brought back", { ...MOMENT, version: 6 }, true],
  ["an older schema", { ...MOMENT, schema: 1 }, true],
  ["a newer version", { ...MOMENT, version: 8 }, false],
  ["a newer schema, as after VACUUM", { ...MOMENT, schema: 3 }, false],
  ["another redo log", { ...MOMENT, redo: new Uint8Array(16).fill(8) }, false],
  ["no redo log", { ...MOMENT, redo: null }, false],
];

for (const [name, now, isKept] of NOW) {
  Deno.test(`beside a store with ${name} the sums are ${isKept ? "kept" : "removed"}`, async () => {
    await withPath(async (path) => {
      await write(path, [[1, 1]], MOMENT);
      dropForeignSums(path, () => now);
      assert.equal(readPageSums(path) !== undefined, isKept);
    });
  });
}

Deno.test("sums that were never those of all that a store has are removed, and those of a broken store are kept", async () => {
  await withPath(async (path) => {
    await write(path, [[1, 1]]);
    dropForeignSums(path, () => MOMENT);
    assert.equal(readPageSums(path), undefined);
    await write(path, [[1, 1]], MOMENT);
    dropForeignSums(path, () => {
      throw new Error("file is not a database");
    });
    assert.deepEqual(sumsOf(path, [1]), [1]);
  });
});

async function fill(engine: Engine, seed: number): Promise<void> {
  await live(engine, createRandom(seed), 300);
  await engine.forget();
}

Deno.test("where the file of sums cannot be written the store goes on, is told of once, and closes", async () => {
  await withPath(async (path) => {
    const told: string[] = [];
    const open = () =>
      openSqliteEngine({
        path,
        sizes: { ...SMALL_SIZES, passMsMax: 20_000 },
        onUnnoted: (reason) => void told.push(reason),
      });
    const engine = open();
    await fill(engine, 1);
    assert.deepEqual(told, []);
    Deno.removeSync(pageSumsPath(path));
    // It can neither be opened as a file nor removed.
    Deno.mkdirSync(`${pageSumsPath(path)}/in the way`, { recursive: true });
    await fill(engine, 2);
    assert.equal(told.length, 1);
    assert.match(told[0]!, /-pages could not be kept: .*Remove that file before the next fsck/);
    await engine.close();
    assert.equal(engine.failure(), undefined);
    Deno.removeSync(pageSumsPath(path), { recursive: true });
    const again = open();
    await fill(again, 3);
    await again.close();
    assert.deepEqual(checkPages(path).faults, []);
  });
});

Deno.test("sums that cannot be kept are removed, with one word to the operator, and begin anew", async () => {
  await withPath(async (path) => {
    const told: string[] = [];
    const onUnnoted = (reason: string) => void told.push(reason);
    const sizes = { ...SMALL_SIZES, passMsMax: 20_000 };
    const engine = openSqliteEngine({ path, sizes, onUnnoted });
    await fill(engine, 1);
    Deno.removeSync(pageSumsPath(path));
    // A file that has no room for a byte and cannot be truncated.
    Deno.symlinkSync("/dev/full", pageSumsPath(path));
    await fill(engine, 2);
    await engine.close();
    assert.equal(told.length, 1);
    assert.match(told[0]!, /They begin anew, and fsck says of how many pages nothing is known/);
    const crcs = await crcsOf(path);
    const known = sumsOf(path, crcs.map((_, index) => index + 1));
    assert.ok(known.some((sum) => sum !== undefined));
    for (const [index, sum] of known.entries()) assert.ok([undefined, crcs[index]].includes(sum));
  });
});

Deno.test("an engine that is still noting lets the next one wait, who then writes the newer sums", async () => {
  await withPath(async (path) => {
    const first = openPageSums(path, PAGE_BYTES);
    const program = `
      import { openPageSums } from ${
      JSON.stringify(import.meta.resolve("../../../../src/kv/sqlite/pages/page_sums.ts"))
    };
      console.log("begins");
      const file = openPageSums(Deno.args[0], ${PAGE_BYTES});
      file.write(new Map([[1, 22]]), undefined);
      file.close();`;
    const second = new Deno.Command(Deno.execPath(), {
      args: ["eval", "--no-lock", program, path],
      stdout: "piped",
    }).spawn();
    const output = second.stdout.getReader();
    await output.read();
    await new Promise((resolve) => setTimeout(resolve, 150));
    first.write(new Map([[1, 11]]), undefined);
    first.close();
    await output.cancel();
    assert.equal((await second.status).code, 0);
    assert.deepEqual(sumsOf(path, [1]), [22]);
  });
});

Deno.test("crc32() of the runtime is the CRC-32 of the tests' own loop", () => {
  for (const length of [0, 1, 9, 4096]) {
    const bytes = Uint8Array.from({ length }, (_, at) => (at * 31 + 7) % 256);
    assert.equal(crc32(bytes), crcByBits(bytes));
  }
});
