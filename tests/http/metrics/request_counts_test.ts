/** What is counted of requests, and that no client can make the counters grow without end. */

import assert from "node:assert/strict";
import {
  countRequest,
  newRequestCounts,
  type RequestCounts,
} from "../../../src/http/metrics/request_counts.ts";

/** `[route, method, statuses, requests by class]` of every series. */
function table({ routes }: RequestCounts) {
  return [...routes].flatMap(([route, methods]) =>
    [...methods].map(([method, { byStatus, seconds }]) => {
      const classes = [...seconds].map(([digit, { counts, sum }]) => [
        digit,
        counts.reduce((a, b) => a + b),
        sum,
      ]);
      return [route, method, [...byStatus], classes];
    })
  );
}

Deno.test("countRequest() counts by route, method and status, and times by class", () => {
  const counts = newRequestCounts();
  countRequest(counts, "/{type}", "GET", 200, 0.5);
  countRequest(counts, "/{type}", "GET", 200, 0.25);
  countRequest(counts, "/{type}", "GET", 404, 0.125);
  countRequest(counts, "/{type}", "GET", 401, 1);
  countRequest(counts, "/{type}", "HEAD", 200, 2);
  countRequest(counts, "/_sagas", "GET", 503, 4);
  assert.deepEqual(table(counts), [
    ["/{type}", "GET", [[200, 2], [404, 1], [401, 1]], [[2, 2, 0.75], [4, 2, 1.125]]],
    ["/{type}", "HEAD", [[200, 1]], [[2, 1, 2]]],
    ["/_sagas", "GET", [[503, 1]], [[5, 1, 4]]],
  ]);
});

Deno.test("countRequest() takes every method that nobody knows for one", () => {
  const counts = newRequestCounts();
  for (let n = 0; n < 10_000; n++) countRequest(counts, "none", `METHOD${n}`, 404, 0);
  countRequest(counts, "none", "get", 404, 0);
  assert.deepEqual(table(counts), [["none", "other", [[404, 10_001]], [[4, 10_001, 0]]]]);
});
