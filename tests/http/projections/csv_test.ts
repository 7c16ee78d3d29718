/** CSV exports of one instance: how many at once, and how long an export keeps its place. */

import assert from "node:assert/strict";
import type { Service } from "../../../src/features/service.ts";
import { createApp } from "../../../src/http/app.ts";
import { quietHost, scriptService, TEST_LISTENER, TOKENS } from "../scripted_service.ts";

interface Exports {
  begun: number;
  ended: number;
}

/** Exports two pages, or as `answer` says. */
function openExports(answer?: () => Promise<unknown>) {
  const counts: Exports = { begun: 0, ended: 0 };
  async function* pages() {
    try {
      yield new TextEncoder().encode("key\r\n");
      yield await Promise.resolve(new TextEncoder().encode("a\r\n"));
    } finally {
      counts.ended++;
    }
  }
  function exportCsv(): Promise<unknown> {
    counts.begun++;
    return answer?.() ?? Promise.resolve({ ok: true, value: { lag: 0, pages: pages() } });
  }
  const service = { ...scriptService().service, projections: { exportCsv } } as unknown as Service;
  const app = createApp(service, quietHost(), TEST_LISTENER);
  function ask(method = "GET"): Promise<Response> {
    const headers = { authorization: `Bearer ${TOKENS.read}` };
    const url = "http://127.0.0.1/_projections/orders/export.csv";
    return app.fetch(new Request(url, { method, headers }));
  }
  return { counts, ask };
}

Deno.test("an instance has 8 exports at once, each until it is read, given up or has failed", async () => {
  const { counts, ask } = openExports();
  const open: Response[] = [];
  for (let i = 0; i < 8; i++) open.push(await ask());
  assert.deepEqual(open.map(({ status }) => status), Array(8).fill(200));
  const refused = await ask();
  assert.equal(refused.status, 503);
  assert.match((await refused.json()).error, /8 CSV exports under way/);
  assert.equal(counts.begun, 8);

  assert.equal(await open[0]!.text(), "key\r\na\r\n");
  const reader = open[1]!.body!.getReader();
  await reader.read();
  await reader.cancel();
  assert.equal(counts.ended, 2);
  const later = [await ask(), await ask(), await ask()];
  assert.deepEqual(later.map(({ status }) => status), [200, 200, 503]);
  for (const { body } of [...open.slice(2), ...later]) await body!.cancel();
});

Deno.test("an export that is refused or fails, or that HEAD asks for, keeps no place", async () => {
  const refusal = { kind: "not_found", message: "There is no such projection" };
  const missing = openExports(() => Promise.resolve({ ok: false, refusal }));
  const failing = openExports(() => Promise.reject(new Error("the store is away")));
  const { ask } = openExports();
  for (let i = 0; i < 10; i++) {
    assert.equal((await missing.ask()).status, 404);
    assert.equal((await failing.ask()).status, 500);
    assert.equal((await ask("HEAD")).status, 200);
  }
});
