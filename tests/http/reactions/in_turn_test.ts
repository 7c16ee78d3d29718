/** Calls that read much take turns within their instance. */

import assert from "node:assert/strict";
import type { Edge } from "../../../src/http/call.ts";
import { sendInTurn } from "../../../src/http/reactions/in_turn.ts";
import { scriptApp, TOKENS } from "../scripted_service.ts";

const AT_ONCE = 4;
const WAITING_MAX = 256;
const CALL = { requestId: "r", owner: "shop" };
const PAGE = { ok: true, value: { data: [], limit: 50, truncated: false } };

function edgeOf(): Pick<Edge, "service"> {
  return { service: {} as Edge["service"] };
}

async function severalTurns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
}

const ROUTES: readonly (readonly [call: string, path: string, answer: unknown, body?: object])[] = [
  ["listListeners", "/_listeners", PAGE.value],
  ["listDeliveries", "/_listeners/hook/deliveries?limit=200", PAGE],
  [
    "replayDeliveries",
    "/_listeners/hook/replay",
    { ok: true, value: { replayed: 0, truncated: false } },
    { since: "2026-01-01T00:00:00Z" },
  ],
  ["listErrors", "/_errors?limit=200", PAGE],
  ["listSagas", "/_sagas?limit=200", PAGE],
  ["readSaga", "/_sagas/saga_1", { ok: true, value: {} }],
];

for (const [name, path, answer, body] of ROUTES) {
  Deno.test(`of many calls of ${name}() four are worked on at a time`, async () => {
    let release = () => {};
    const held = new Promise((resolve) => release = () => resolve(answer));
    const { app, calls } = scriptApp({ [name]: held });
    const init = {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${TOKENS.write}`, "content-type": "application/json" },
      body: body && JSON.stringify(body),
    };
    const asked = Array.from(
      { length: 20 },
      () => app.fetch(new Request(`http://127.0.0.1${path}`, init)),
    );
    await severalTurns();
    assert.equal(calls.filter(([called]) => called === name).length, AT_ONCE);
    release();
    const status = body === undefined ? 200 : 202;
    for (const response of await Promise.all(asked)) assert.equal(response.status, status);
    assert.equal(calls.filter(([called]) => called === name).length, asked.length);
  });
}

Deno.test("a call beyond those that may wait is told to try again", async () => {
  let release = () => {};
  const held = new Promise<void>((resolve) => release = resolve);
  const edge = edgeOf();
  const find = () => held.then(() => ({ ok: true, value: { n: 1 } }) as const);
  const all = Array.from({ length: AT_ONCE + WAITING_MAX }, () => sendInTurn(edge, CALL, find));
  const refused = await sendInTurn(edge, CALL, find);
  assert.equal(refused.status, 503);
  assert.equal(refused.headers.get("retry-after"), "1");
  release();
  for (const answer of await Promise.all(all)) {
    assert.equal(answer.status, 200);
    assert.deepEqual(await answer.json(), { ok: true, n: 1 });
  }
});

Deno.test("a refusal is the answer, and what throws is thrown", async () => {
  const edge = edgeOf();
  const refusal = { kind: "not_found", message: "There is none" } as const;
  const answer = await sendInTurn(edge, CALL, () => Promise.resolve({ ok: false, refusal }));
  assert.equal(answer.status, 404);
  const failing = () => Promise.reject(new Error("store away"));
  await assert.rejects(sendInTurn(edge, CALL, failing), { message: "store away" });
});
