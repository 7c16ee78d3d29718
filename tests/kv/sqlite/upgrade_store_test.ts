/** Stores of earlier formats, opened by the engine: what they hold, and what is refused. */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { DatabaseSync } from "node:sqlite";
import { crc32 } from "node:zlib";
import type { Bytes } from "../../../src/kv/engine.ts";
import { checkSqliteFile } from "../../../src/kv/sqlite/check_file.ts";
import { openSqliteEngine } from "../../../src/kv/sqlite/engine.ts";

const CLOSED = new URL("../../golden/stores/format_6_closed/", import.meta.url);
const KILLED = new URL("../../golden/stores/format_4_killed/", import.meta.url);
const EVERYTHING = { begin: new Uint8Array(), end: Uint8Array.of(0xfe) };

type Body = (folder: string, path: string) => Promise<void>;

function withKilled(body: Body): Promise<void> {
  return withStore(KILLED, body);
}

async function withStore(store: URL, body: Body): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_upgrade_" });
  try {
    for await (const { name } of Deno.readDir(store)) {
      const packed = await Deno.open(new URL(name, store));
      const unpacked = packed.readable.pipeThrough(new DecompressionStream("gzip"));
      await Deno.writeFile(`${folder}/${name.replace(/\.gz$/, "")}`, unpacked);
    }
    await body(folder, `${folder}/daybook.sqlite`);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function countPairs(path: string): Promise<number> {
  const engine = openSqliteEngine({ path });
  try {
    return (await engine.snapshot((tx) => tx.getRange(EVERYTHING))).length;
  } finally {
    await engine.close();
  }
}

Deno.test("what a build before left in a redo log without a name goes into the store, once", async () => {
  await withKilled(async (_folder, path) => {
    const whole = await countPairs(path);
    assert.equal(await countPairs(path), whole);
    await withKilled(async (_other, without) => {
      Deno.truncateSync(`${without}-redo1`, 0);
      assert.ok(await countPairs(without) < whole, "the log held something");
    });
  });
});

Deno.test("a store of an earlier build is copied as it was before it is upgraded, once", async () => {
  await withStore(CLOSED, async (folder, path) => {
    const before = new Map(
      [...Deno.readDirSync(folder)].map((
        { name },
      ) => [name, Deno.readFileSync(`${folder}/${name}`)]),
    );
    const told: string[] = [];
    const open = () => openSqliteEngine({ path, onUpgraded: (copy) => told.push(copy) });
    await open().close();
    await open().close();
    assert.deepEqual(told, [`${path}-before-7`]);
    for (const { name } of Deno.readDirSync(told[0]!)) {
      assert.deepEqual(Deno.readFileSync(`${told[0]}/${name}`), before.get(name), name);
    }
    const kept = [...Deno.readDirSync(told[0]!)].map(({ name }) => name).sort();
    const belongs = (name: string) =>
      name.startsWith("daybook.sqlite") && !/-shm$|[.]lock$/.test(name);
    assert.deepEqual(kept, [...before.keys()].filter(belongs).sort());
    // The copy is a store: it is upgraded as the other was.
    const whole = await countPairs(path);
    const copied = `${folder}/copied`;
    Deno.renameSync(told[0]!, copied);
    assert.equal(await countPairs(`${copied}/daybook.sqlite`), whole);
  });
});

/** Changes the row of a store that is closed. */
function change(path: string, sql: string): void {
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
}

Deno.test("a store whose row is not whole is copied before it is upgraded all the same", async () => {
  await withStore(CLOSED, async (folder, path) => {
    change(path, "UPDATE store SET version_again = version_again + 1");
    const told: string[] = [];
    await openSqliteEngine({ path, onUpgraded: (copy) => told.push(copy) }).close().catch(() => {});
    assert.deepEqual(told, [`${folder}/daybook.sqlite-before-7`]);
  });
});

Deno.test("no copy is left of files that are refused", async () => {
  await withStore(CLOSED, async (folder, path) => {
    const log = await earlierLog(path);
    assert.ok(log.length > 4096, "it has the page of the row");
    Deno.writeFileSync(`${path}-wal`, log);
    assert.throws(() => openSqliteEngine({ path }), /takes it back to .* not of one moment/);
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name);
    assert.deepEqual(names.filter((name) => name.includes("-before-")), []);
  });
});

/** SQLite's log as it was one commit before the store, as far as its row goes. */
async function earlierLog(path: string): Promise<Uint8Array> {
  const other = await Deno.makeTempDir({ prefix: "daybook_earlier_" });
  Deno.copyFileSync(path, `${other}/store`);
  const db = new DatabaseSync(`${other}/store`);
  try {
    db.exec("PRAGMA wal_autocheckpoint = 0");
    db.exec("UPDATE store SET version = version - 1, version_again = version_again - 1");
    return Deno.readFileSync(`${other}/store-wal`);
  } finally {
    db.close();
    await Deno.remove(other, { recursive: true });
  }
}

Deno.test("a store of this build is not copied, whatever a kill has left in its logs", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook_upgrade_" });
  const path = `${folder}/store.sqlite`;
  const engine = openSqliteEngine({ path });
  await engine.transact((tx) => Promise.resolve(tx.set(bytes("a"), bytes("b"))));
  // As after a kill: the files while the engine is open.
  const killed = `${folder}/killed`;
  Deno.mkdirSync(killed);
  for (const { name, isFile } of Deno.readDirSync(folder)) {
    if (isFile && !/-shm$|[.]lock$/.test(name)) {
      Deno.copyFileSync(`${folder}/${name}`, `${killed}/${name}`);
    }
  }
  await engine.close();
  for (const at of [path, `${killed}/store.sqlite`]) {
    const told: string[] = [];
    await openSqliteEngine({ path: at, onUpgraded: (copy) => told.push(copy) }).close();
    assert.deepEqual(told, []);
    assert.throws(() => Deno.statSync(`${at}-before-7`), Deno.errors.NotFound);
    assert.throws(() => Deno.statSync(`${at}-before-7.part`), Deno.errors.NotFound);
  }
  await Deno.remove(folder, { recursive: true });
});

Deno.test("a redo log without its store is refused, and nothing changes", async () => {
  await withKilled(async (_folder, path) => {
    Deno.removeSync(`${path}-wal`);
    const before = Deno.readFileSync(`${path}-redo1`);
    for (let attempt = 0; attempt < 2; attempt++) {
      await assert.rejects(countPairs(path), /There is no store in .* belongs to one/);
      assert.deepEqual(Deno.readFileSync(`${path}-redo1`), before);
    }
  });
});

/** What one commit did, in the earlier form of the redo log. */
interface OldRecord {
  readonly version: number;
  readonly cleared?: readonly string[];
  readonly pairs?: readonly string[];
}

function bytes(text: string): Bytes {
  return new TextEncoder().encode(text);
}

/**
 * Little-endian: length of the rest, 4 bytes; CRC-32 of version and rest, 4; version, 8. The
 * rest: number of cleared keys, 4; each key after its length, 2; pairs after their lengths, 2
 * and 4.
 */
function encodeOld({ version, cleared = [], pairs = [] }: OldRecord): Buffer {
  const number = (size: number, value: number) => {
    const buffer = Buffer.alloc(size);
    buffer.writeUIntLE(value, 0, Math.min(size, 6));
    return buffer;
  };
  const rest = [number(4, cleared.length)];
  for (const key of cleared) rest.push(number(2, key.length), Buffer.from(key));
  for (let at = 0; at < pairs.length; at += 2) {
    const [key, value] = [pairs[at]!, pairs[at + 1]!];
    rest.push(number(2, key.length), number(4, value.length), Buffer.from(key + value));
  }
  const checked = Buffer.concat([number(8, version), ...rest]);
  return Buffer.concat([number(4, checked.length - 8), number(4, crc32(checked)), checked]);
}

/** A store of format 4 at version 2, which has a and b, beside the files of its redo log. */
async function withOldStore(
  logs: readonly Uint8Array[],
  body: (path: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_upgrade_" });
  try {
    const path = `${folder}/daybook.sqlite`;
    const engine = openSqliteEngine({ path });
    for (const key of ["a", "b"]) {
      await engine.transact((tx) => Promise.resolve(tx.set(bytes(key), bytes("old"))));
    }
    await engine.close();
    const db = new DatabaseSync(path);
    db.exec("ALTER TABLE store DROP COLUMN redo; UPDATE store SET format = 4");
    db.close();
    for (const [index, log] of logs.entries()) Deno.writeFileSync(`${path}-redo${index + 1}`, log);
    await body(path);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** All pairs, and the number of commits. */
async function openOld(path: string): Promise<[pairs: string, version: number | undefined]> {
  const engine = openSqliteEngine({ path });
  try {
    const pairs = await engine.snapshot((tx) => tx.getRange(EVERYTHING));
    const text = (part: Bytes) => new TextDecoder().decode(part);
    const all = pairs.map(({ key, value }) => `${text(key)}=${text(value)}`).join(" ");
    return [all, engine.durableVersion()];
  } finally {
    await engine.close();
    assert.deepEqual(checkSqliteFile(path), []);
  }
}

const THIRD = encodeOld({ version: 3, cleared: ["a"], pairs: ["b", "new", "c", ""] });
const FOURTH = encodeOld({ version: 4, cleared: ["b"], pairs: ["d", "newer"] });

Deno.test("each commit of a log without a name is done as it was, whichever file has it", async () => {
  const known = encodeOld({ version: 2, cleared: ["b"] });
  for (const logs of [[THIRD, FOURTH], [FOURTH, THIRD], [Buffer.concat([known, THIRD, FOURTH])]]) {
    await withOldStore(logs, async (path) => {
      assert.deepEqual(await openOld(path), ["c= d=newer", 4]);
      assert.deepEqual(await openOld(path), ["c= d=newer", 4]);
    });
  }
});

Deno.test("a record of a log without a name that is torn was acknowledged to nobody", async () => {
  const torn = Buffer.from(FOURTH);
  torn[torn.length - 1]! ^= 1;
  for (const last of [torn, FOURTH.subarray(0, -1)]) {
    await withOldStore([Buffer.concat([THIRD, last])], async (path) => {
      assert.deepEqual(await openOld(path), ["b=new c=", 3]);
    });
  }
});

Deno.test("a log without a name that lacks a commit is refused, and nothing changes", async () => {
  await withOldStore([FOURTH], async (path) => {
    const before = Deno.readFileSync(path);
    const refusal = /has commits up to 2, and its logs .* go on with 4: .*not of one moment/;
    for (let attempt = 0; attempt < 2; attempt++) {
      assert.throws(() => openSqliteEngine({ path }), refusal);
      assert.deepEqual(Deno.readFileSync(path), before);
    }
    await Promise.resolve();
  });
});
