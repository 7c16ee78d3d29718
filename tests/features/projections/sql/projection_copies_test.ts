/**
 * An SQL copy is never the truth: queries give what the projections have, or refuse. This holds
 * whatever happens to the copy's file.
 */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import type { JsonObject } from "../../../../src/domain/json.ts";
import { limits } from "../../../../src/domain/limits.ts";
import { trimRowChanges } from "../../../../src/store/projections/row_changes.ts";
import { encodeRow, setProjectionRow } from "../../../../src/store/projections/projection_rows.ts";
import { noteRowChange } from "../../../../src/store/projections/row_changes.ts";
import { catchUpCopy } from "../../../../src/features/projections/sql/catch_up_copy.ts";
import { newTenantCopy } from "../../../../src/features/projections/sql/tenant_copy.ts";
import { openProjectionCopies } from "../../../../src/features/projections/sql/projection_copies.ts";
import type { Engine } from "../../../../src/kv/engine.ts";
import type { CopyRequest, CopyResult } from "../../../../src/sql/copy_messages.ts";
import type { CopyWriter } from "../../../../src/sql/copy_writer.ts";
import { readReadyProjection } from "../../../../src/store/projections/projections.ts";
import { uuid, valueOf } from "../../../support/service_fixture.ts";
import { settleProjections } from "../../../support/settle_projections.ts";
import { until } from "../../../support/until.ts";
import {
  deployProjection,
  ORDER_SPEC,
  ORDERS,
  placeOrders,
  type QueryFixture,
  queryRows,
  refusalText,
  withQueries,
} from "../../../support/projection_queries.ts";

const SUM = "SELECT count(*) AS n, sum(total) AS sum FROM orders";
const HOUR_MS = limits.rowChangesSeconds * 1000;

function orders(count: number, total = 1): [number, JsonObject][] {
  return Array.from({ length: count }, (_, number) => [number, { status: "open", total }]);
}

function fileOf({ folder, tenant }: QueryFixture): string {
  return `${folder}/${tenant.number}.db`;
}

/** All bytes of the copy, including SQLite's WAL. */
function bytesOf(fixture: QueryFixture): string {
  const decoder = new TextDecoder("latin1");
  return ["", "-wal"].map((suffix) => {
    try {
      return decoder.decode(Deno.readFileSync(fileOf(fixture) + suffix));
    } catch {
      return "";
    }
  }).join("");
}

Deno.test("a table follows its view: rows that are new, changed and removed", async () => {
  await withQueries(async ({ place, rows, service, tenant, engine }) => {
    await place(orders(3));
    assert.deepEqual(await rows(SUM), [{ n: 3, sum: 3 }]);
    await place([[1, { total: 10 }], [7, { total: 5 }]]);
    assert.deepEqual(await rows(SUM), [{ n: 4, sum: 17 }]);
    const keys = await rows("SELECT key FROM orders");
    assert.deepEqual(keys.map(({ key }) => key), [0, 1, 2, 7].map(uuid), "in the order of keys");
    const projection = await engine.snapshot((tx) =>
      readReadyProjection(tx, tenant.number, "orders")
    );
    assert.ok(projection !== undefined && service.sql.measure().tables === 1);
  });
});

Deno.test("a table takes more changes than one message carries, in one step", async () => {
  await withQueries(async ({ place, rows }) => {
    await place(orders(1_300));
    assert.deepEqual(await rows(SUM), [{ n: 1_300, sum: 1_300 }]);
    await place(orders(1_300, 2));
    assert.deepEqual(await rows(SUM), [{ n: 1_300, sum: 2_600 }]);
  });
});

Deno.test("a table takes changes of large rows, of which a message has room for few", async () => {
  await withQueries(async ({ place, rows }) => {
    await place(orders(9));
    assert.deepEqual(await rows(SUM), [{ n: 9, sum: 9 }]);
    const note = "x".repeat(90_000);
    await place(Array.from({ length: 9 }, (_, number) => [number, { total: 2, note }]));
    assert.deepEqual(await rows(SUM), [{ n: 9, sum: 18 }]);
  });
});

Deno.test("what queries see of two views never goes back while both change", async () => {
  await withQueries(async ({ place, rows, service, tenant, host }) => {
    await deployProjection(service, tenant, { ...ORDERS, name: "twins" });
    await place(orders(40));
    // Queries wait for the projections by this clock.
    const clock = setInterval(() => host.timeMs += 5, 5);
    const seen: JsonObject[] = [];
    let isOver = false;
    async function ask(): Promise<void> {
      while (!isOver) {
        const sql = "SELECT (SELECT sum(total) FROM orders) AS a, (SELECT sum(total) FROM twins) b";
        const [found] = await rows(sql);
        const last = seen.at(-1) ?? { a: 0, b: 0 };
        assert.ok(found!.a! >= last.a! && found!.b! >= last.b!, JSON.stringify([last, found]));
        seen.push(found!);
      }
    }
    const asking = ask();
    for (let round = 2; round < 12; round++) {
      await place(orders(40, round));
      // Most changes happen during an answer; some wait for an answer, however fast they are.
      const isAnswered = () => seen.length >= round / 3;
      if (round % 3 === 0) await Promise.race([asking, until(isAnswered, "an answer")]);
    }
    isOver = true;
    await asking;
    clearInterval(clock);
    assert.ok(seen.length > 2);
    const join =
      "SELECT sum(o.total) AS a, sum(t.total) AS b FROM orders o JOIN twins t USING (key)";
    assert.deepEqual(await rows(join), [{ a: 440, b: 440 }]);
  });
});

Deno.test("a projection that is deployed anew has its new columns, one that is deleted is gone", async () => {
  await withQueries(async ({ place, rows, query, service, tenant }) => {
    await place(orders(3));
    assert.deepEqual(await rows(SUM), [{ n: 3, sum: 3 }]);
    const select = { status: "$.order.status" };
    await deployProjection(service, tenant, { ...ORDERS, select });
    assert.deepEqual(await rows("SELECT count(status) AS n FROM orders"), [{ n: 3 }]);
    assert.match(refusalText(await query(SUM)), /no such column: total/);
    valueOf(await service.projections.remove(tenant, "orders"));
    await settleProjections(service);
    assert.match(refusalText(await query(SUM)), /no such table: orders/);
    await deployProjection(service, tenant, ORDERS);
    assert.deepEqual(await rows(SUM), [{ n: 3, sum: 3 }]);
  });
});

/** What may happen to a file between two processes. */
const DAMAGES: Record<string, (file: string) => void> = {
  "is removed": (file) => Deno.removeSync(file),
  "is empty": (file) => Deno.truncateSync(file),
  "is cut": (file) => Deno.truncateSync(file, 5_000),
  "is something else": (file) => Deno.writeTextFileSync(file, "these are no rows\n".repeat(4_000)),
  "has a damaged beginning": (file) => overwrite(file, 0, 100),
  "has damaged pages": (file) => overwrite(file, 4_096, 20_000),
  "is of another format": (file) => change(file, "PRAGMA user_version = 999"),
  "is of another owner": (file) => change(file, "UPDATE _about SET owner = 'somebody/else'"),
  "has lost a table": (file) => change(file, "DROP TABLE orders"),
  "has lost its list of tables": (file) => change(file, "DELETE FROM _views"),
  "has an unfinished table": (file) => change(file, "CREATE TABLE _filling_1 (a)"),
};

function overwrite(file: string, at: number, length: number): void {
  using opened = Deno.openSync(file, { write: true });
  opened.seekSync(at, Deno.SeekMode.Start);
  opened.writeSync(new Uint8Array(length).fill(0x5a));
}

function change(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}

/** Answers within a few tries: the first may report that the copy is being made. */
async function sumAgain({ query, rows }: QueryFixture): Promise<JsonObject> {
  for (let tries = 0; tries < 5; tries++) {
    const outcome = await query(SUM);
    if (outcome.ok) return (await rows(SUM))[0]!;
    assert.match(refusalText(outcome), /^sql_unavailable: /);
  }
  return {};
}

for (const [what, damage] of Object.entries(DAMAGES)) {
  Deno.test(`a copy that ${what} between two processes is made anew`, async () => {
    await withQueries(async (fixture) => {
      await fixture.place(orders(400));
      assert.deepEqual(await fixture.rows(SUM), [{ n: 400, sum: 400 }]);
      await fixture.restart(() => damage(fileOf(fixture)));
      assert.deepEqual(await sumAgain(fixture), { n: 400, sum: 400 });
    });
  });
}

for (const what of ["is removed", "is something else", "has damaged pages", "is empty"]) {
  Deno.test(`a copy that ${what} while it is open is made anew`, async () => {
    await withQueries(async (fixture) => {
      await fixture.place(orders(400));
      assert.deepEqual(await fixture.rows(SUM), [{ n: 400, sum: 400 }]);
      for (const suffix of ["-wal", "-shm"]) Deno.removeSync(fileOf(fixture) + suffix);
      DAMAGES[what]!(fileOf(fixture));
      assert.deepEqual(await sumAgain(fixture), { n: 400, sum: 400 });
    });
  });
}

Deno.test("a copy goes on where it was after a restart", async () => {
  await withQueries(async (fixture) => {
    await fixture.place(orders(30));
    assert.deepEqual(await fixture.rows(SUM), [{ n: 30, sum: 30 }]);
    const made = Deno.statSync(fileOf(fixture)).ino;
    await fixture.restart(() => {});
    await fixture.place(orders(30, 2));
    assert.deepEqual(await fixture.rows(SUM), [{ n: 30, sum: 60 }]);
    assert.equal(Deno.statSync(fileOf(fixture)).ino, made);
  });
});

Deno.test("a copy whose changes are not kept any more is filled anew", async () => {
  await withQueries(async ({ place, rows, engine, tenant, host }) => {
    await place(orders(5));
    assert.deepEqual(await rows(SUM), [{ n: 5, sum: 5 }]);
    await place([[1, { total: 7 }], [9, { total: 1 }]]);
    const projection = (await engine.snapshot((tx) =>
      readReadyProjection(tx, tenant.number, "orders")
    ))!;
    const trimmed = await engine.transact((tx) =>
      trimRowChanges(tx, projection, host.nowMs() + HOUR_MS, 1_000)
    );
    assert.ok(trimmed >= 2);
    assert.deepEqual(await rows(SUM), [{ n: 6, sum: 12 }]);
  });
});

Deno.test("a copy that is ahead of a store brought back from a backup is filled anew", async () => {
  await withQueries(async (fixture) => {
    await fixture.place(orders(5));
    assert.deepEqual(await fixture.rows(SUM), [{ n: 5, sum: 5 }]);
    await fixture.restart(() =>
      change(
        fileOf(fixture),
        "UPDATE _views SET stamp = 'ffffffffffffffffffff'; UPDATE orders SET total = 99",
      )
    );
    assert.deepEqual(await sumAgain(fixture), { n: 5, sum: 5 });
  });
});

Deno.test("a folder that cannot be made is told, and nothing else is harmed", async () => {
  await withQueries(async ({ place, query, rows, folder, service, tenant, host }) => {
    await place(orders(2));
    Deno.writeTextFileSync(folder, "a file is in the way");
    const text = refusalText(await query(SUM));
    assert.equal(
      text,
      "sql_unavailable: This server cannot keep the copy of the views that SQL needs",
    );
    assert.ok(host.lines.some(({ level }) => level === "error"));
    const page = valueOf(await service.projections.listRows(tenant, "orders", { limit: 10 }));
    assert.equal(page.data.length, 2);
    Deno.removeSync(folder);
    assert.deepEqual(await rows(SUM), [{ n: 2, sum: 2 }]);
  });
});

Deno.test("what is removed from a view is in no byte of the copy after a sweep", async () => {
  await withQueries(async (fixture) => {
    const { place, rows, service } = fixture;
    const word = "a-word-that-is-to-be-forgotten";
    await place([[1, { note: word.repeat(50) }], [2, { note: "kept" }]]);
    assert.equal((await rows("SELECT note FROM orders")).length, 2);
    await service.sql.sweepCopies();
    assert.ok(bytesOf(fixture).includes(word));
    await place([[1, { note: "gone" }]]);
    await service.sql.sweepCopies();
    assert.ok(!bytesOf(fixture).includes(word));
    assert.ok(bytesOf(fixture).includes("kept"));
  });
});

Deno.test("a copy that nobody asks of for an hour is removed, and made anew when asked", async () => {
  await withQueries(async (fixture) => {
    await fixture.place(orders(2));
    assert.deepEqual(await fixture.rows(SUM), [{ n: 2, sum: 2 }]);
    fixture.host.timeMs += HOUR_MS - 1;
    await fixture.service.sql.sweepCopies();
    assert.equal(fixture.service.sql.measure().copies, 1);
    fixture.host.timeMs += 2;
    await fixture.service.sql.sweepCopies();
    assert.equal(fixture.service.sql.measure().copies, 0);
    assert.deepEqual([...Deno.readDirSync(fixture.folder)], []);
    assert.deepEqual(await fixture.rows(SUM), [{ n: 2, sum: 2 }]);
  });
});

Deno.test("files that a process before has left are removed when nobody asks of them", async () => {
  await withQueries(async (fixture) => {
    Deno.mkdirSync(fixture.folder);
    Deno.writeTextFileSync(`${fixture.folder}/77.db`, "left");
    Deno.writeTextFileSync(`${fixture.folder}/77.db-wal`, "left");
    Deno.writeTextFileSync(`${fixture.folder}/notes.txt`, "not ours");
    await fixture.service.sql.sweepCopies();
    assert.equal([...Deno.readDirSync(fixture.folder)].length, 3);
    fixture.host.timeMs += HOUR_MS;
    await fixture.service.sql.sweepCopies();
    const names = Array.from(Deno.readDirSync(fixture.folder), ({ name }) => name);
    assert.deepEqual(names, ["notes.txt"]);
  });
});

Deno.test("copies of more environments than are open at once all answer", async () => {
  await withQueries(async ({ access, service }) => {
    const tenants = [];
    for (let number = 0; number < 7; number++) {
      const { id } = valueOf(await access.createInstance(`shop-${number}`, "unlimited"));
      for (const environment of ["production", "staging", "test"] as const) {
        const tenant = valueOf(await access.resolveTenant({ subject: "t" }, id, environment));
        const spec = { spec: ORDER_SPEC, force: false, dryRun: false };
        valueOf(await service.specs.deploySpec(tenant, spec));
        await deployProjection(service, tenant, ORDERS);
        await placeOrders(service, tenant, [[1, { total: tenants.length }]]);
        tenants.push(tenant);
      }
    }
    for (let round = 0; round < 2; round++) {
      for (const [number, tenant] of tenants.entries()) {
        const sql = "SELECT total FROM orders";
        assert.deepEqual(await queryRows(service, tenant, sql), [{ total: number + round }]);
        await placeOrders(service, tenant, [[1, { total: number + 1 }]]);
      }
    }
    assert.equal(service.sql.measure().copies, 21);
  });
});

/** A writer that tells `seen` of each request and does nothing else. */
function deafWriter(seen: (request: CopyRequest) => void): CopyWriter {
  const ask = async (request: CopyRequest): Promise<CopyResult> => {
    seen(request);
    // Others that may begin to fill have the time to ask for it.
    if (request.kind === "begin_fill") await new Promise((resolve) => setTimeout(resolve, 20));
    return request.kind === "open" ? { kind: "opened", tables: [] } : { kind: "done" };
  };
  return { ask, processIds: () => [], close: () => Promise.resolve() };
}

Deno.test("of the tables that a query needs, at most two are filled at the same time", async () => {
  await withQueries(async ({ place, service, tenant, engine, host, folder }) => {
    const names = ["orders", "a", "b", "c", "d"];
    for (const name of names.slice(1)) {
      await deployProjection(service, tenant, { ...ORDERS, name });
    }
    await place(orders(3));
    let under = 0;
    let most = 0;
    const writer = deafWriter(({ kind }) => {
      if (kind === "begin_fill") most = Math.max(most, ++under);
      if (kind === "end_fill") under--;
    });
    const copies = openProjectionCopies({ engine, host, writer, folder });
    const laterMs = host.monotonicMs() + HOUR_MS;
    const patience = { currentMs: laterMs, filledMs: laterMs };
    const followed = await copies.follow(tenant, new Set(names), patience);
    assert.equal(followed.kind, "ready");
    assert.ok(most <= 2, `${most} at the same time`);
  });
});

/** The same engine; `seen` is told how many pairs each range of a snapshot has. */
function watchedRanges(engine: Engine, seen: (pairs: number) => void): Engine {
  return {
    ...engine,
    snapshot: (body, options) =>
      engine.snapshot((tx) => {
        const getRange: typeof tx.getRange = async (range, wanted) => {
          const pairs = await tx.getRange(range, wanted);
          seen(pairs.length);
          return pairs;
        };
        return body({ get: (key) => tx.get(key), readVersion: () => tx.readVersion(), getRange });
      }, options),
  };
}

Deno.test("a message that is full of the changes of one table reads one change of each other", async () => {
  await withQueries(async ({ service, tenant, engine, host, folder }) => {
    const names = ["orders", "a", "b"];
    for (const name of names.slice(1)) {
      await deployProjection(service, tenant, { ...ORDERS, name });
    }
    const followers = [];
    for (const name of names) {
      const projection = (await engine.snapshot((tx) =>
        readReadyProjection(tx, tenant.number, name)
      ))!;
      const { number, version } = projection;
      followers.push({ projection, table: { name, number, version, stamp: "" } });
      for (let n = 0; n < 20; n++) {
        const rest = { position: 1, generation: 0, updatedAt: 1, sources: [], includes: [] };
        const dataJson = JSON.stringify({ note: "x".repeat(60_000) });
        await engine.transact((tx) => {
          const row = encodeRow({ key: uuid(n), ...rest, dataJson });
          setProjectionRow(tx, projection, undefined, row);
          noteRowChange(tx, projection, uuid(n), host.nowMs());
          return Promise.resolve();
        });
      }
    }
    const read: number[] = [];
    const messages: number[] = [];
    const writer = deafWriter(() => messages.push(read.length));
    const world = { engine: watchedRanges(engine, (pairs) => read.push(pairs)), host, writer };
    const copy = newTenantCopy(writer, tenant, `${folder}/1.db`);
    assert.equal((await catchUpCopy(world, copy, followers)).kind, "current");
    assert.deepEqual(read.slice(0, messages[0]), [20, 1, 1]);
    assert.ok(messages.length > 10, "each table takes a few messages");
  });
});
