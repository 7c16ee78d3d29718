/** Which instances an operator token covers. */

import { deepEqual, equal } from "node:assert/strict";
import { hashToken, mayOperate, refuseOtherInstance } from "../../../src/domain/access/operator.ts";

Deno.test("mayOperate() lets a token touch all instances, or only those it names", () => {
  const all = { subject: "a@example.com" };
  const two = { subject: "a@example.com", instances: ["x", "y"] };
  const none = { subject: "a@example.com", instances: [] };
  deepEqual(["x", "y", "z"].map((id) => mayOperate(all, id)), [true, true, true]);
  deepEqual(["x", "y", "z"].map((id) => mayOperate(two, id)), [true, true, false]);
  deepEqual(["x", "y", "z"].map((id) => mayOperate(none, id)), [false, false, false]);
});

Deno.test("refuseOtherInstance() is a 403", () => {
  const outcome = refuseOtherInstance();
  equal(!outcome.ok && outcome.refusal.kind, "forbidden");
});

Deno.test("hashToken() is SHA-256 in hex (FIPS 180-4, example 'abc')", () => {
  const expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  equal(hashToken("abc"), expected);
});
