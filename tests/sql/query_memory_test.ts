/**
 * An SQL process never uses more than 300 MiB, whatever a statement builds. The system reports
 * the most it used at any time. Each statement is refused or answered, and the next one is
 * served.
 */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { canLimitMemory } from "../../src/runners/memory_limit.ts";
import type { SqlArgument } from "../../src/domain/projection/check_query.ts";
import { COPY_SCHEMA, createTable } from "../../src/sql/copy_file.ts";
import { openQueryPool, type QueryOutcome } from "../../src/sql/query_pool.ts";

const PROMISED_MEGABYTES = 300;
const LOOK_MS = 2;
const TABLE = { name: "sales", number: 1, version: 1, stamp: "" };
const ROWS = 400;
const WIDE = Array.from({ length: 1_500 }, (_, n) => `?1 AS c${n}`);
const LONGEST = "x".repeat(1024 * 1024);

interface Statement {
  readonly sql: string;
  readonly params?: readonly SqlArgument[];
  readonly ends: RegExp;
}

const STATEMENTS: readonly Statement[] = [
  { sql: "SELECT cast(? AS BLOB) AS v FROM sales", params: [LONGEST], ends: /has a blob/ },
  { sql: "SELECT ? AS v FROM sales", params: [LONGEST], ends: /rows/ },
  { sql: "SELECT printf('%.*c', 8000000, 'x') AS v FROM sales", ends: /rows/ },
  { sql: "SELECT printf('%.*c', 8000000, char(1)) AS v FROM sales", ends: /larger than 8 MiB/ },
  { sql: `SELECT ${WIDE} FROM sales`, params: [LONGEST], ends: /too much memory|larger than/ },
  { sql: "SELECT group_concat(?, '') AS v FROM sales", params: [LONGEST], ends: /larger than/ },
  { sql: "SELECT json_group_array(?) AS v FROM sales", params: [LONGEST], ends: /memory/ },
  {
    sql: "SELECT replace(printf('%.*c', 1000000, 'x'), 'x', ?) AS v FROM sales",
    params: [LONGEST],
    ends: /larger than/,
  },
  {
    sql: "SELECT count(*) AS n, max(length(v)) AS v FROM " +
      "(SELECT a.key || ? AS v FROM sales a JOIN sales b ORDER BY 1 LIMIT 300)",
    params: [LONGEST.slice(0, 500_000)],
    ends: /rows|memory|temporary|end within/,
  },
  {
    sql: "WITH RECURSIVE r(v) AS (SELECT ? UNION SELECT v || 'x' FROM r LIMIT 300) " +
      "SELECT count(*) AS n FROM r",
    params: [LONGEST],
    ends: /rows|memory|temporary|end within/,
  },
  { sql: `SELECT ${"(".repeat(900)}1${")".repeat(900)} AS n FROM sales`, ends: /./ },
];

async function withTable(test: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_memory_" });
  const database = new DatabaseSync(`${folder}/1.db`);
  try {
    database.exec(COPY_SCHEMA);
    database.exec(createTable("sales", [{ name: "n", type: "integer" }]));
    database.exec(`INSERT INTO _views VALUES ('sales', 1, 1, '')`);
    database.exec("BEGIN");
    const insert = database.prepare("INSERT INTO sales VALUES (?, ?)");
    for (let row = 0; row < ROWS; row++) insert.run(`k${row}`, row);
    database.exec("COMMIT");
    database.close();
    await test(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function peakMegabytes(pid: number): number {
  try {
    const status = Deno.readTextFileSync(`/proc/${pid}/status`);
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
  } catch {
    // It has ended.
    return 0;
  }
}

function describe(outcome: QueryOutcome): string {
  return "reason" in outcome ? outcome.reason : outcome.kind;
}

for (const { sql, params = [], ends } of STATEMENTS) {
  const name = `a process stays within its memory for ${sql.slice(0, 60)}`;
  Deno.test(name, { ignore: !canLimitMemory() }, async () => {
    await withTable(async (folder) => {
      const pool = openQueryPool({ runners: 1, folder, onFault: () => {} });
      const base = { path: `${folder}/1.db`, tables: [TABLE] };
      let peak = 0;
      const look = setInterval(() => {
        peak = Math.max(peak, ...pool.measure().processIds.map(peakMegabytes));
      }, LOOK_MS);
      try {
        const asked = { ...base, sql, bound: { byPlace: params, byName: {} } };
        assert.match(describe(await pool.run("tenant", asked)), ends);
        const next = { ...base, sql: "SELECT 1 AS n", bound: { byPlace: [], byName: {} } };
        assert.equal((await pool.run("other", next)).kind, "rows");
      } finally {
        clearInterval(look);
        await pool.close();
      }
      assert(peak <= PROMISED_MEGABYTES, `${peak} MiB`);
    });
  });
}
