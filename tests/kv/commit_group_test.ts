/** Which transactions are committed together: small ones never wait for a queue of large ones. */

import assert from "node:assert/strict";
import * as fc from "fast-check";
import {
  GROUP_ROWS_MAX,
  GROUP_TRANSACTIONS_MAX,
  openGroupChooser,
} from "../../src/kv/commit_group.ts";

const LARGE = GROUP_ROWS_MAX + 1;

/** The groups in which these are committed if nothing else arrives. */
function groupsOf(queue: number[]): number[][] {
  const chooser = openGroupChooser<number>((rows) => rows);
  const groups: number[][] = [];
  while (queue.length > 0) groups.push(chooser.take(queue));
  return groups;
}

const CASES: readonly (readonly [string, number[], number[][]])[] = [
  ["a single small one goes at once", [3], [[3]]],
  ["a single large one goes alone", [LARGE], [[LARGE]]],
  ["what fits together goes together", [1, 2, 3], [[1, 2, 3]]],
  ["a group is full at its last row", [1_999, 1, 1], [[1_999, 1], [1]]],
  ["what does not fit lets smaller ones pass", [1_500, 600, 2], [[1_500, 2], [600]]],
  ["small ones go before a large one", [LARGE, 1, 2], [[1, 2], [LARGE]]],
  ["large ones go one at a time", [LARGE, LARGE + 1], [[LARGE], [LARGE + 1]]],
  [
    "a large one has its turn after each group of others",
    [1_500, LARGE, 1_400, LARGE + 1, 1_300],
    [[1_500], [LARGE], [1_400], [LARGE + 1], [1_300]],
  ],
];

for (const [name, queue, expected] of CASES) {
  Deno.test(`commit groups: ${name}`, () => {
    assert.deepEqual(groupsOf([...queue]), expected);
  });
}

Deno.test("commit groups: a small transaction waits for one large one, however many come", () => {
  const chooser = openGroupChooser<number>((rows) => rows);
  const queue = [LARGE, LARGE, LARGE];
  for (let round = 0; round < 50; round++) {
    queue.push(1, LARGE);
    const groups = [chooser.take(queue), chooser.take(queue)];
    assert.equal(groups.flat().filter((rows) => rows === 1).length, 1);
    assert.equal(groups.flat().filter((rows) => rows === LARGE).length, 1);
  }
});

Deno.test("commit groups: a group has no more transactions than its stamps can count", () => {
  const queue = Array.from({ length: GROUP_TRANSACTIONS_MAX + 1 }, () => 0);
  assert.deepEqual(groupsOf(queue).map(({ length }) => length), [GROUP_TRANSACTIONS_MAX, 1]);
});

Deno.test("commit groups: each transaction is taken once, within the limit or alone", () => {
  const rows = fc.oneof(fc.nat(50), fc.nat(GROUP_ROWS_MAX), fc.integer({ min: 2_001, max: 9_000 }));
  fc.assert(fc.property(fc.array(rows, { maxLength: 60 }), (queue) => {
    const groups = groupsOf([...queue]);
    assert.deepEqual(groups.flat().toSorted((a, b) => a - b), queue.toSorted((a, b) => a - b));
    for (const group of groups) {
      const sum = group.reduce((total, one) => total + one, 0);
      assert.ok(group.length > 0 && (group.length === 1 || sum <= GROUP_ROWS_MAX));
    }
  }));
});
