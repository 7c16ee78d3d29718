/**
 * Which transactions are committed together: owners take turns, and large ones go alone. A group
 * leaves the store as its transactions would, and sets each key once.
 */

import assert from "node:assert/strict";
import * as fc from "fast-check";
import { bytesOf, textOf, type TextRange } from "../../../src/kv/byte_text.ts";
import { hashOf } from "../../../src/kv/key_map.ts";
import {
  applyGroup,
  GROUP_TRANSACTIONS_MAX,
  GROUP_WEIGHT_MAX,
  openGroupChooser,
  type Queued,
  SHARED_WEIGHT_MAX,
  weightOf,
} from "../../../src/kv/sqlite/commit_group.ts";
import type { StoreChange } from "../../../src/kv/sqlite/pairs.ts";
import * as own from "../../../src/kv/transaction/buffered_transaction.ts";

const LARGE = GROUP_WEIGHT_MAX + 1;

/** Weight of a transaction of owner 1, or weight and owner. */
type Given = number | readonly [weight: number, owner: number];

function queued(given: Given): Queued {
  const [weight, owner] = typeof given === "number" ? [given, 1] : given;
  return { weight, owner };
}

/** The weights of the groups in which these are committed, where nothing arrives meanwhile. */
function groupsOf(given: readonly Given[]): number[][] {
  const chooser = openGroupChooser(() => 0);
  const queue = given.map(queued);
  const groups: number[][] = [];
  while (queue.length > 0) groups.push(chooser.take(queue).map(({ weight }) => weight));
  return groups;
}

const CASES: readonly (readonly [string, readonly Given[], number[][]])[] = [
  ["a single small one goes at once", [3], [[3]]],
  ["a single large one goes alone", [LARGE], [[LARGE]]],
  ["what fits together goes together", [1, [2, 2], 3], [[1, 2, 3]]],
  ["a group is full at its last row", [980, 20, 20], [[980, 20], [20]]],
  ["those of one owner keep their order", [750, 300, 2], [[750], [300, 2]]],
  [
    "owners take turns: the second one does not wait for the queue of the first",
    [150, 100, 95, 90, [30, 2], [20, 2]],
    [[150, 30, 100, 20], [95, 90]],
  ],
  [
    "an owner whose next one does not fit lets the others go on",
    [150, 200, [10, 2], [20, 2], [30, 2]],
    [[150, 10, 20, 30], [200]],
  ],
  [
    "what is large for several owners goes alone, though it would not for one",
    [SHARED_WEIGHT_MAX, SHARED_WEIGHT_MAX + 1, [2, 2]],
    [[SHARED_WEIGHT_MAX], [SHARED_WEIGHT_MAX + 1], [2]],
  ],
  ["all others go before a large one", [LARGE, 1, [2, 2]], [[1, 2], [LARGE]]],
  ["large ones go one at a time", [LARGE, LARGE + 1], [[LARGE], [LARGE + 1]]],
  [
    "a large one has its turn after each group of others",
    [750, LARGE, 700, LARGE + 1, 650],
    [[750], [LARGE], [700], [LARGE + 1], [650]],
  ],
];

for (const [name, given, expected] of CASES) {
  Deno.test(`commit groups: ${name}`, () => {
    assert.deepEqual(groupsOf(given), expected);
  });
}

Deno.test("commit groups: an owner waits for one group and one large transaction, however much others queue", () => {
  const chooser = openGroupChooser(() => 0);
  const queue = [LARGE, 150, LARGE].map(queued);
  for (let round = 0; round < 50; round++) {
    const other = queued([1, 2]);
    queue.push(...[LARGE, 290, 290].map(queued), other);
    const groups = [chooser.take(queue), chooser.take(queue)];
    assert.ok(groups.flat().includes(other));
    assert.equal(groups.flat().filter(({ weight }) => weight === LARGE).length, 1);
  }
});

Deno.test("commit groups: while several owners write, a group weighs less, and a second longer", () => {
  let nowMs = 0;
  const chooser = openGroupChooser(() => nowMs);
  const queue: Queued[] = [];
  const take = (...given: Given[]) => {
    queue.push(...given.map(queued));
    return chooser.take(queue).map(({ weight }) => weight);
  };
  assert.deepEqual(take(200, 200), [200, 200]);
  assert.deepEqual(take([1, 2]), [1], "a second owner");
  assert.deepEqual(take(200, 200), [200], "the first one again");
  nowMs = 999;
  assert.deepEqual(take(), [200]);
  assert.deepEqual(take(200, 200), [200]);
  nowMs = 1_000;
  assert.deepEqual(take(200), [200, 200]);
  queue.push({ weight: 200, owner: undefined });
  assert.deepEqual(take(200), [200, 200], "what nobody owns is no second owner");
});

Deno.test("commit groups: a row weighs one, and so does a KiB", () => {
  const buffer = own.emptyWriteBuffer();
  for (const text of ["a", "b"]) own.putWrite(buffer, bytesOf(text), bytesOf(text));
  buffer.stamped.push({ prefix: bytesOf("c"), suffix: bytesOf(""), value: bytesOf("") });
  assert.equal(weightOf(buffer, 1_023), 3);
  assert.equal(weightOf(buffer, 1_024), 4);
  assert.equal(weightOf(buffer, 8 * 1024 * 1024), 3 + 8_192);
});

Deno.test("commit groups: a group has no more transactions than its stamps can count", () => {
  const given = Array.from({ length: GROUP_TRANSACTIONS_MAX + 1 }, () => 0);
  assert.deepEqual(groupsOf(given).map(({ length }) => length), [GROUP_TRANSACTIONS_MAX, 1]);
});

Deno.test("commit groups: each transaction is taken once, within the limit or alone", () => {
  const weight = fc.oneof(
    fc.nat(50),
    fc.nat(GROUP_WEIGHT_MAX),
    fc.integer({ min: 2_001, max: 9_000 }),
  );
  const given = fc.array(fc.tuple(weight, fc.nat(4)), { maxLength: 60 });
  fc.assert(fc.property(given, (given) => {
    const groups = groupsOf(given);
    const all = given.map(([weight]) => weight);
    assert.deepEqual(groups.flat().toSorted((a, b) => a - b), all.toSorted((a, b) => a - b));
    for (const group of groups) {
      const sum = group.reduce((total, one) => total + one, 0);
      assert.ok(group.length > 0 && (group.length === 1 || sum <= GROUP_WEIGHT_MAX));
    }
  }));
});

type Pairs = Map<string, string>;
type Doing = (buffer: own.WriteBuffer) => void;

const anyText = fc.constantFrom("a", "b", "c", "d", "e");
const anyDoing: fc.Arbitrary<Doing> = fc.oneof(
  fc.tuple(anyText, fc.bigInt(0n, 9n)).map(([text, value]): Doing => (buffer) =>
    own.putWrite(buffer, bytesOf(text), own.addToCounter(undefined, value))
  ),
  anyText.map((text): Doing => (buffer) => own.putWrite(buffer, bytesOf(text), undefined)),
  fc.tuple(anyText, fc.bigInt(-9n, 9n)).map(([text, delta]): Doing => (buffer) =>
    own.addWrite(buffer, bytesOf(text), delta)
  ),
  fc.tuple(anyText, anyText).map(([begin, end]): Doing => (buffer) =>
    own.clearWrites(buffer, { begin, end })
  ),
);

/** Applies changes to pairs as SQLite would, and checks the way they arrive. */
function changing(pairs: Pairs, told: Pairs): StoreChange {
  return {
    get(key) {
      const hex = pairs.get(textOf(key));
      return hex === undefined ? undefined : Uint8Array.fromHex(hex);
    },
    clear: (key) => void pairs.delete(textOf(key)),
    clearRange({ begin, end }: TextRange) {
      for (const text of pairs.keys()) if (begin <= text && text < end) pairs.delete(text);
      told.clear();
    },
    setAll(all) {
      const keys = all.filter((_, index) => index % 2 === 0).map((key) => textOf(key));
      assert.deepEqual(keys, [...new Set(keys)].sort());
      keys.forEach((text, index) => pairs.set(text, all[2 * index + 1]!.toHex()));
    },
    note(key, hash, value) {
      assert.equal(hash, hashOf(key));
      told.set(textOf(key), value?.toHex() ?? "");
    },
  };
}

/** What one transaction leaves, by the meaning of its buffer. */
function applyAlone(pairs: Pairs, buffer: own.WriteBuffer): void {
  for (const { begin, end } of buffer.cleared) {
    for (const text of pairs.keys()) if (begin <= text && text < end) pairs.delete(text);
  }
  for (const { key, value, delta } of buffer.writes.entries) {
    const text = textOf(key);
    const before = pairs.get(text);
    const base = before === undefined ? undefined : Uint8Array.fromHex(before);
    const after = delta === undefined ? value : own.addToCounter(base, delta);
    if (after === undefined) pairs.delete(text);
    else pairs.set(text, after.toHex());
  }
}

Deno.test("a group leaves what its members leave one after the other, each key written in order", () => {
  const anyMember = fc.array(anyDoing, { maxLength: 8 });
  fc.assert(
    fc.property(
      anyMember,
      fc.array(anyMember, { minLength: 1, maxLength: 4 }),
      (first, members) => {
        const stored: Pairs = new Map();
        const buffers = [first, ...members].map((member) => {
          const buffer = own.emptyWriteBuffer();
          for (const each of member) each(buffer);
          return buffer;
        });
        // The first buffer alone makes the initial store.
        applyGroup(changing(stored, new Map()), buffers.slice(0, 1));
        const expected: Pairs = new Map();
        applyAlone(expected, buffers[0]!);
        assert.deepEqual(new Map([...stored].sort()), new Map([...expected].sort()));
        const told: Pairs = new Map();
        applyGroup(changing(stored, told), buffers.slice(1));
        for (const buffer of buffers.slice(1)) applyAlone(expected, buffer);
        assert.deepEqual(new Map([...stored].sort()), new Map([...expected].sort()));
        for (const [text, hex] of told) assert.equal(stored.get(text) ?? "", hex);
      },
    ),
    { numRuns: 1000 },
  );
});

Deno.test("a transaction whose keys were ordered ahead is set in order, with what came behind", async () => {
  const anyKeys = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 3, unit: anyText }), {
    maxLength: 80,
  });
  await fc.assert(
    fc.asyncProperty(anyKeys, fc.nat(80), async (keys, ahead) => {
      const buffer = own.emptyWriteBuffer();
      const put = (text: string) => own.putWrite(buffer, bytesOf(text), bytesOf(text));
      keys.slice(0, ahead).forEach(put);
      await own.orderAhead(buffer, () => 0, () => Promise.resolve());
      // Stamped keys are complete only at the commit.
      keys.slice(ahead).forEach(put);
      const stored: Pairs = new Map();
      applyGroup(changing(stored, new Map()), [buffer]);
      assert.deepEqual([...stored.keys()], keys.toSorted());
    }),
  );
});
