/**
 * Statements that mean harm or ask for too much: each is refused or stopped with a reason. They
 * leave nothing behind. The table is `tests/golden/sql/hostile.json`.
 */

import assert from "node:assert/strict";
import type { SqlArguments } from "../../../../src/domain/projection/check_query.ts";
import { readGolden } from "../../../support/golden_cases.ts";
import {
  deployProjection,
  placeOrders,
  refusalText,
  withQueries,
} from "../../../support/projection_queries.ts";

interface Case {
  readonly group: string;
  readonly sql?: string;
  /** Texts, and how often each is repeated. */
  readonly parts?: readonly (readonly [text: string, times: number])[];
  readonly params?: SqlArguments;
  /**
   * The kind of the refusal; `either` if it depends on the machine which limit is reached
   * first.
   */
  readonly end: "sql_not_allowed" | "sql_timeout" | "either";
  /** Part of its text. */
  readonly says: string;
}

const SECRETS = {
  name: "secrets",
  for_each: "order",
  sources: { order: "$key" },
  select: { word: "$.order.status" },
};
const SHOWN_CHARACTERS = 120;
/** Statements that must be stopped anyway need not take five seconds each. */
const TIMEOUT_MS = 700;
const ORDERS_PLACED = 60;

function textOf({ sql, parts = [] }: Case): string {
  return sql ?? parts.map(([text, times]) => text.repeat(times)).join("");
}

Deno.test("each hostile statement is refused or stopped with its reason, and changes nothing", async () => {
  const cases = readGolden<Case>("sql/hostile.json");
  assert.ok(cases.length >= 100);
  await withQueries(async ({ service, tenant, tenants, place, query, rows, folder }) => {
    await deployProjection(service, tenants.staging, SECRETS);
    await placeOrders(service, tenants.staging, [[1, { status: "hidden" }]]);
    await place(
      Array.from({ length: ORDERS_PLACED }, (_, n) => [n, { status: "open", total: n }] as const),
    );
    const staging = { sql: "SELECT word FROM secrets", params: [] };
    assert.ok((await service.sql.query(tenants.staging, staging)).ok);
    const before = await rows("SELECT * FROM orders");
    assert.equal(before.length, ORDERS_PLACED);
    for (const each of cases) {
      const sql = textOf(each);
      const shown = `${each.group}: ${sql.slice(0, SHOWN_CHARACTERS)}`;
      const outcome = await query(sql, each.params);
      assert.ok(!outcome.ok, `answered: ${shown}`);
      const text = refusalText(outcome);
      const kinds = each.end === "either" ? ["sql_not_allowed", "sql_timeout"] : [each.end];
      assert.ok(kinds.some((kind) => text.startsWith(`${kind}: `)), `${shown}\n${text}`);
      assert.ok(text.includes(each.says), `${shown}\n${text}`);
      assert.ok(!text.includes(folder), `the reason names no file: ${text}`);
      assert.ok(!text.includes("hidden"), `the reason tells nothing of others: ${text}`);
    }
    assert.deepEqual(await rows("SELECT * FROM orders"), before);
    const files = Array.from(Deno.readDirSync(folder), ({ name }) => name.replace(/-.*/, ""));
    assert.deepEqual(
      new Set(files),
      new Set([`${tenant.number}.db`, `${tenants.staging.number}.db`]),
    );
  }, { timeoutMs: TIMEOUT_MS });
});
