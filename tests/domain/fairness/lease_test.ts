/** Who counts as working, by what one process has heard. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  forgottenOwners,
  hear,
  type HeardWorkers,
  LEASE_LIFETIME_MS,
  LEASE_RENEWAL_MS,
  LEASE_SILENCE_MS,
  liveOwners,
} from "../../../src/domain/fairness/lease.ts";

const NOBODY: HeardWorkers = new Map();

/** Listens for a while, with a look at each of these pauses; `said` is what is heard each time. */
function listen(pauses: readonly number[], said: (look: number) => number | undefined) {
  let heard = NOBODY;
  for (const [look, passedMs] of pauses.entries()) {
    const announcedMs = said(look);
    heard = hear(heard, announcedMs === undefined ? [] : [{ owner: "a", announcedMs }], passedMs);
  }
  return heard;
}

function looks(count: number): number[] {
  return Array.from({ length: count }, () => LEASE_RENEWAL_MS);
}

Deno.test("a process that is heard of for the first time works, whatever its clock says", () => {
  for (const announcedMs of [0, 1, Date.now(), 9e15]) {
    assert.deepEqual(liveOwners(listen([Infinity], () => announcedMs)), new Set(["a"]));
  }
});

Deno.test("a process works as long as it says something new, also if its clock runs backwards", () => {
  assert.deepEqual(liveOwners(listen(looks(100), (look) => look)), new Set(["a"]));
  assert.deepEqual(liveOwners(listen(looks(100), (look) => -look)), new Set(["a"]));
});

Deno.test("a silent process is live until the silence is over, and not a look longer", () => {
  const enough = Math.ceil(LEASE_SILENCE_MS / LEASE_RENEWAL_MS);
  assert.equal(liveOwners(listen(looks(enough), () => 5)).size, 1);
  assert.equal(liveOwners(listen(looks(enough + 1), () => 5)).size, 0);
});

Deno.test("a process that did not look for an hour takes over nothing at its next look", () => {
  assert.equal(liveOwners(listen([0, 3_600_000], () => 5)).size, 1);
  assert.equal(liveOwners(listen([0, 3_600_000, 3_600_000], () => 5)).size, 1);
});

Deno.test("a process that has gone in order is no worker any more, at once", () => {
  const heard = listen(looks(2), (look) => look === 0 ? 5 : undefined);
  assert.deepEqual([liveOwners(heard).size, forgottenOwners(heard).length], [0, 0]);
});

Deno.test("a process that is silent for a minute is forgotten, one that speaks never", () => {
  const minute = Math.ceil(60_000 / LEASE_RENEWAL_MS);
  assert.deepEqual(forgottenOwners(listen(looks(minute), () => 5)), []);
  assert.deepEqual(forgottenOwners(listen(looks(minute + 1), () => 5)), ["a"]);
  assert.deepEqual(forgottenOwners(listen(looks(2 * minute), (look) => look)), []);
});

Deno.test("nobody is taken for silent who announced itself in time, however looks are spaced", () => {
  const pauses = fc.array(fc.nat(LEASE_SILENCE_MS - LEASE_RENEWAL_MS - 1), { minLength: 2 });
  fc.assert(fc.property(pauses, (spaced) => {
    let nowMs = 0;
    const times = spaced.map((pause) => nowMs += pause);
    const heard = listen(spaced, (look) => Math.floor(times[look]! / LEASE_RENEWAL_MS));
    assert.equal(liveOwners(heard).size, 1);
  }));
});

Deno.test("an owner stops before others take over, after two announcements that fail", () => {
  assert.ok(LEASE_LIFETIME_MS < LEASE_SILENCE_MS);
  assert.ok(LEASE_LIFETIME_MS > 3 * LEASE_RENEWAL_MS);
});
