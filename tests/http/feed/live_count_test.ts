/** Room for live answers: what those of an instance may take, and those of the process. */

import assert from "node:assert/strict";
import { limits } from "../../../src/domain/limits.ts";
import { liveBytesOf, openLiveCount } from "../../../src/http/feed/live_count.ts";

Deno.test("an instance has so many bytes, and others have the rest", () => {
  const count = openLiveCount();
  const own = limits.liveAnswersBytesPerInstanceMax;
  assert.equal(count.enter("a", own - 1), true);
  assert.equal(count.enter("a", 2), false);
  assert.equal(count.enter("a", 1), true);
  assert.equal(count.enter("a", 1), false);
  const rest = limits.liveAnswersBytesMax - own;
  assert.equal(count.enter("b", rest), true);
  assert.equal(count.enter("b", 1), false);
  assert.equal(count.enter("c", 1), false);
  assert.equal(count.underWay, 3);
  count.leave("a", 1);
  assert.equal(count.enter("c", 1), true);
  count.leave("c", 1);
  assert.equal(count.enter("a", 1), true);
  assert.equal(count.underWay, 3);
});

Deno.test("a live answer takes 64 KiB, three times its head, and 256 bytes for each header", () => {
  const url = "http://127.0.0.1/_feed";
  const taken = (...headers: [string, string][]) => liveBytesOf(new Request(url, { headers }));
  const bare = 64 * 1024 + 3 * url.length;
  assert.equal(taken(), bare);
  assert.equal(taken(["x-a", "12345"]), bare + 3 * 8 + 256);
  assert.equal(taken(["x-a", "12345"], ["x-bc", ""]), bare + 3 * 12 + 2 * 256);
  assert.equal(liveBytesOf(new Request(`${url}?${"q".repeat(1_000)}`)), bare + 3 * 1_001);
});

Deno.test("a header that comes many times counts with each of its values", () => {
  const values = Array.from({ length: 90 }, (): [string, string] => ["x-a", "a".repeat(600)]);
  const request = new Request("http://127.0.0.1/", { headers: values });
  assert.ok(liveBytesOf(request) >= 3 * 90 * 600);
});
