/** The keys of the server and the pinned ones as one list, and for whom pins vouch. */

import assert from "node:assert/strict";
import { keyRows, scopeOf } from "../../../console/src/proof/key_rows.ts";

const [OLD, NEW, MINE] = ["01".repeat(32), "02".repeat(32), "03".repeat(32)];
const SIGNING = {
  public_key: NEW,
  created_at: "2026-02-01T00:00:00.000Z",
  instance_id: "i1",
  environment: "test",
  keys: [
    { public_key: OLD, created_at: "2026-01-01T00:00:00.000Z" },
    { public_key: NEW, created_at: "2026-02-01T00:00:00.000Z" },
  ],
};

Deno.test("keyRows() has each key once: the present one, earlier ones, pins of others", () => {
  const pins = [
    { public_key: MINE, pinned_at: "2026-03-01T00:00:00.000Z" },
    { public_key: OLD, pinned_at: "2026-03-02T00:00:00.000Z", from: "server" },
  ] as const;
  const seen = keyRows(SIGNING, pins).map((row) => [row.public_key, row.signs, row.pinned_at]);
  assert.deepEqual(seen, [
    [NEW, "now", undefined],
    [OLD, "in the past", "2026-03-02T00:00:00.000Z"],
    [MINE, "not known to the server", "2026-03-01T00:00:00.000Z"],
  ]);
  const marks = keyRows(SIGNING, pins).map(({ isFromServer }) => isFromServer);
  assert.deepEqual(marks, [undefined, true, false]);
});

Deno.test("scopeOf() takes the instance of a key from the server, and no other one than was chosen", () => {
  const scope = { instanceId: "i1", environment: "test" };
  assert.deepEqual(scopeOf(SIGNING, { environment: "test" }), scope);
  assert.deepEqual(scopeOf(SIGNING, { instanceId: "i1", environment: "test" }), scope);
  assert.equal(scopeOf(SIGNING, { instanceId: "i2", environment: "test" }), undefined);
  assert.equal(scopeOf(SIGNING, { environment: "production" }), undefined);
  assert.equal(scopeOf({ ...SIGNING, instance_id: undefined }, { environment: "test" }), undefined);
});
