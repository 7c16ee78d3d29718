/** Fields and environments of operator calls. */

import assert from "node:assert/strict";
import { checkFields, decodeEnvironment, readFields } from "../../../src/http/decode/operator.ts";
import { fakeHost } from "../../support/fake_host.ts";

const TABLE = { name: "string", "force?": "boolean", "extra?": "any" } as const;

Deno.test("checkFields() passes a body with all required fields", () => {
  assert.ok(checkFields({ name: "a" }, TABLE).ok);
  assert.ok(checkFields({ name: "a", force: false, extra: null }, TABLE).ok);
});

Deno.test("checkFields() refuses missing, mistyped and unknown fields with their path", () => {
  const bad = [[{}, "name"], [{ name: 1 }, "name"], [
    { name: "a", force: "true" },
    "force",
  ]] as const;
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

Deno.test("decodeEnvironment() takes the body's, the query's, or the listener's own", () => {
  assert.deepEqual(decodeEnvironment("", undefined, "staging"), { ok: true, value: "staging" });
  assert.deepEqual(decodeEnvironment("environment=test", undefined, "production"), {
    ok: true,
    value: "test",
  });
  assert.deepEqual(decodeEnvironment("environment=production", "prod", "test"), {
    ok: true,
    value: "production",
  });
  assert.ok(!decodeEnvironment("environment=", undefined, "test").ok);
  assert.ok(!decodeEnvironment("environment=test", "staging", "test").ok);
});
