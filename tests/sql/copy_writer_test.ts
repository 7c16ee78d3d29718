/** The process that writes copies, and what happens when its disk is full. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { limits } from "../../src/domain/limits.ts";
import { denoCommand, type RunnerCommand } from "../../src/runners/runner_process.ts";
import { openCopyWriter } from "../../src/sql/copy_writer.ts";

const PROJECTION = {
  name: "orders",
  number: 1,
  version: 1,
  columns: [{ name: "n", type: "any" }],
} as const;
const TOKEN = "t";
/** In blocks of 512 bytes: no file of the process grows beyond one mebibyte. */
const FILE_BLOCKS_MAX = 2_048;

/** The usual program, for which every disk is small. */
function onSmallDisk(folder: string): RunnerCommand {
  const program = new URL("../../src/sql/copy_main.ts", import.meta.url);
  const { path, args: [...args] } = denoCommand(
    program,
    {
      engineFlags: ["--max-old-space-size=128"],
      memoryBytesMax: limits.sqlProcessBytesMax,
      permissions: { read: folder, write: folder },
    },
  );
  // The runtime's own code cache may be larger than that.
  args.splice(args.indexOf("run") + 1, 0, "--no-code-cache");
  const script = `ulimit -f ${FILE_BLOCKS_MAX}; exec "$0" "$@"`;
  return { path: "/bin/sh", args: ["-c", script, path, ...args] };
}

Deno.test("a writer that meets the end of its disk loses its request, and goes on anew", async () => {
  const folder = await Deno.makeTempDir();
  const path = `${folder}/1.db`;
  const writer = openCopyWriter({ folder, command: onSmallDisk(folder), onFault() {} });
  const open = () => writer.ask({ path, kind: "open", owner: "me", isFirst: true });
  try {
    assert.equal((await open()).kind, "opened");
    await writer.ask({ path, kind: "begin_fill", token: TOKEN, projection: PROJECTION });
    await writer.ask(
      { path, kind: "fill", token: TOKEN, projection: PROJECTION },
      '[["a",{"n":1}]]',
    );
    const end = {
      kind: "end_fill",
      token: TOKEN,
      projection: PROJECTION,
      stamp: "01",
      rows: 1,
    } as const;
    assert.equal((await writer.ask({ path, ...end })).kind, "done");
    const rows = Array.from({ length: 40 }, (_, n) => [`k${n}`, { n: "x".repeat(100_000) }]);
    const changes = [{ projection: PROJECTION, from: "01", to: "02", removed: [] }];
    const apply = { kind: "apply", changes, isFirst: true, isLast: true } as const;
    const lost = await writer.ask({ path, ...apply }, JSON.stringify([rows]));
    assert.ok(lost.kind === "moved" || lost.kind === "failed", lost.kind);
    const tables = [{ name: "orders", number: 1, version: 1, stamp: "01" }];
    const opened = await open();
    assert.ok(opened.kind === "opened");
    assert.deepEqual(opened.tables, tables);
    const database = new DatabaseSync(path);
    assert.equal(database.prepare("SELECT count(*) AS n FROM orders").get()!.n, 1);
    database.close();
  } finally {
    await writer.close();
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("pages of a table that is filled let all else go first, and get on all the same", async () => {
  const folder = await Deno.makeTempDir();
  const writer = openCopyWriter({ folder, onFault() {} });
  const [filled, other] = [`${folder}/1.db`, `${folder}/2.db`];
  const done: string[] = [];
  try {
    for (const path of [filled, other]) {
      await writer.ask({ path, kind: "open", owner: path, isFirst: true });
    }
    await writer.ask({ path: filled, kind: "begin_fill", token: TOKEN, projection: PROJECTION });
    const ask = async (name: string, path: string, kind: "fill" | "tidy") => {
      const task = kind === "fill" ? { kind, token: TOKEN, projection: PROJECTION } : { kind };
      const result = await writer.ask({ path, ...task }, kind === "fill" ? "[]" : undefined);
      assert.equal(result.kind, "done");
      done.push(name);
    };
    const fills = Array.from({ length: 5 }, (_, n) => ask(`fill ${n}`, filled, "fill"));
    const others = Array.from({ length: 20 }, (_, n) => ask(`other ${n}`, other, "tidy"));
    await Promise.all([...fills, ...others]);
  } finally {
    await writer.close();
    await Deno.remove(folder, { recursive: true });
  }
  // Up to eight requests of others come before each page, as long as there are others.
  const gaps = done.join().split(/,?fill [0-9],?/).map((gap) => gap.split(",").filter(Boolean));
  const [first, second, ...rest] = gaps.map((gap) => gap.length);
  assert(first! <= 8, `${first}`);
  assert.equal(second, 8);
  assert.equal(first! + second! + rest.reduce((sum, gap) => sum + gap, 0), 20);
  const fills = done.filter((name) => name.startsWith("fill"));
  assert.deepEqual(fills, [0, 1, 2, 3, 4].map((n) => `fill ${n}`));
});

Deno.test("a large table that is dropped lets the requests of other copies through", async () => {
  const folder = await Deno.makeTempDir();
  const writer = openCopyWriter({ folder, onFault() {} });
  const [large, other] = [`${folder}/1.db`, `${folder}/2.db`];
  const done: string[] = [];
  try {
    for (const path of [large, other]) {
      await writer.ask({ path, kind: "open", owner: path, isFirst: true });
    }
    const filling = { path: large, token: TOKEN, projection: PROJECTION };
    await writer.ask({ ...filling, kind: "begin_fill" });
    const rows = Array.from({ length: 5_000 }, (_, n) => [`k${n}`, {}]);
    await writer.ask({ ...filling, kind: "fill" }, JSON.stringify(rows));
    const tidy = async (path: string, name: string) => {
      assert.equal((await writer.ask({ path, kind: "tidy" })).kind, "done");
      done.push(name);
    };
    const drop = async () => {
      const names = [`_filling_${TOKEN}`];
      assert.equal((await writer.ask({ path: large, kind: "drop", names })).kind, "done");
      done.push("drop");
    };
    await Promise.all([drop(), tidy(other, "a"), tidy(other, "b"), tidy(other, "c")]);
    assert.deepEqual(done, ["a", "b", "c", "drop"]);
  } finally {
    await writer.close();
    await Deno.remove(folder, { recursive: true });
  }
});
