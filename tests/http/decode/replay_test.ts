/** The body of a request to replay deliveries. */

import assert from "node:assert/strict";
import { decodeReplay } from "../../../src/http/decode/replay.ts";
import { fakeHost } from "../../support/fake_host.ts";

function decode(body: unknown) {
  const headers = { "content-type": "application/json" };
  const init = { method: "POST", headers, body: JSON.stringify(body) };
  const request = new Request("http://localhost/", init);
  return decodeReplay({ request, owner: "test", host: fakeHost() });
}

Deno.test("one delivery by its id, or all since a time, from a cursor on", async () => {
  const since = "2026-01-01T00:00:00Z";
  const sinceMs = Date.UTC(2026, 0, 1);
  const cases: [unknown, unknown][] = [
    [{ delivery_id: "dlv_1" }, { deliveryId: "dlv_1" }],
    [{ since }, { sinceMs }],
    [{ since, start: "dlv_1" }, { sinceMs, start: "dlv_1" }],
  ];
  for (const [body, value] of cases) assert.deepEqual(await decode(body), { ok: true, value });
});

Deno.test("neither, both, and what is no time are refused with the path", async () => {
  const since = "2026-01-01T00:00:00Z";
  const cases: [unknown, string][] = [
    [{}, "since"],
    [{ since, delivery_id: "dlv_1" }, "since"],
    [{ since: "yesterday" }, "since"],
    [{ since: 5 }, "since"],
    [{ delivery_id: "dlv_1", start: "dlv_1" }, "start"],
    [{ since, more: 1 }, "more"],
  ];
  for (const [body, path] of cases) {
    const outcome = await decode(body);
    assert.ok(!outcome.ok);
    assert.equal(outcome.refusal.kind, "bad_request");
    assert.equal("path" in outcome.refusal && outcome.refusal.path, path);
  }
});
