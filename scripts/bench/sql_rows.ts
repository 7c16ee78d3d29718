/**
 * The rows about SQL over projections. They measure filling the copy from a real server's
 * projections, the smallest query on it, and grouping a million rows in a copy that is made
 * here.
 */

import type { ServerProcess } from "../../tests/support/server_process.ts";
import { openCopyWriter } from "../../src/sql/copy_writer.ts";
import { openQueryPool, type QueryPool } from "../../src/sql/query_pool.ts";
import { processorMicros } from "./machine.ts";
import type { Target } from "./server_measures.ts";
import type { Row } from "./table.ts";

export interface SqlBench {
  readonly server: ServerProcess;
  readonly target: Target;
  /** Rows of the projection `accounts`. */
  readonly rows: number;
  readonly add: (row: Row) => void;
}

const GROUPED_ROWS = 1_000_000;
const GROUPS = 100;
const PAGE_ROWS = 2_000;
const REPEATS = 5;
const SMALL_QUERIES = 200;
const PATIENCE_MS = 120_000;
const GROUPING = "SELECT n, count(*) AS count, sum(total) AS sum FROM sales GROUP BY n";

export async function measureQueries(bench: SqlBench): Promise<void> {
  await measureFilling(bench);
  await measureSmallQueries(bench);
  await measureGrouping(bench);
}

async function ask({ port, authorization = "" }: Target, sql: string): Promise<Response> {
  return await fetch(`http://127.0.0.1:${port}/_projections/query`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({ sql }),
  });
}

/** From the first query, which finds no copy, to the first answer. */
async function measureFilling({ server, target, rows, add }: SqlBench): Promise<void> {
  const sql = "SELECT count(*) AS n, sum(bookings) AS bookings FROM accounts";
  const before = processorMicros(server.pid);
  const startedMs = performance.now();
  for (;;) {
    const reply = await ask(target, sql);
    const text = await reply.text();
    if (reply.ok) break;
    const isOver = performance.now() - startedMs > PATIENCE_MS;
    if (reply.status !== 503 || isOver) throw new Error(`the query: ${reply.status} ${text}`);
  }
  const seconds = (performance.now() - startedMs) / 1000;
  const micros = (processorMicros(server.pid) - before) / rows;
  add({
    name: "SQL: filling the copy",
    value: rows / seconds,
    unit: "rows/s",
    note: `${rows.toLocaleString("en-US")} rows; ${micros.toFixed(1)} us of the server a row`,
  });
}

async function measureSmallQueries({ server, target, add }: SqlBench): Promise<void> {
  const before = processorMicros(server.pid);
  const startedMs = performance.now();
  for (let n = 0; n < SMALL_QUERIES; n++) {
    const reply = await ask(target, "SELECT * FROM accounts LIMIT 1");
    if (!reply.ok) throw new Error(`the query: ${reply.status} ${await reply.text()}`);
    await reply.body?.cancel();
  }
  const ms = (performance.now() - startedMs) / SMALL_QUERIES;
  const micros = (processorMicros(server.pid) - before) / SMALL_QUERIES;
  add({
    name: "SQL: one row",
    value: ms,
    unit: "ms",
    note: `one after the other; ${micros.toFixed(0)} us of the server each`,
  });
}

/** The median of several runs, in the processes that a server would use. */
async function measureGrouping({ add }: SqlBench): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_bench_sql_" });
  const pool = openQueryPool({ runners: 1, folder, onFault: fail });
  try {
    const path = `${folder}/1.db`;
    const filledMs = await fillSales(folder, path);
    const times: number[] = [];
    await timeGrouping(pool, path);
    const [pid] = pool.measure().processIds;
    const before = processorMicros(pid!);
    for (let n = 0; n < REPEATS; n++) times.push(await timeGrouping(pool, path));
    const cpuSeconds = (processorMicros(pid!) - before) / REPEATS / 1e6;
    times.sort((a, b) => a - b);
    add({
      name: "SQL: group 1,000,000 rows",
      value: times[REPEATS >> 1]! / 1000,
      unit: "s",
      target: { below: 1 },
      note: `count and sum in ${GROUPS} groups; ${cpuSeconds.toFixed(2)} s of a core; ` +
        `the copy alone is written at ${Math.round(GROUPED_ROWS / filledMs)} rows/ms`,
    });
  } finally {
    await pool.close();
    await Deno.remove(folder, { recursive: true });
  }
}

/** Returns the milliseconds that it took. */
async function fillSales(folder: string, path: string): Promise<number> {
  const columns = [{ name: "n", type: "integer" }, { name: "total", type: "number" }] as const;
  const projection = { name: "sales", number: 1, version: 1, columns };
  const writer = openCopyWriter({ folder, onFault: fail });
  try {
    const startedMs = performance.now();
    await writer.ask({ path, kind: "open", owner: "bench", isFirst: true });
    await writer.ask({ path, kind: "begin_fill", token: "bench", projection });
    for (let first = 0; first < GROUPED_ROWS; first += PAGE_ROWS) {
      await writer.ask(
        { path, kind: "fill", token: "bench", projection },
        JSON.stringify(pageOf(first)),
      );
    }
    const end = {
      kind: "end_fill",
      token: "bench",
      projection,
      stamp: "",
      rows: GROUPED_ROWS,
    } as const;
    const ended = await writer.ask({ path, ...end });
    if (ended.kind !== "done") throw new Error(`the copy: ${JSON.stringify(ended)}`);
    return performance.now() - startedMs;
  } finally {
    await writer.close();
  }
}

function pageOf(first: number): unknown[] {
  return Array.from({ length: PAGE_ROWS }, (_, at) => {
    const row = first + at;
    const key = `5b3e1a7c-9d24-4f6a-8b1e-${row.toString(16).padStart(12, "0")}`;
    return [key, { n: (row * 7_919) % GROUPS, total: row / 4 }];
  });
}

async function timeGrouping(pool: QueryPool, path: string): Promise<number> {
  const tables = [{ name: "sales", number: 1, version: 1, stamp: "" }];
  const bound = { byPlace: [], byName: {} };
  const startedMs = performance.now();
  const outcome = await pool.run("bench", { path, tables, sql: GROUPING, bound });
  if (outcome.kind !== "rows") throw new Error(`the grouping: ${JSON.stringify(outcome)}`);
  return performance.now() - startedMs;
}

function fail(error: unknown): never {
  throw error;
}
