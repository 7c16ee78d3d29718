/** Environments by port and by host name. The answers are golden cases of `paths.json`. */

import assert from "node:assert/strict";
import { createPlaces } from "../../../src/http/middleware/place.ts";

Deno.test("createPlaces() of a listener ignores the host name", () => {
  const findPlace = createPlaces({ kind: "listener", environment: "staging" });
  for (const host of ["", "127.0.0.1", "shop.example.com"]) {
    assert.deepEqual(findPlace(host), {
      ok: true,
      value: { environment: "staging", servesData: true },
    });
  }
});

Deno.test("createPlaces() takes a base domain in any case and api.<base> for operator calls", () => {
  const findPlace = createPlaces({ kind: "host", baseDomain: "Example.COM" });
  assert.deepEqual(findPlace("shop-test.example.com"), {
    ok: true,
    value: { environment: "test", slug: "shop", servesData: true },
  });
  assert.deepEqual(findPlace("api.example.com"), {
    ok: true,
    value: { environment: "test", servesData: false },
  });
});

Deno.test("createPlaces() repeats no more of an unknown host than DNS allows", () => {
  const outcome = createPlaces({ kind: "host", baseDomain: "example.com" })("x".repeat(9_000));
  assert.ok(!outcome.ok && outcome.refusal.kind === "not_found");
  assert.ok(outcome.refusal.message.length < 500);
});
