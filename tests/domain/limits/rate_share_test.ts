/**
 * Shares of a window that processes divide, by `src/domain/limits/rate_share.ts`: exact
 * numbers.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type PartRequest,
  type SharedWindow,
  takePart,
} from "../../../src/domain/limits/rate_share.ts";

const REQUEST: PartRequest = {
  owner: "a",
  windowMs: undefined,
  wallMs: 1_000_000,
  limit: 600,
  waiting: 0,
};

Deno.test("a process that is alone takes a fortieth of the limit, two half of that each", () => {
  const first = takePart(undefined, REQUEST);
  assert.deepEqual([first.count, first.usual, first.windowMs], [15, 15, 1_000_000]);
  const second = takePart(first.stored, { ...REQUEST, owner: "b" });
  assert.deepEqual([second.count, second.usual], [7, 7]);
  assert.deepEqual(second.stored, {
    atMs: 1_000_000,
    taken: [[2_000, 22]],
    holders: { a: 1_000_000, b: 1_000_000 },
  });
});

Deno.test("as much is taken as requests wait, and never more than is left", () => {
  const many = takePart(undefined, { ...REQUEST, waiting: 590 });
  assert.equal(many.count, 590);
  const rest = takePart(many.stored, { ...REQUEST, windowMs: 1_000_400, waiting: 30 });
  assert.equal(rest.count, 10);
  assert.equal(takePart(rest.stored, { ...REQUEST, windowMs: 1_060_499, waiting: 30 }).count, 0);
  assert.equal(takePart(rest.stored, { ...REQUEST, windowMs: 1_060_500, waiting: 30 }).count, 30);
});

Deno.test("a lower limit than what is taken gives nothing, and takes nothing back", () => {
  const many = takePart(undefined, { ...REQUEST, limit: 6_000, waiting: 700 });
  const after = takePart(many.stored, { ...REQUEST, windowMs: 1_000_000 });
  assert.equal(after.count, 0);
  assert.deepEqual(after.stored.taken, many.stored.taken);
});

Deno.test("who begins takes the window's time, whatever its clock says, unless nobody has asked for minutes", () => {
  const stored = takePart(undefined, { ...REQUEST, waiting: 600 }).stored;
  for (const wallMs of [0, 999_000, 1_000_000, 1_060_500, 1_119_999]) {
    const part = takePart(stored, { ...REQUEST, owner: "b", wallMs, waiting: 1 });
    assert.deepEqual([part.windowMs, part.count], [1_000_000, 0], `${wallMs}`);
  }
  const late = takePart(stored, { ...REQUEST, owner: "b", wallMs: 1_120_000, waiting: 1 });
  assert.deepEqual([late.windowMs, late.count], [1_120_000, 15]);
});

Deno.test("whoever knows a later time tells it to the others", () => {
  const ahead = takePart(undefined, { ...REQUEST, wallMs: 2_000_000 }).stored;
  const behind = takePart(ahead, { ...REQUEST, owner: "b", windowMs: 1_990_000 });
  assert.equal(behind.windowMs, 2_000_000);
});

Deno.test("who has not asked for a minute has no part any more", () => {
  const first = takePart(undefined, REQUEST).stored;
  const { stored } = takePart(first, { ...REQUEST, owner: "b", windowMs: 1_060_500 });
  assert.deepEqual(Object.keys(stored.holders), ["b"]);
});

Deno.test("what is taken within a minute of the window's time is never more than the limit", () => {
  const step = fc.record({
    owner: fc.constantFrom("a", "b", "c"),
    passMs: fc.oneof(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 0, max: 90_000 })),
    lagMs: fc.integer({ min: 0, max: 5_000 }),
    waiting: fc.integer({ min: 0, max: 40 }),
    isNew: fc.boolean(),
    wallMs: fc.integer({ min: 0, max: 2_000_000 }),
  });
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100 }),
      fc.array(step, { maxLength: 80 }),
      (limit, steps) => {
        let stored: SharedWindow | undefined;
        let nowMs = 1_000_000;
        const taken: { atMs: number; count: number }[] = [];
        for (const { owner, passMs, lagMs, waiting, isNew, wallMs } of steps) {
          nowMs += passMs;
          const windowMs = isNew && stored !== undefined ? undefined : nowMs - lagMs;
          const part = takePart(stored, { owner, windowMs, wallMs, limit, waiting });
          // A clock that is minutes ahead is trusted if nobody has asked for minutes.
          nowMs = Math.max(nowMs, part.windowMs);
          stored = JSON.parse(JSON.stringify(part.stored));
          taken.push({ atMs: part.windowMs, count: part.count });
          const within = taken.filter(({ atMs }) => part.windowMs - atMs <= 60_000);
          const sum = within.reduce((total, { count }) => total + count, 0);
          assert.ok(sum <= limit, `${sum} of ${limit}`);
        }
      },
    ),
    { numRuns: 1_000 },
  );
});
