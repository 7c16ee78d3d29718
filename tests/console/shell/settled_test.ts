/** A call of a page always gives an answer that the page can show. */

import assert from "node:assert/strict";
import { createClient } from "@daybook/client";
import { callsOf, settled } from "../../../console/src/shell/settled.ts";

const DB = createClient({ url: "http://127.0.0.1:1", key: "dbk_0_test_none" });

Deno.test("A name that no aggregate type can have becomes a refusal that says which", async () => {
  for (const type of ["Order", "", "__proto__", "constructor", "$listeners", "then"]) {
    const answer = await settled(() => callsOf(DB, type)("global").length());
    assert.ok(!answer.ok);
    assert.equal((answer as { error_type: string }).error_type, "bad_request");
    assert.ok(answer.error.startsWith(`${JSON.stringify(type)} is not the name`), answer.error);
  }
});

Deno.test("A call that throws becomes a refusal, and any other answer stays as it is", async () => {
  const thrown = await settled(() => {
    throw new Error("no luck");
  });
  assert.ok(!thrown.ok);
  assert.match(thrown.error, /no luck/);
  const answer = { ok: true as const };
  assert.equal(await settled(() => Promise.resolve(answer)), answer);
  assert.equal(typeof callsOf(DB, "order").listPage, "function");
});
