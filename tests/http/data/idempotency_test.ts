/**
 * The `X-Idempotency-Key` header: exact messages, and keys sorted before hashing. See
 * docs/reference/writing.md.
 */

import assert from "node:assert/strict";
import { decodeIdempotency, decodeLongIdempotency } from "../../../src/http/data/idempotency.ts";
import { fakeHost } from "../../support/fake_host.ts";

Deno.test("decodeIdempotency() claims nothing without the header", () => {
  assert.deepEqual(decodeIdempotency(null, {}), { ok: true, value: undefined });
});

Deno.test("decodeIdempotency() takes every single printable ASCII character and no other byte", () => {
  for (let code = 0; code < 256; code++) {
    const outcome = decodeIdempotency(`a${String.fromCharCode(code)}b`, {});
    assert.equal(outcome.ok, code >= 0x20 && code <= 0x7e, `character ${code}`);
  }
});

Deno.test("decodeIdempotency() hashes bodies alike when only the order of keys differs", () => {
  const one = decodeIdempotency("k", { a: { x: 1, y: [1, 2] }, b: 2 });
  const same = decodeIdempotency("k", { b: 2, a: { y: [1, 2], x: 1 } });
  const other = decodeIdempotency("k", { b: 2, a: { y: [2, 1], x: 1 } });
  assert.deepEqual(one, same);
  assert.notDeepEqual(one, other);
  assert.ok(one.ok && /^[0-9a-f]{64}$/.test(one.value?.bodyHash ?? ""));
});

Deno.test("decodeLongIdempotency() gives the claim that decodeIdempotency() gives, or its refusal", async () => {
  const body = { b: [1, 2], a: Array.from({ length: 5_000 }, (_, index) => ({ index })) };
  for (const header of ["key-1", null, "", "x".repeat(256)]) {
    const long = await decodeLongIdempotency(header, body, fakeHost());
    assert.deepEqual(long, decodeIdempotency(header, body));
  }
});
