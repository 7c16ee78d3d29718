/** Times that clients send. */

import assert from "node:assert/strict";
import { parseUtcTime } from "../../src/domain/utc_time.ts";

Deno.test("ISO 8601 in UTC, with parts of a second or without", () => {
  assert.equal(parseUtcTime("1970-01-01T00:00:00Z"), 0);
  assert.equal(parseUtcTime("1970-01-01T00:00:01.5Z"), 1_500);
  assert.equal(parseUtcTime("2024-02-29T12:00:00Z"), Date.UTC(2024, 1, 29, 12));
});

Deno.test("other forms, other zones and days that are none are no times", () => {
  const others = [
    "",
    "now",
    "2030-01-31",
    "2030-01-31T12:00Z",
    "2030-01-31T12:00:00",
    "2030-01-31T12:00:00+01:00",
    "2023-02-29T12:00:00Z",
    "2030-02-30T12:00:00Z",
    "2030-13-01T12:00:00Z",
    "2030-01-31T25:00:00Z",
    " 2030-01-31T12:00:00Z",
  ];
  for (const text of others) assert.equal(parseUtcTime(text), undefined, text);
});
