/** Fields of small bodies. */

import assert from "node:assert/strict";
import { checkFields, readFields } from "../../src/http/fields.ts";
import { ANYTHING, BOOLEAN, COUNT, TEXT } from "../../src/http/openapi/schema.ts";
import { fakeHost } from "../support/fake_host.ts";

const TABLE = { name: TEXT, "force?": BOOLEAN, "extra?": ANYTHING, "hours?": COUNT } as const;

Deno.test("checkFields() passes a body with all required fields", () => {
  assert.ok(checkFields({ name: "a" }, TABLE).ok);
  assert.ok(checkFields({ name: "a", force: false, extra: null }, TABLE).ok);
});

Deno.test("checkFields() refuses missing, mistyped and unknown fields with their path", () => {
  const bad = [[{}, "name"], [{ name: 1 }, "name"], [
    { name: "a", force: "true" },
    "force",
  ], [{ name: "a", hours: "5" }, "hours"]] as const;
  for (const [body, path] of [...bad, [{ name: "a", nmae: 1 }, "nmae"]] as const) {
    const outcome = checkFields(body, TABLE);
    assert.ok(!outcome.ok && outcome.refusal.kind === "bad_request");
    assert.equal(outcome.refusal.path, path);
  }
});

Deno.test("readFields() refuses a body that is no JSON before it looks at fields", async () => {
  const headers = { "content-type": "text/plain" };
  const request = new Request("http://127.0.0.1/", { method: "POST", headers, body: "{}" });
  assert.ok(!(await readFields({ request, owner: "test", host: fakeHost() }, TABLE)).ok);
});
