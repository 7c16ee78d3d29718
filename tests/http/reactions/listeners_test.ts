/** The body of a request to replay deliveries. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import { checkFields } from "../../../src/http/fields.ts";
import { checkReplay, REPLAY_FIELDS } from "../../../src/http/reactions/listeners.ts";

function decode(body: JsonObject) {
  const fields = checkFields(body, REPLAY_FIELDS);
  return fields.ok ? checkReplay(fields.value) : fields;
}

Deno.test("one delivery by its id, or all since a time, from a cursor on", () => {
  const since = "2026-01-01T00:00:00Z";
  const sinceMs = Date.UTC(2026, 0, 1);
  const cases: [JsonObject, unknown][] = [
    [{ delivery_id: "dlv_1" }, { deliveryId: "dlv_1" }],
    [{ since }, { sinceMs }],
    [{ since, start: "dlv_1" }, { sinceMs, start: "dlv_1" }],
  ];
  for (const [body, value] of cases) assert.deepEqual(decode(body), { ok: true, value });
});

Deno.test("neither, both, and what is no time are refused with the path", () => {
  const since = "2026-01-01T00:00:00Z";
  const cases: [JsonObject, string][] = [
    [{}, "since"],
    [{ since, delivery_id: "dlv_1" }, "since"],
    [{ since: "yesterday" }, "since"],
    [{ since: 5 }, "since"],
    [{ delivery_id: "dlv_1", start: "dlv_1" }, "start"],
    [{ since, more: 1 }, "more"],
  ];
  for (const [body, path] of cases) {
    const outcome = decode(body);
    assert.ok(!outcome.ok);
    assert.equal(outcome.refusal.kind, "bad_request");
    assert.equal("path" in outcome.refusal && outcome.refusal.path, path);
  }
});
