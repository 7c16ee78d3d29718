/** Reads of what is pending, asked for by hundreds at once, take turns. */

import assert from "node:assert/strict";
import type { Service } from "../../../src/features/service.ts";
import { createApp } from "../../../src/http/app.ts";
import { quietHost, scriptService, TEST_LISTENER, TOKENS } from "../scripted_service.ts";

const REACTIONS = "/_admin/reactions?environment=test";
const DISCARD = { action: "discard", filter: { kind: "implied" } };

const calls = [
  ["lists of scheduled events", "listScheduled", "/_scheduled", TOKENS.read, undefined],
  ["reads of a scheduled event", "readScheduled", "/_scheduled/a", TOKENS.read, undefined],
  ["pages of pending reactions", "readPending", REACTIONS, TOKENS.restricted, undefined],
  ["calls to discard", "discardReactions", REACTIONS, TOKENS.restricted, "POST"],
] as const;

for (const [name, method, path, token, verb = "GET"] of calls) {
  Deno.test(`of 300 ${name} at once, four run, 256 wait, and the others are refused without a record`, async () => {
    const ends: (() => void)[] = [];
    const seen = { running: 0, most: 0 };
    async function run(): Promise<unknown> {
      seen.most = Math.max(seen.most, ++seen.running);
      await new Promise<void>((resolve) => ends.push(resolve));
      seen.running--;
      return { ok: true, value: { data: [] } };
    }
    const scripted = scriptService();
    const data = Object.assign(Object.create(scripted.service.data), { [method]: run });
    const service = { ...scripted.service, data } as Service;
    const app = createApp(service, quietHost(), TEST_LISTENER);
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const body = verb === "POST" ? JSON.stringify(DISCARD) : undefined;
    const statuses = new Map<number, number>();
    let left = 300;
    const all = Array.from({ length: left }, async () => {
      const request = new Request(`http://127.0.0.1${path}`, { method: verb, headers, body });
      const { status } = await app.fetch(request);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      left--;
    });
    for (let turn = 0; left > 260 && turn < 1_000; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    while (left > 0) {
      ends.shift()?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(all);
    assert.equal(seen.most, 4);
    assert.deepEqual(Object.fromEntries(statuses), { 200: 260, 503: 40 });
    assert.deepEqual(scripted.calls.filter(([called]) => called === "recordError"), []);
  });
}
