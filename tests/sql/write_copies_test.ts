/** Writes to a copy are whole or absent, and only go to the version they are meant for. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { CopyStep, CopyTask } from "../../src/sql/copy_messages.ts";
import { newCopyKeeper } from "../../src/sql/write_copies.ts";

const PROJECTION = {
  name: "orders",
  number: 1,
  version: 1,
  columns: [{ name: "n", type: "any" }],
} as const;
const NEXT = { ...PROJECTION, version: 2 };

interface Copy {
  readonly path: string;
  ask(task: CopyTask, rows?: unknown): CopyStep;
  read(sql: string): unknown[];
  open(): unknown;
}

function withCopy(test: (copy: Copy) => void): void {
  const folder = Deno.makeTempDirSync();
  const path = `${folder}/1.db`;
  const keeper = newCopyKeeper();
  const ask = (task: CopyTask, rows?: unknown) => {
    const text = rows === undefined ? "" : JSON.stringify(rows);
    return keeper.answer({ message: { path, ...task }, body: new TextEncoder().encode(text) });
  };
  try {
    test({
      path,
      ask,
      open: () => ask({ kind: "open", owner: "me", isFirst: true }),
      read(sql) {
        const database = new DatabaseSync(path, { readOnly: true });
        const rows = database.prepare(sql).all().map((row) => Object.values(row));
        database.close();
        return rows;
      },
    });
    ask({ kind: "remove" });
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

function fill(
  { ask }: Copy,
  rows: unknown[],
  projection: typeof PROJECTION | typeof NEXT = PROJECTION,
): CopyStep {
  const token = `t${projection.version}`;
  ask({ kind: "begin_fill", token, projection });
  ask({ kind: "fill", token, projection }, rows);
  return ask({ kind: "end_fill", token, projection, stamp: "01", rows: rows.length });
}

function apply(
  { ask }: Copy,
  [from, to]: [string, string],
  rows: unknown[],
  {
    removed = [] as string[],
    projection = PROJECTION as typeof PROJECTION | typeof NEXT,
    isFirst = true,
    isLast = true,
  } = {},
): string {
  const changes = [{ projection, from, to, removed }];
  return ask({ kind: "apply", changes, isFirst, isLast }, [rows]).kind;
}

Deno.test("a table is seen when it is full, with its stamp, and not before", () => {
  withCopy((copy) => {
    assert.deepEqual(copy.open(), { kind: "opened", tables: [] });
    copy.ask({ kind: "begin_fill", token: "x", projection: PROJECTION });
    copy.ask({ kind: "fill", token: "x", projection: PROJECTION }, [["b", { n: 2 }], ["a", {
      n: "1",
    }]]);
    assert.deepEqual(copy.read("SELECT * FROM _views"), []);
    const end = {
      kind: "end_fill",
      token: "x",
      projection: PROJECTION,
      stamp: "07",
      rows: 2,
    } as const;
    assert.deepEqual(copy.ask(end), { kind: "done" });
    assert.deepEqual(copy.read("SELECT * FROM orders"), [["a", "1"], ["b", 2]]);
    const table = { name: "orders", number: 1, version: 1, stamp: "07" };
    assert.deepEqual(copy.open(), { kind: "opened", tables: [table] });
  });
});

Deno.test("a table that lacks rows that were sent takes no name", () => {
  withCopy((copy) => {
    copy.open();
    copy.ask({ kind: "begin_fill", token: "x", projection: PROJECTION });
    const end = {
      kind: "end_fill",
      token: "x",
      projection: PROJECTION,
      stamp: "07",
      rows: 1,
    } as const;
    assert.equal(copy.ask(end).kind, "moved");
    assert.deepEqual(copy.read("SELECT * FROM _views"), []);
  });
});

Deno.test("changes go onto the stamp and version they are for, and onto no other", () => {
  withCopy((copy) => {
    copy.open();
    fill(copy, [["a", { n: 1 }], ["b", { n: 2 }]]);
    assert.equal(
      apply(copy, ["01", "02"], [["a", { n: 5 }], ["c", {}]], { removed: ["b"] }),
      "done",
    );
    assert.deepEqual(copy.read("SELECT * FROM orders"), [["a", 5], ["c", null]]);
    assert.equal(apply(copy, ["01", "03"], [["a", { n: 6 }]]), "moved");
    assert.equal(apply(copy, ["02", "03"], [["a", { n: 6 }]], { projection: NEXT }), "moved");
    assert.deepEqual(copy.read("SELECT n FROM orders WHERE key = 'a'"), [[5]]);
    assert.equal(fill(copy, [["z", { n: 9 }]], NEXT).kind, "done");
    assert.deepEqual(copy.read("SELECT * FROM orders"), [["z", 9]]);
    assert.equal(copy.ask({ kind: "drop", names: ["orders"] }).kind, "done");
    assert.equal(apply(copy, ["01", "04"], []), "moved");
  });
});

Deno.test("changes in several messages are one transaction, which an end in the middle undoes", () => {
  withCopy((copy) => {
    copy.open();
    fill(copy, [["a", { n: 1 }]]);
    assert.equal(apply(copy, ["01", "02"], [["a", { n: 2 }]], { isLast: false }), "done");
    assert.deepEqual(copy.read("SELECT n FROM orders"), [[1]]);
    assert.equal(apply(copy, ["02", "03"], [["b", { n: 3 }]], { isFirst: false }), "done");
    assert.deepEqual(copy.read("SELECT n FROM orders"), [[2], [3]]);
    assert.equal(apply(copy, ["03", "04"], [["a", { n: 9 }]], { isLast: false }), "done");
    // Started again, as by a process that knows nothing of it.
    assert.equal(apply(copy, ["03", "05"], [["a", { n: 8 }]]), "moved");
    assert.equal(apply(copy, ["03", "05"], [["a", { n: 8 }]]), "done");
    assert.deepEqual(copy.read("SELECT n FROM orders"), [[8], [3]]);
    assert.equal(apply(copy, ["05", "06"], [], { isFirst: false }), "moved");
  });
});

Deno.test("a file is of mode 0600, and one that cannot be written fails with a reason", () => {
  withCopy((copy) => {
    copy.open();
    assert.equal(Deno.statSync(copy.path).mode! & 0o777, 0o600);
    const keeper = newCopyKeeper();
    const message = { path: "/nowhere/1.db", kind: "open", owner: "me", isFirst: true } as const;
    const result = keeper.answer({ message, body: new Uint8Array(0) });
    assert.equal(result.kind, "failed");
  });
});

Deno.test("a request that fails leaves the tables as they were", () => {
  withCopy((copy) => {
    copy.open();
    fill(copy, [["a", { n: 1 }]]);
    const result = copy.ask({ kind: "fill", token: "never begun", projection: PROJECTION }, [["b", {
      n: 2,
    }]]);
    assert.equal(result.kind, "failed");
    assert.deepEqual(copy.read("SELECT n FROM orders"), [[1]]);
    assert.equal(apply(copy, ["01", "02"], [["a", { n: 2 }]]), "done");
  });
});

Deno.test("a table of 2,500 rows is gone at once, and its rows are removed 1,000 at a time", () => {
  withCopy((copy) => {
    copy.open();
    const rows = Array.from({ length: 2_500 }, (_, n) => [`k${n}`, { n }]);
    fill(copy, rows);
    const dropping = copy.ask({ kind: "drop", names: ["orders"] });
    assert.equal(dropping.kind, "more");
    assert.deepEqual(copy.read("SELECT name FROM _views"), []);
    assert.deepEqual(copy.read("SELECT count(*) FROM _filling_dropped_0"), [[1_500]]);
    const further = [1, 2].map(() => copy.ask({ kind: "drop", names: [] }).kind);
    assert.deepEqual(further, ["more", "done"]);
    const left = copy.read("SELECT name FROM sqlite_schema WHERE name LIKE '_filling%'");
    assert.deepEqual(left, []);
  });
});

Deno.test("a table that takes the place of a large one has it removed a part at a time", () => {
  withCopy((copy) => {
    copy.open();
    fill(copy, Array.from({ length: 1_000 }, (_, n) => [`k${n}`, { n }]));
    assert.equal(fill(copy, [["a", { n: 1 }]], NEXT).kind, "more");
    assert.deepEqual(copy.read("SELECT version FROM _views"), [[2]]);
    assert.deepEqual(copy.read("SELECT count(*) FROM orders"), [[1]]);
    assert.equal(copy.ask({ kind: "drop", names: [] }).kind, "done");
  });
});
