/**
 * SQL over projections as the service answers it: rows and types, limits, lag, shares, faults.
 */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../../src/domain/json.ts";
import { wrapEngine } from "../../../../src/kv/calls.ts";
import type { Engine } from "../../../../src/kv/engine.ts";
import { keys } from "../../../../src/store/keys.ts";
import { readReadyProjection } from "../../../../src/store/projections/projections.ts";
import { limits } from "../../../../src/domain/limits.ts";
import { orderWrite, uuid, valueOf } from "../../../support/service_fixture.ts";
import { settleProjections } from "../../../support/settle_projections.ts";
import {
  addInstance,
  deployProjection,
  ORDERS,
  queryReply,
  refusalText,
  withQueries,
} from "../../../support/projection_queries.ts";
import { until } from "../../../support/until.ts";

/** A query that finds a free process takes about ten milliseconds, more on a busy machine. */
const QUICK_MS_MAX = 250;
const ENDLESS =
  "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT max(n) FROM r";
const SUM = "SELECT count(*) AS n, sum(total) AS sum FROM orders";

function orders(count: number, state: JsonObject): [number, JsonObject][] {
  return Array.from({ length: count }, (_, number) => [number, state]);
}

Deno.test("values of each type of column are what the reference says", async () => {
  await withQueries(async ({ place, rows }) => {
    const full = {
      status: "open",
      total: 2,
      lines: 3,
      paid: false,
      placed_at: 86_400,
      tags: ["a"],
    };
    await place([[1, { ...full, note: true }], [2, { note: { a: null }, tags: "x", total: "2" }]]);
    assert.deepEqual(await rows("SELECT * FROM orders"), [
      {
        ...{ key: uuid(1), status: "open", total: 2, lines: 3, paid: 0 },
        ...{ placed_at: "1970-01-02T00:00:00.000Z", tags: '["a"]', note: 1 },
      },
      {
        ...{ key: uuid(2), status: null, total: null, lines: null, paid: null },
        ...{ placed_at: null, tags: '"x"', note: '{"a":null}' },
      },
    ]);
    const types = "SELECT typeof(total) AS a, typeof(lines) AS b, typeof(tags) AS c FROM orders";
    assert.deepEqual((await rows(types))[0], { a: "real", b: "integer", c: "text" });
    const inside = "SELECT value FROM orders o, json_each(tags) WHERE o.key = :key";
    assert.deepEqual(await rows(inside, { key: uuid(1) }), [{ value: "a" }]);
  });
});

Deno.test("a reply has columns, rows, their count, and says when there are more", async () => {
  await withQueries(async ({ place, service, tenant, query }) => {
    await place(orders(101, { lines: 1 }));
    const none = await queryReply(service, tenant, "SELECT key, lines FROM orders WHERE 0");
    assert.deepEqual(none, { columns: ["key", "lines"], rows: [], row_count: 0, truncated: false });
    const square = "SELECT a.key || b.key AS k FROM orders a, orders b";
    const most = await queryReply(service, tenant, square);
    assert.equal(most.row_count, limits.sqlRowsMax);
    assert.equal((most.rows as unknown[]).length, limits.sqlRowsMax);
    assert.equal(most.truncated, true);
    const exact = await queryReply(service, tenant, `${square} LIMIT ${limits.sqlRowsMax}`);
    assert.equal(exact.row_count, limits.sqlRowsMax);
    assert.equal(exact.truncated, false);
    const wide = "SELECT a.key || printf('%.*c', 100000, 'é') AS k FROM orders a";
    const cut = await queryReply(service, tenant, wide);
    assert.ok(cut.truncated === true && Number(cut.row_count) < 101 && Number(cut.row_count) > 20);
    assert.ok(JSON.stringify(cut).length <= limits.sqlReplyBytesMax + 1_000);
    const huge = await query("SELECT printf('%.*c', 4500000, '\"') AS k");
    assert.match(refusalText(huge), /One row is larger than 8 MiB/);
  });
});

Deno.test("a failure in the middle of a statement is told, however its rows are had", async () => {
  await withQueries(async ({ place, query }) => {
    await place([[1, { lines: 1 }], [2, { lines: 2 }], [3, { lines: 3 }]]);
    const failing = "CASE lines WHEN 3 THEN abs(-9223372036854775808) ELSE lines END";
    // The second statement cannot take a LIMIT at its end, so its rows are fetched one by one.
    for (
      const sql of [
        `SELECT ${failing} AS n FROM orders`,
        `SELECT ${failing} AS n FROM orders UNION ALL VALUES (4)`,
      ]
    ) {
      assert.match(refusalText(await query(sql)), /integer overflow/, sql);
    }
    const fine = await query("SELECT lines AS n FROM orders UNION ALL VALUES (4)");
    assert.ok(fine.ok);
  });
});

Deno.test("rows that do not fit into memory at once are cut off as others are", async () => {
  await withQueries(async ({ place, service, tenant }) => {
    await place(orders(100, { lines: 1 }));
    const sql = "SELECT a.key || b.key || printf('%.*c', 70000, 'x') AS k FROM orders a, orders b";
    const reply = await queryReply(service, tenant, sql);
    assert.equal(reply.truncated, true);
    assert.ok(Number(reply.row_count) > 50);
  });
});

Deno.test("writes that the views do not show yet are told as lag", async () => {
  await withQueries(async ({ service, tenant, place, host, rows }) => {
    await place([[1, { lines: 1 }]]);
    const sql = "SELECT sum(lines) AS n FROM orders";
    assert.deepEqual(await rows(sql), [{ n: 1 }]);
    const write = orderWrite(uuid(2), [{ type: "was_set", data: { lines: 5 } }]);
    valueOf(await service.data.writeEvents(tenant, write));
    const asked = service.sql.query(tenant, { sql, params: [] });
    const clock = setInterval(() => host.timeMs += 50, 5);
    const late = valueOf(await asked);
    clearInterval(clock);
    assert.ok(late.lag > 0);
    assert.match(new TextDecoder().decode(late.fields), /\{"n":1\}/);
    await settleProjections(service);
    const now = valueOf(await service.sql.query(tenant, { sql, params: [] }));
    assert.equal(now.lag, 0);
    assert.match(new TextDecoder().decode(now.fields), /\{"n":6\}/);
  });
});

/** An engine that reads the changes of a projection only when the test lets it. */
function holdingChanges(): { wrap: (engine: Engine) => Engine; prefix: string; go(): void } {
  const { promise, resolve: go } = Promise.withResolvers<void>();
  const held = { prefix: "none", go, wrap };
  function wrap(engine: Engine): Engine {
    return wrapEngine(engine, {
      snapshot: (body) =>
        engine.snapshot((tx) =>
          body({
            get: (key) => tx.get(key),
            async getRange(range, options) {
              if (range.begin.toHex().startsWith(held.prefix)) await promise;
              return await tx.getRange(range, options);
            },
            readVersion: () => tx.readVersion(),
          })
        ),
    });
  }
  return held;
}

Deno.test("a copy that has not followed its view in time is told as lag, though the view shows all", async () => {
  const held = holdingChanges();
  await withQueries(async ({ service, tenant, place, host, engine, rows }) => {
    await place(orders(3, { total: 1 }));
    assert.deepEqual(await rows(SUM), [{ n: 3, sum: 3 }]);
    await place([[1, { total: 10 }]]);
    const { number, version } = (await engine.snapshot((tx) =>
      readReadyProjection(tx, tenant.number, "orders")
    ))!;
    held.prefix = keys.rowChange(tenant.number, number, version).toHex();
    const asked = service.sql.query(tenant, { sql: SUM, params: [] });
    const clock = setInterval(() => host.timeMs += 50, 5);
    const late = valueOf(await asked);
    clearInterval(clock);
    assert.match(new TextDecoder().decode(late.fields), /\{"n":3,"sum":3\}/);
    assert.ok(late.lag > 0);
    held.go();
    const now = valueOf(await service.sql.query(tenant, { sql: SUM, params: [] }));
    assert.match(new TextDecoder().decode(now.fields), /\{"n":3,"sum":12\}/);
    assert.equal(now.lag, 0);
  }, { wrap: held.wrap });
});

Deno.test("instances that ask without end in all their environments leave others their turn", async () => {
  await withQueries(async (fixture) => {
    const { service, tenants } = fixture;
    const [second, good] = [
      await addInstance(fixture, "second"),
      await addInstance(fixture, "good"),
    ];
    await deployProjection(service, tenants.test, ORDERS);
    const each = limits.sqlWaitingPerTenantMax / 2 + 10;
    const flood = [tenants.production, tenants.test, second].flatMap((tenant) =>
      Array.from({ length: each }, (_, number) =>
        // A different text each time, so that none of them is found paused.
        service.sql.query(tenant, { sql: `${ENDLESS} -- ${number}`, params: [] }))
    );
    const sql = "SELECT count(*) AS n FROM orders";
    const waitsMs: number[] = [];
    for (let round = 0; round < 10; round++) {
      const startedMs = performance.now();
      const other = await service.sql.query(good, { sql, params: [] });
      assert.ok(other.ok, JSON.stringify(other));
      waitsMs.push(performance.now() - startedMs);
    }
    const ends = (await Promise.all(flood)).map((outcome) => refusalText(outcome).split(":")[0]);
    const counts = Map.groupBy(ends, (end) => end);
    assert.deepEqual([...counts.keys()].sort(), ["sql_timeout", "sql_unavailable"]);
    // The first may wait until an unknown tenant has made room and a process has started.
    const later = waitsMs.slice(2).sort((one, another) => one - another);
    assert.ok(later[Math.floor(later.length / 2)]! < QUICK_MS_MAX, `${waitsMs}`);
  }, { timeoutMs: 600 });
});

Deno.test("processes that are killed while they are idle are no loss", async () => {
  await withQueries(async ({ place, rows, folder }) => {
    await place([[1, { lines: 1 }]]);
    for (let round = 0; round < 3; round++) {
      assert.deepEqual(await rows("SELECT lines FROM orders"), [{ lines: 1 }]);
      const processes = processesWith(`--allow-read=${folder}`);
      assert.ok(processes.length >= 1);
      for (const pid of processes) Deno.kill(pid, "SIGKILL");
      await until(() => processes.every(isEnded), "the end of the processes");
    }
  });
});

Deno.test("a writer of copies that is killed while it fills leaves nothing wrong", async () => {
  await withQueries(async ({ place, query, folder, service }) => {
    await place(orders(3_000, { total: 1 }));
    const asked = query(SUM);
    await until(() => service.sql.measure().filling > 0, "the fill");
    for (const pid of processesWith(`--allow-write=${folder}`)) Deno.kill(pid, "SIGKILL");
    const first = await asked;
    const last = first.ok ? first : await query(SUM);
    assert.match(new TextDecoder().decode(valueOf(last).fields), /\{"n":3000,"sum":3000\}/);
  });
});

Deno.test("the first query of a view waits until its copy is full, longer than for late views", async () => {
  await withQueries(async ({ place, query, service, host }) => {
    await place(orders(3_000, { total: 1 }));
    const asked = query(SUM);
    await until(() => service.sql.measure().filling > 0, "the fill");
    host.timeMs += limits.sqlFillWaitMsMax - 1;
    assert.match(new TextDecoder().decode(valueOf(await asked).fields), /\{"n":3000,"sum":3000\}/);
  });
});

Deno.test("a query does not wait for a copy longer than its limit, and says how far it is", async () => {
  await withQueries(async ({ place, query, rows, service, host }) => {
    await place(orders(3_000, { total: 1 }));
    const asked = query(SUM);
    await until(() => service.sql.measure().filling > 0, "the fill");
    // Once for tables to be current, once for them to exist.
    for (let wait = 0; wait < 2; wait++) {
      host.timeMs += limits.sqlFillWaitMsMax;
      await new Promise((resolve) => setTimeout(resolve, 0));
    }
    const text = refusalText(await asked);
    assert.match(text, /^sql_unavailable: The copy .* is being filled: \d+ rows so far$/);
    await until(() => service.sql.measure().filling === 0, "the end of the fill");
    assert.deepEqual(await rows(SUM), [{ n: 3_000, sum: 3_000 }], "it was filled all the same");
  });
});

/** The processes of this test alone: they name its folder. */
function processesWith(argument: string): number[] {
  return Array.from(Deno.readDirSync("/proc"), ({ name }) => Number(name)).filter((pid) => {
    if (!Number.isInteger(pid)) return false;
    try {
      const words = Deno.readTextFileSync(`/proc/${pid}/cmdline`).split("\0");
      return words.includes(argument) && !isEnded(pid);
    } catch {
      return false;
    }
  });
}

function isEnded(pid: number): boolean {
  try {
    return /\) [ZX] /.test(Deno.readTextFileSync(`/proc/${pid}/stat`));
  } catch {
    return true;
  }
}
