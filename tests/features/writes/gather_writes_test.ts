/** When waiting writes are committed: how many are awaited, how long, and when none are. */

import assert from "node:assert/strict";
import { openGathering } from "../../../src/features/writes/gather_writes.ts";

/** A gathering with a tenth of a millisecond between two looks. */
function openTimed(stepMs = 0.1, turnMs = stepMs) {
  let nowMs = 0;
  const gathering = openGathering(() => nowMs);
  return {
    ...gathering,
    look(writes: number, bytes = 300 * writes) {
      nowMs += stepMs;
      return gathering.look({ writes, bytes }, nowMs - turnMs);
    },
    /** One transaction with this many writes, during which others arrived. */
    commit(writes: number, waiting: number) {
      gathering.begin(writes);
      gathering.end(writes, waiting);
    },
  };
}

/** Looks until there is a commit; returns how many looks came before it. */
function looksUntilCommit(look: (waiting: number) => string, waiting: number): number {
  for (let looks = 0;; looks++) {
    const next = look(waiting);
    if (next === "commit") return looks;
    assert.equal(next, "next_turn");
  }
}

Deno.test("the first write waits for nobody, and neither does a writer who is alone", () => {
  const { look, commit } = openTimed();
  for (let turn = 0; turn < 5; turn++) {
    assert.equal(look(1), "commit");
    commit(1, 0);
  }
});

Deno.test("after a turn of ten milliseconds nobody is waited for, and after a shorter one others are", () => {
  for (const [turnMs, next] of [[10, "commit"], [9.9, "next_turn"]] as const) {
    const { look, commit } = openTimed(0.01, turnMs);
    commit(28, 36);
    assert.equal(look(63), next);
  }
  const { look, commit, begin } = openTimed(0.01, 10);
  commit(28, 36);
  begin(8);
  assert.equal(look(1), "commit", "nor is a transaction that is under way");
});

Deno.test("as many are waited for as were writing around the last commit", () => {
  const { look, commit } = openTimed(0.01);
  commit(28, 36);
  for (const waiting of [36, 40, 63]) assert.equal(look(waiting), "next_turn");
  assert.equal(look(64), "commit");
  commit(64, 0);
  assert.equal(look(63), "next_turn");
  assert.equal(look(64), "commit");
  commit(20, 0);
  assert.equal(look(20), "commit", "no more than those are writing now");
});

Deno.test("what comes beside a transaction waits until that has ended, or all are there", () => {
  const { look, begin, end } = openTimed(1);
  assert.equal(look(5), "commit");
  begin(5);
  end(5, 5);
  assert.equal(look(10), "commit");
  begin(10);
  for (let turn = 0; turn < 3; turn++) assert.equal(look(5), "next_change");
  assert.equal(look(10), "commit", "as many as are known are there");
});

Deno.test("what comes beside transactions that never end all at once waits for ten milliseconds", () => {
  const { look, begin, end } = openTimed(1);
  assert.equal(look(60), "commit");
  begin(60);
  for (let turn = 0; turn < 10; turn++) {
    begin(1);
    end(1, 1);
    assert.equal(look(1), "next_change");
  }
  assert.equal(look(1), "commit");
  assert.equal(look(1), "next_change", "the next one has ten milliseconds of its own");
});

Deno.test("two halves that overtake each other are known for one", () => {
  const { look, begin, end } = openTimed(0.01);
  for (let half = 0; half < 2; half++) {
    assert.equal(look(8), "commit");
    begin(8);
  }
  end(8, 0);
  assert.equal(look(8), "next_change");
  end(8, 8);
  assert.equal(look(8), "next_turn");
  assert.equal(look(16), "commit");
});

Deno.test("all that went into several transactions at once are waited for, up to 128", () => {
  const { look, begin, end } = openTimed(0.01);
  for (const [last, all] of [[22, 86], [63, 127], [64, 128], [65, 128], [900, 128]] as const) {
    assert.equal(look(64 + last), "commit");
    for (const writes of [64, last]) begin(writes);
    for (const writes of [64, last]) end(writes, 0);
    assert.equal(look(all - 1), "next_turn");
    assert.equal(look(all), "commit");
  }
});

Deno.test("what takes long to write waits for nobody", () => {
  const { look, begin, end } = openTimed();
  for (let batch = 0; batch < 2; batch++) {
    assert.equal(look(1, 3_000_000), "commit");
    begin(1);
  }
  end(1, 0);
  assert.equal(look(1, 256 * 1024 - 1), "next_change");
  assert.equal(look(1, 256 * 1024), "commit");
});

Deno.test("turns in which nothing comes are waited for 0.4 ms in all, however long others take", () => {
  const { look, commit } = openTimed(0.125);
  commit(50, 50);
  // Each of these brings a write, however long it takes.
  for (let waiting = 50; waiting < 90; waiting++) assert.equal(look(waiting), "next_turn");
  assert.equal(looksUntilCommit(look, 90), 4, "one that brings the last, and 0.375 ms");
});

Deno.test("with a clock that stands still a wait ends all the same", () => {
  const { look, commit } = openTimed(0);
  commit(5, 5);
  assert.equal(looksUntilCommit(look, 5), 300);
});

Deno.test("after waits in vain ever more commits do not wait, until one is worth it", () => {
  const { look, commit } = openTimed(0.1);
  /** How many commits in a row did not wait, though they could have waited for one more write. */
  function skipped(): number {
    for (let commits = 0;; commits++) {
      commit(5, 5);
      if (looksUntilCommit(look, 5) > 0) return commits;
    }
  }
  assert.deepEqual([0, 1, 2, 3, 4, 5, 6].map(skipped), [0, 1, 3, 7, 15, 31, 31]);
  commit(5, 5);
  assert.equal(look(10), "commit");
  assert.deepEqual([0, 1].map(skipped), [0, 1]);
  for (let commits = 0; commits < 3; commits++) {
    commit(5, 5);
    assert.equal(look(5), "commit");
  }
  commit(5, 5);
  assert.equal(look(5), "next_turn");
  assert.ok(looksUntilCommit(look, 6) > 0, "one came, which was worth it");
  assert.equal(skipped(), 0);
});
