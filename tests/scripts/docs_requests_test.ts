/** Requests that are found in blocks of shell, and sections that are found by their words. */

import assert from "node:assert/strict";
import { searchOf } from "../../console/src/docs/search.ts";
import { requestsOf } from "../../scripts/docs/requests.ts";

Deno.test("requestsOf() finds method, path, headers and body of what curl would send", () => {
  const shell = `# a comment's apostrophe
curl -s $BASE/order/A/was_placed -H "Authorization: Bearer $KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"data": {"customer": "Ada"}}'
curl -s -X DELETE "$BASE/api/keys/$ID?x=1&y=2" -H "Authorization: Bearer $TOKEN" | head -1
curl -si $BASE/health/live`;
  assert.deepEqual(requestsOf(shell), [
    {
      method: "POST",
      path: "/order/A/was_placed",
      credential: "key",
      headers: { "Content-Type": "application/json" },
      body: '{"data": {"customer": "Ada"}}',
    },
    { method: "DELETE", path: "/api/keys/$ID?x=1&y=2", credential: "operator", headers: {} },
    { method: "GET", path: "/health/live", credential: "none", headers: {} },
  ]);
});

Deno.test("requestsOf() leaves out what only a shell can do, and what goes elsewhere", () => {
  for (
    const shell of [
      'curl -s $BASE/order/$(cat id) -H "Authorization: Bearer $KEY"',
      "curl -s https://example.com/order/A",
      'curl -s $BASE/_admin/import -H "Authorization: Bearer $TOKEN" -d @events.json',
      'curl -s $BASE/_admin/blobs -H "Authorization: Bearer $TOKEN" -F name=x',
      'curl -s $BASE/order/A -H "Authorization: Bearer secret"',
      "echo curl -s $BASE/order/A",
      "curl -s $BASE/a $BASE/b",
    ]
  ) assert.deepEqual(requestsOf(shell), [], shell);
});

Deno.test("searchOf() finds titles before texts, guesses misspelt words, and marks what matched", () => {
  const search = searchOf([
    ["a.html", "a", "Sagas", "Sagas", "Work in several steps, with compensation"],
    ["b.html", "b", "Writing", "Writing", "Events and sagas are stored"],
    ["b.html", "c", "Writing", "Idempotency", "A key makes a retry harmless"],
  ]);
  assert.deepEqual(search("sagas").map(({ address }) => address), ["a.html", "b.html"]);
  const [found, ...others] = search("idempotancy");
  assert.deepEqual(others, []);
  assert.deepEqual([found!.address, found!.heading], ["b.html#c", "Idempotency"]);
  const [marked] = search("compens");
  assert.deepEqual(marked!.excerpt.filter(({ isMatch }) => isMatch), [
    { text: "compensation", isMatch: true },
  ]);
  assert.deepEqual(search("nowhere"), []);
  const signs = searchOf([["a.html", "a", "Signs", "Signs", "in instance=$X and a+b (or) [c]"]]);
  assert.equal(signs("in a+b [c]").length, 1);
});
