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

const FLAT = { email: TEXT, "force?": BOOLEAN } as const;

async function readFlat(body: string) {
  const headers = { "content-type": "application/json" };
  const request = new Request("http://127.0.0.1/", { method: "POST", headers, body });
  return await readFields({ request, owner: "test", host: fakeHost() }, FLAT);
}

Deno.test("readFields() parses nothing of a body of plain fields that has other names or objects", async () => {
  const refused = [
    ['{"email":"a","emial":"b"}', "emial", "Unknown field: emial"],
    ['{"email":{"a":1}}', "email", "email must be a string"],
    ['{"email":[{"a":1}]}', "email", "email must be a string"],
    ['[{"email":"a"}]', undefined, "Request body must be a JSON object"],
    ['{"email":"a"}{"b":1}', "b", "Unknown field: b"],
    ['{"em\\u0061il":"a","x":1}', "x", "Unknown field: x"],
  ] as const;
  const parse = JSON.parse;
  JSON.parse = (text: string) => text.startsWith('"') ? parse(text) : assert.fail(text);
  try {
    for (const [body, path, message] of refused) {
      const outcome = await readFlat(body);
      assert.ok(!outcome.ok && outcome.refusal.kind === "bad_request", body);
      assert.deepEqual([outcome.refusal.path, outcome.refusal.message], [path, message]);
    }
  } finally {
    JSON.parse = parse;
  }
});

Deno.test("readFields() takes plain fields in any spelling of JSON", async () => {
  for (const body of ['{"email":"a:b"}', ' { "em\\u0061il" : "a:b" , "force" : true } ']) {
    const outcome = await readFlat(body);
    assert.ok(outcome.ok && outcome.value.email === "a:b", body);
  }
});
