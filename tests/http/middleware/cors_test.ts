/** The preflight. Spec: "Conventions", CORS. */

import assert from "node:assert/strict";
import { answerPreflight } from "../../../src/http/middleware/cors.ts";

Deno.test("answerPreflight() is 204 with exactly the contract's three headers and the request id", () => {
  const response = answerPreflight("req_1");
  assert.equal(response.status, 204);
  assert.deepEqual(Object.fromEntries(response.headers), {
    "access-control-allow-headers": "Authorization, Content-Type",
    "access-control-allow-methods": "GET, POST, OPTIONS",
    "access-control-allow-origin": "*",
    "x-request-id": "req_1",
  });
});
