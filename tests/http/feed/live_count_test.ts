/** Places for live answers: those of an instance, and those of the process. */

import assert from "node:assert/strict";
import { limits } from "../../../src/domain/limits.ts";
import { openLiveCount } from "../../../src/http/feed/live_count.ts";

Deno.test("an instance has so many places, and others have the rest", () => {
  const count = openLiveCount();
  for (let n = 0; n < limits.liveAnswersPerInstanceMax; n++) assert.equal(count.enter("a"), true);
  assert.equal(count.enter("a"), false);
  const rest = limits.liveAnswersMax - limits.liveAnswersPerInstanceMax;
  for (let n = 0; n < rest; n++) assert.equal(count.enter("b"), true);
  assert.equal(count.enter("b"), false);
  assert.equal(count.underWay, limits.liveAnswersMax);
  count.leave("a");
  assert.equal(count.enter("c"), true);
  count.leave("c");
  assert.equal(count.enter("a"), true);
});
