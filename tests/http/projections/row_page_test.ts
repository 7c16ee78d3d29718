/** Pages of rows are made with pauses, and are the same text as without. */

import assert from "node:assert/strict";
import type { RowPage } from "../../../src/domain/projection/status.ts";
import { rowPageBody } from "../../../src/http/projections/projections.ts";
import { fakeHost } from "../../support/fake_host.ts";

function pageOf(rows: number, characters: number): RowPage {
  const data = Array.from({ length: rows }, (_, n) => ({
    dataJson: JSON.stringify({ text: "a".repeat(characters) }),
    metadata: { key: String(n), updated_at: null, position: n, error: undefined },
  }));
  return { data, limit: 50, truncated: true, next_start: "9", limit_clamped: undefined };
}

Deno.test("rowPageBody() yields between rows whose text is long", async () => {
  const host = fakeHost();
  let yields = 0;
  let nowMs = 0;
  const turns = {
    monotonicMs: () => nowMs += 10,
    yieldTurn() {
      yields++;
      return host.yieldTurn();
    },
  };
  const page = pageOf(10, 70_000);
  const parts = await rowPageBody({ ...page, lag: 3 }, turns);
  assert.equal(yields, 10);
  const data = page.data.map(({ dataJson, metadata }) => ({
    data: JSON.parse(dataJson),
    metadata,
  }));
  assert.equal(parts.join(""), JSON.stringify({ ok: true, ...page, data }));
});

Deno.test("rowPageBody() of no rows is an empty list", async () => {
  const page: RowPage = { data: [], limit: 50, truncated: false, stale: true, lag: 1 };
  const { lag: _, ...shown } = page;
  const parts = await rowPageBody(page, fakeHost());
  assert.equal(parts.join(""), JSON.stringify({ ok: true, ...shown }));
});
