/** The authorizer alone, on a writable database: it lets reads through and nothing else. */

import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { authorization } from "../../src/sql/authorizer.ts";
import type { ReadingDatabase } from "../../src/sql/sqlite.ts";

function reasonOf(sql: string): string {
  const database = new DatabaseSync(":memory:") as ReadingDatabase;
  try {
    database.exec(
      "CREATE TABLE orders (key, n); CREATE TABLE hidden (key); PRAGMA foreign_keys = 0",
    );
    const { authorize, reason } = authorization(new Set(["orders"]), new Set(["hidden", "dbstat"]));
    database.setAuthorizer(authorize);
    try {
      database.prepare(sql).all();
      return "ok";
    } catch {
      return reason() ?? "not by the authorizer";
    }
  } finally {
    database.close();
  }
}

Deno.test("authorization() lets a statement read its tables, parts of itself and JSON", () => {
  for (
    const sql of [
      "SELECT * FROM orders",
      "SELECT count(*) FROM ORDERS",
      "SELECT n FROM main.orders AS o WHERE o.key LIKE 'a%' GROUP BY n HAVING sum(n) > 1",
      "WITH part AS (SELECT 1) SELECT count(*) FROM part",
      "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 9) SELECT * FROM r",
      "SELECT value FROM json_each('[1]')",
      "SELECT count(*) FROM json_tree('[1]')",
      "SELECT row_number() OVER (ORDER BY n), date('now'), '{}' ->> '$.a' FROM orders",
    ]
  ) {
    assert.equal(reasonOf(sql), "ok", sql);
  }
});

Deno.test("authorization() refuses all else, and says what", () => {
  const refused: Record<string, string> = {
    "SELECT * FROM hidden": "no such table: hidden",
    "SELECT count(*) FROM hidden": "no such table: hidden",
    "SELECT count(*) FROM sqlite_schema": "no such table: sqlite_schema",
    "SELECT 1 FROM pragma_table_list": "no such table: pragma_table_list",
    "SELECT count(*) FROM dbstat": "no such table: dbstat",
    "SELECT load_extension('x')": "The function load_extension is not available",
    "SELECT random()": "The function random is not available",
    "PRAGMA table_list": "PRAGMA is not available",
    "ATTACH ':memory:' AS m": "ATTACH is not available",
    "BEGIN": "A query has no transactions of its own",
    "SAVEPOINT s": "A query has no transactions of its own",
    "DELETE FROM orders": "A query can only read",
    "INSERT INTO orders VALUES (1, 2)": "A query can only read",
    "UPDATE orders SET n = 1": "A query can only read",
    "CREATE TABLE t (a)": "A query can only read",
    "CREATE TEMP VIEW v AS SELECT 1": "A query can only read",
    "DROP TABLE orders": "A query can only read",
    "ALTER TABLE orders ADD COLUMN x": "A query can only read",
    "ANALYZE": "A query can only read",
  };
  for (const [sql, reason] of Object.entries(refused)) assert.equal(reasonOf(sql), reason, sql);
});
