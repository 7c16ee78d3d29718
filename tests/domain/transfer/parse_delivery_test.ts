/** A pending delivery in an environment file: only what the service would store is accepted. */

import assert from "node:assert/strict";
import { parseWork } from "../../../src/domain/transfer/parse_work.ts";

const delivery = {
  id: "dlv_019b76daa80000009b605fb9e9aa",
  sinceMs: 1_767_225_600_000,
  dueMs: 0,
  url: "https://example.com/hook",
  tries: [{ at: "2026-01-01T00:00:00.000Z", status: 500, duration_ms: 3 }],
  triesBefore: 0,
};
const moved = { listener: "hook", stream: "order:global", index: 0, delivery };

function parse(change: object) {
  return parseWork("delivery", JSON.stringify({ ...moved, ...change }));
}

Deno.test("a delivery is read as it was stored", () => {
  assert.deepEqual(parse({}), { ok: true, item: { kind: "delivery", moved } });
  const failed = { at: "2026-01-01T00:00:00.000Z", failure: "timeout", duration_ms: 15_000 };
  assert.ok(parse({ delivery: { ...delivery, tries: [failed] } }).ok);
});

Deno.test("anything else in one of its fields is refused", () => {
  const line = delivery.tries[0]!;
  const others: object[] = [
    { listener: "" },
    { listener: "Hook" },
    { stream: "order" },
    { index: -1 },
    { more: 1 },
    ...[
      { id: "dlv_1" },
      { sinceMs: -1 },
      { dueMs: "soon" },
      { url: "ftp://example.com/" },
      { url: "https://user:secret@example.com/" },
      { tries: [{ ...line, failure: "lost" }] },
      { tries: [{ ...line, at: "yesterday" }] },
      { tries: [line, line, line, line] },
      { triesBefore: 0.5 },
      { secret: "0123456789abcdef" },
    ].map((change) => ({ delivery: { ...delivery, ...change } })),
  ];
  for (const change of others) assert.ok(!parse(change).ok, JSON.stringify(change));
});
