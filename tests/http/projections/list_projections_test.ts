/** `GET /api/instances/{id}/projections`: the text of a page, and turns of those that ask. */

import assert from "node:assert/strict";
import type { ProjectionStatus } from "../../../src/domain/projection/status.ts";
import { accept, refuse } from "../../../src/domain/refusal.ts";
import type { Service } from "../../../src/features/service.ts";
import { createApp } from "../../../src/http/app.ts";
import { quietHost, scriptService, TEST_LISTENER, TOKENS } from "../scripted_service.ts";

type List = Service["projections"]["list"];

function openApp(list: List) {
  const service = { ...scriptService().service, projections: { list } } as unknown as Service;
  const app = createApp(service, quietHost(), TEST_LISTENER);
  const headers = { authorization: `Bearer ${TOKENS.operator}` };
  return (query = "") =>
    app.fetch(new Request(`http://127.0.0.1/api/instances/i1/projections${query}`, { headers }));
}

function pageWith(projection: object) {
  const data = [{ name: "a", projection }] as ProjectionStatus[];
  return accept({ data, limit: 1, truncated: true, next_start: "a" });
}

Deno.test("a page of projections is sent with what the query asks for, or its refusal", async () => {
  const asked: unknown[] = [];
  const ask = openApp((_tenant, page) => {
    asked.push(page);
    return Promise.resolve(
      page?.start === "long"
        ? refuse({ kind: "bad_request", path: "start", message: "too long" })
        : pageWith({}),
    );
  });
  assert.equal(
    await (await ask("?limit=1")).text(),
    '{"ok":true,"data":[{"name":"a","projection":{}}],"limit":1,"truncated":true,"next_start":"a"}',
  );
  assert.equal((await ask("?start=long")).status, 400);
  assert.deepEqual(asked.map((page) => (page as { start?: string }).start), [undefined, "long"]);
});

Deno.test("of 40 long pages of projections that are asked for at once, at most 4 are made", async () => {
  let [running, seen] = [0, 0];
  const ask = openApp(async () => {
    seen = Math.max(seen, ++running);
    await new Promise((resolve) => setTimeout(resolve, 1));
    running--;
    return pageWith({ text: "x".repeat(300_000) });
  });
  const statuses = await Promise.all(Array.from({ length: 40 }, async () => {
    const response = await ask();
    await response.body?.cancel();
    return response.status;
  }));
  assert.deepEqual(statuses, Array(40).fill(200));
  assert.ok(seen <= 4, `${seen} at a time`);
});
