/** Query parameters: unusable values and unknown names are 400. See docs/reference/basics.md. */

import assert from "node:assert/strict";
import {
  count,
  flag,
  oneOf,
  PAGE_QUERY,
  type Parameter,
  type Query,
  queryDecoder,
  seconds,
} from "../../src/http/parameter.ts";
import { PATHS } from "../../src/http/paths.ts";

/** The outcome for a route with the one parameter `p`, which is absent without a text. */
function decode<T>(p: Parameter<T>, text?: string) {
  const query = text === undefined ? "" : new URLSearchParams({ p: text }).toString();
  const outcome = queryDecoder({ p })(query);
  return outcome.ok ? { ok: true, value: outcome.value.p } : outcome;
}

Deno.test("flag() takes true, 1 and empty as true, false and 0 as false, absent as false", () => {
  assert.deepEqual(queryDecoder({ f: flag() })("f"), { ok: true, value: { f: true } });
  for (const text of ["", "true", "1"]) {
    assert.deepEqual(decode(flag(), text), { ok: true, value: true });
  }
  for (const text of [undefined, "false", "0"]) {
    assert.deepEqual(decode(flag(), text), { ok: true, value: false });
  }
  for (const text of ["yes", "True", "2", " 1"]) assert.ok(!decode(flag(), text).ok);
});

Deno.test("count() takes positive decimal integers of any size", () => {
  assert.deepEqual(decode(count({}), "1"), { ok: true, value: 1 });
  assert.deepEqual(decode(count({}), "00012"), { ok: true, value: 12 });
  assert.ok(decode(count({}), "9".repeat(400)).ok);
  for (const text of ["0", "000", "-1", "1.0", "1e2", "0x1", " 1", "", "NaN", "١"]) {
    assert.ok(!decode(count({}), text).ok, text);
  }
});

Deno.test("seconds() takes 0 and refuses what no safe integer holds", () => {
  assert.deepEqual(decode(seconds(), "0"), { ok: true, value: 0 });
  assert.deepEqual(decode(seconds()), { ok: true, value: undefined });
  assert.ok(!decode(seconds(), "9007199254740992").ok);
});

Deno.test("oneOf() takes its values only, and the other one if absent", () => {
  const sizes = ["small", "middling", "large"] as const;
  assert.deepEqual(decode(oneOf(sizes), "large"), { ok: true, value: "large" });
  assert.deepEqual(decode(oneOf(sizes)), { ok: true, value: undefined });
  assert.deepEqual(decode(oneOf(sizes, "small")), { ok: true, value: "small" });
  const message = "Query parameter 'p' must be small, middling or large";
  for (const text of ["", "Large", "toString"]) {
    const refusal = { kind: "bad_request", message, path: "p" };
    assert.deepEqual(decode(oneOf(sizes), text), { ok: false, refusal });
  }
});

Deno.test("cursor() takes an empty start for none", () => {
  assert.deepEqual(decode(PAGE_QUERY.start, ""), { ok: true, value: undefined });
  assert.deepEqual(decode(PAGE_QUERY.start, "a"), { ok: true, value: "a" });
});

Deno.test("queryDecoder() reports the first fault in the order of the rows", () => {
  const outcome = queryDecoder({ a: flag(), b: flag() })("b=x&a=x");
  assert.ok(!outcome.ok && outcome.refusal.kind === "bad_request");
  assert.equal(outcome.refusal.path, "a");
});

Deno.test("queryDecoder() refuses a parameter that is given twice, even with the same value", () => {
  const decodeQuery = queryDecoder({ a: flag(), b: flag() });
  for (const query of ["a=true&a=true", "b=true&a=true&a=false", "a&%61"]) {
    const outcome = decodeQuery(query);
    assert.ok(!outcome.ok && outcome.refusal.kind === "bad_request", query);
    assert.equal(outcome.refusal.message, "Query parameter 'a' is given more than once");
    assert.equal(outcome.refusal.path, "a");
  }
});

/** The query of each route. */
const ROUTES = new Map<string, Query>(
  PATHS.flatMap(({ pattern, methods }) =>
    [...methods].map(([method, { operation }]) =>
      [`${method} ${pattern}`, operation.query ?? {}] as const
    )
  ),
);

/** The message and the hint, or undefined where all parameters are known. */
function refused(route: string, query: string): string[] | undefined {
  const outcome = queryDecoder(ROUTES.get(route)!)(query);
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
    "It takes 'synchronous', 'at', 'at_length', 'live', 'wait', 'after_length', 'instance_id'",
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
    "It takes 'limit', 'start', 'cursor', 'prefix', 'resolve', 'synchronous', 'instance_id'",
  ]],
];

for (const [route, query, told] of ROWS) {
  Deno.test(`query parameters of ${route}: ${query.slice(0, 30) || "none"}`, () => {
    assert.deepEqual(refused(route, query), told);
  });
}

Deno.test("every route refuses a parameter that no route has", () => {
  for (const route of ROUTES.keys()) assert.ok(refused(route, "no_such_parameter=1"), route);
});
