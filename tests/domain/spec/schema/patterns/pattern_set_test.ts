/** The patterns of one spec: bounded together in size and in what matching caches. */

import assert from "node:assert/strict";
import { newBudget } from "../../../../../src/domain/budget.ts";
import {
  CACHE_BYTES_MAX,
  createPatternSet,
  INSTRUCTIONS_MAX,
} from "../../../../../src/domain/spec/schema/patterns/pattern_set.ts";

Deno.test("createPatternSet() compiles each pattern once", () => {
  const patterns = createPatternSet();
  assert.equal(patterns.compile("^a+$"), patterns.compile("^a+$"));
});

Deno.test("createPatternSet() refuses the pattern that is too much, and says the limit", () => {
  const patterns = createPatternSet();
  let accepted = 0;
  for (let count = 900; count > 0; count--) {
    const result = patterns.compile(`^[a-z]{${count}}$`);
    if (result.ok) accepted++;
    else {
      assert(result.message.includes(`${INSTRUCTIONS_MAX} instructions together`));
      break;
    }
  }
  assert(accepted >= 20 && accepted < 30, `${accepted}`);
  assert(patterns.compile("^[a-z]{900}$").ok, "what was accepted stays accepted");
});

Deno.test("createPatternSet() forgets what matching keeps when it grows beyond the bound", () => {
  const patterns = createPatternSet();
  let held = 0;
  let wasReleased = false;
  for (let count = 60; count < 76; count++) {
    const result = patterns.compile(`[ab]*a[ab]{${count}}[cd]`);
    assert(result.ok);
    // Few texts are worse: each step through this one reaches a new state.
    let text = "";
    for (let at = 0, seed = count; at < 4_000; at++) {
      seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
      text += seed % 65_536 < 32_768 ? "a" : "b";
    }
    assert.equal(result.pattern.test(text, newBudget(1e9)), false);
    assert.equal(result.pattern.test(`${text}a${"b".repeat(count)}c`, newBudget(1e9)), true);
    assert(patterns.cacheBytes() <= CACHE_BYTES_MAX);
    if (patterns.cacheBytes() < held) wasReleased = true;
    held = patterns.cacheBytes();
  }
  assert(wasReleased);
});
