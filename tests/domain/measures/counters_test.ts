/** The counters of one process. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  count,
  countDone,
  countErrors,
  countTransaction,
  newCounters,
  newHistogram,
  observe,
} from "../../../src/domain/measures/counters.ts";

Deno.test("newCounters() begins at 0 and shares nothing with another one", () => {
  const first = newCounters();
  count(first.eventsWritten, "client", 3);
  countTransaction(first.store, true, 2, 0.1);
  const second = newCounters();
  assert.ok([...second.eventsWritten.values()].every((value) => value === 0));
  assert.ok(second.store.commitSeconds.counts.every((value) => value === 0));
  assert.equal(second.store.retries, 0);
});

Deno.test("count() adds to a name, also to one that was not there", () => {
  const tally = new Map([["a", 1]]);
  count(tally, "a");
  count(tally, "b", 2);
  assert.deepEqual([...tally], [["a", 2], ["b", 2]]);
});

Deno.test("countDone() grows with every event written, write answered again and state read", () => {
  const counters = newCounters();
  count(counters.eventsWritten, "client", 3);
  count(counters.eventsWritten, "saga");
  count(counters.stateReads, "memory", 2);
  counters.writesReplayed++;
  assert.equal(countDone(counters), 7);
});

Deno.test("countErrors() counts each record by its type", () => {
  const counters = newCounters();
  countErrors(counters, [{ error_type: "internal" }, { error_type: "internal" }]);
  assert.equal(counters.errorRecords.get("internal"), 2);
  assert.equal(counters.errorRecords.get("unavailable"), 0);
});

Deno.test("countTransaction() counts reruns, and times only what took place", () => {
  const { store } = newCounters();
  countTransaction(store, true, 1, 0.002);
  countTransaction(store, true, 4, 0.2);
  countTransaction(store, false, 3, 9);
  countTransaction(store, false, 0, 0);
  assert.deepEqual([...store.transactions], [["committed", 2], ["failed", 2]]);
  assert.equal(store.retries, 5);
  assert.equal(store.commitSeconds.sum, 0.202);
  assert.equal(store.commitSeconds.counts.reduce((a, b) => a + b), 2);
});

Deno.test("observe() counts a value that equals a bound under it, and what is above all last", () => {
  const histogram = newHistogram([1, 2, 5]);
  for (const value of [0, 1, 1.5, 2, 5, 5.1, 100]) observe(histogram, value);
  assert.deepEqual(histogram.counts, [2, 2, 1, 2]);
  assert.ok(Math.abs(histogram.sum - 114.6) < 1e-9);
});

Deno.test("observe() counts as filtering would", () => {
  const bound = fc.integer({ min: -100, max: 100 });
  const bounds = fc.uniqueArray(bound).map((list) => list.sort((a, b) => a - b));
  fc.assert(fc.property(bounds, fc.array(fc.integer({ min: -150, max: 150 })), (bounds, values) => {
    const histogram = newHistogram(bounds);
    for (const value of values) observe(histogram, value);
    let total = 0;
    for (const [index, bound] of bounds.entries()) {
      total += histogram.counts[index]!;
      assert.equal(total, values.filter((value) => value <= bound).length);
    }
    assert.equal(total + histogram.counts.at(-1)!, values.length);
    assert.equal(histogram.sum, values.reduce((sum, value) => sum + value, 0));
  }));
});
