/** Query parameters that a route does not have are refused, with what was probably meant. */

import assert from "node:assert/strict";
import { checkQueryNames } from "../../src/http/known_query.ts";
import { PATHS } from "../../src/http/paths.ts";

/** The message and the hint, or undefined where all parameters are known. */
function refused(route: string, query: string): string[] | undefined {
  const outcome = checkQueryNames({ route, query });
  if (outcome.ok) return undefined;
  const { kind, message, hint } = outcome.refusal as {
    kind: string;
    message: string;
    hint: string;
  };
  assert.equal(kind, "bad_request");
  return [message, hint];
}

const ROWS: readonly [route: string, query: string, told: string[] | undefined][] = [
  ["GET /{type}", "", undefined],
  ["GET /{type}", "limit=5&start=a", undefined],
  ["GET /{type}/{id}", "at=5", undefined],
  ["GET /{type}/{id}", "synchronus=1", [
    "Unknown query parameter 'synchronus'",
    'Did you mean "synchronous"?',
  ]],
  ["GET /{type}/{id}", "at=5&colour=red", [
    "Unknown query parameter 'colour'",
    "It takes 'synchronous', 'at'",
  ]],
  ["POST /{type}/{id}", "limit=5", [
    "Unknown query parameter 'limit'",
    "This call takes no query parameters",
  ]],
  ["GET /health/live", "x", [
    "Unknown query parameter 'x'",
    "This call takes no query parameters",
  ]],
  ["GET /health/live", `${"x".repeat(100)}=1`, [
    `Unknown query parameter '${"x".repeat(64)}...'`,
    "This call takes no query parameters",
  ]],
  ["GET /{type}", "__proto__=1", [
    "Unknown query parameter '__proto__'",
    "It takes 'limit', 'start', 'cursor', 'resolve', 'synchronous'",
  ]],
];

for (const [route, query, told] of ROWS) {
  Deno.test(`query parameters of ${route}: ${query.slice(0, 30) || "none"}`, () => {
    assert.deepEqual(refused(route, query), told);
  });
}

Deno.test("every route refuses a parameter that no route has", () => {
  for (const { pattern, methods } of PATHS) {
    for (const method of methods.keys()) {
      assert.ok(refused(`${method} ${pattern}`, "no_such_parameter=1"), `${method} ${pattern}`);
    }
  }
});
