/** CORS headers: three headers for all origins, everything for named origins. */

import assert from "node:assert/strict";
import { createCors } from "../../../src/http/middleware/cors.ts";
import { HEADERS } from "../../../src/http/openapi/errors.ts";
import { PATHS } from "../../../src/http/paths.ts";

const OPEN = createCors([], "SVC");
const APP = "https://app.example.com";
const NAMED = createCors([APP, "http://localhost:5173"], "ACME");

function namesIn(header: string | null): string[] {
  return (header ?? "").split(",").map((name) => name.trim().toLowerCase()).sort();
}

Deno.test("a preflight is 204 with the contract's three headers, how long they hold, and the request id", () => {
  for (const origin of [null, APP]) {
    const response = OPEN.answerPreflight("req_1", origin);
    assert.equal(response.status, 204);
    assert.deepEqual(Object.fromEntries(response.headers), {
      "access-control-allow-headers": "Authorization, Content-Type",
      "access-control-allow-methods": "GET, POST, OPTIONS",
      "access-control-allow-origin": "*",
      "access-control-max-age": "7200",
      "x-request-id": "req_1",
    });
  }
});

Deno.test("a named origin may use every method that a path has, and the headers that the API reads", () => {
  const { headers } = NAMED.answerPreflight("req_1", APP);
  assert.equal(headers.get("access-control-allow-origin"), APP);
  assert.equal(headers.get("vary"), "Origin");
  const methods = namesIn(headers.get("access-control-allow-methods"));
  for (const method of new Set(PATHS.flatMap((path) => [...path.methods.keys()]))) {
    assert.ok(methods.includes(method.toLowerCase()), method);
  }
  const allowed = namesIn(headers.get("access-control-allow-headers"));
  for (const name of ["authorization", "content-type", "x-idempotency-key", "if-none-match"]) {
    assert.ok(allowed.includes(name), name);
  }
});

Deno.test("an origin that is not named gets what every origin gets", () => {
  const others = ["https://app.example.com:8443", "http://app.example.com", "https://example.com"];
  for (const origin of [null, "null", ...others]) {
    const { headers } = NAMED.answerPreflight("req_1", origin);
    assert.equal(headers.get("access-control-allow-origin"), "*");
    assert.equal(headers.get("access-control-allow-methods"), "GET, POST, OPTIONS");
    assert.equal(headers.get("vary"), "Origin");
  }
});

Deno.test("answers to pages let them read each header that the API documents", () => {
  const response = new Response("", { headers: { "access-control-allow-origin": "*" } });
  OPEN.expose(response, APP);
  assert.equal(response.headers.get("access-control-allow-origin"), "*");
  const exposed = namesIn(response.headers.get("access-control-expose-headers"));
  for (const name of [...Object.keys(HEADERS), "X-SVC-Projection-Lag", "Content-Disposition"]) {
    assert.ok(exposed.includes(name.toLowerCase()), name);
  }
});

Deno.test("exposed names have the deployment's own prefix, and a named origin is named back", () => {
  const response = new Response("", { headers: { "access-control-allow-origin": "*" } });
  NAMED.expose(response, APP);
  assert.equal(response.headers.get("access-control-allow-origin"), APP);
  assert.equal(response.headers.get("vary"), "Origin");
  const exposed = namesIn(response.headers.get("access-control-expose-headers"));
  assert.ok(exposed.includes("x-acme-projection-lag"));
  assert.ok(!exposed.some((name) => name.startsWith("x-svc-")));
});

Deno.test("who is no page is told nothing about pages", () => {
  const response = new Response("", { headers: { "access-control-allow-origin": "*" } });
  OPEN.expose(response, null);
  assert.deepEqual([...response.headers.keys()], ["access-control-allow-origin", "content-type"]);
});
