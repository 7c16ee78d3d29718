/**
 * The log of recent writes: what it remembers and forgets, and that it refuses what it forgot.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { bytesOf, type TextRange } from "../../../src/kv/byte_text.ts";
import * as occ from "../../../src/kv/transaction/conflict_log.ts";
import { hashOf, type Keyed, KeyMap } from "../../../src/kv/key_map.ts";

function keysOf(texts: readonly string[]): KeyMap<Keyed> {
  const keys = new KeyMap<Keyed>();
  for (const text of texts) {
    const key = bytesOf(text);
    keys.put({ key, hash: hashOf(key) });
  }
  return keys;
}

function written(...texts: string[]): occ.WrittenGroup {
  const group = occ.openWrittenGroup();
  occ.noteWrites(group, keysOf(texts), []);
  return group;
}

function guarding(texts: readonly string[], ranges: TextRange[] = []): occ.Guards {
  return { keys: keysOf(texts), ranges };
}

const nothing = occ.openWrittenGroup();

Deno.test("findConflict() looks at versions after the read, and at the group in the making", () => {
  const log = occ.emptyConflictLog();
  for (const [version, key] of [[1, "a"], [2, "b"], [3, "c"]] as const) {
    occ.recordGroup(log, version, written(key), 0);
  }
  const guards = guarding(["b"]);
  assert.equal(occ.findConflict(log, nothing, guards, 1), "b");
  assert.equal(occ.findConflict(log, nothing, guards, 2), undefined);
  assert.equal(occ.findConflict(log, written("b"), guards, 3), "b");
  const range = guarding([], [{ begin: "aa", end: "c" }]);
  assert.equal(occ.findConflict(log, nothing, range, 0), "aa");
  assert.equal(occ.findConflict(log, nothing, range, 2), undefined);
  assert.equal(occ.findConflict(log, written("b"), range, 3), "aa");
  assert.equal(occ.findConflict(log, written("c"), range, 3), undefined);
});

Deno.test("findConflict() of ranges: those conflict that share a place, and not those that only touch", () => {
  const group = occ.openWrittenGroup();
  occ.noteWrites(group, keysOf([]), [{ begin: "b", end: "d" }]);
  const log = occ.emptyConflictLog();
  occ.recordGroup(log, 1, group, 0);
  const ranges = [["a", "b"], ["a", "c"], ["b", "c"], ["bb", "cc"], ["c", "e"], ["d", "e"]];
  const found = ranges.map(([begin, end]) => {
    const guards = guarding([], [{ begin: begin!, end: end! }]);
    return [occ.findConflict(log, nothing, guards, 0), occ.findConflict(log, group, guards, 1)];
  });
  const expected = [undefined, "a", "b", "bb", "c", undefined];
  assert.deepEqual(found, expected.map((one) => [one, one]));
});

const anyText = fc.string({ unit: fc.constantFrom("a", "b", "\0", "\xff"), maxLength: 3 });
const anyRange = fc.tuple(anyText, anyText).map(([begin, end]): TextRange => ({ begin, end }));
const anyMember = fc.record({
  texts: fc.array(anyText, { maxLength: 12 }),
  cleared: fc.array(anyRange, { maxLength: 1 }),
});

Deno.test("a group conflicts with what any member wrote, in the making and when it is recorded", () => {
  const anyGroup = fc.array(anyMember, { maxLength: 4 });
  const anyGuards = fc.tuple(fc.array(anyText), fc.array(anyRange, { maxLength: 2 }));
  fc.assert(
    fc.property(anyGroup, anyGuards, (members, [texts, ranges]) => {
      const group = occ.openWrittenGroup();
      const maps = members.map((member) => keysOf(member.texts));
      for (const [i, map] of maps.entries()) occ.noteWrites(group, map, members[i]!.cleared);
      const cleared = members.flatMap((member) => member.cleared);
      const all = members.flatMap((member) => member.texts);
      const isIn = (text: string, { begin, end }: TextRange) => begin <= text && text < end;
      const place = texts.find((text) =>
        all.includes(text) || cleared.some((range) => isIn(text, range))
      ) ?? ranges.find((range) =>
        all.some((text) => isIn(text, range)) ||
        cleared.some((other) => other.begin < range.end && range.begin < other.end)
      )?.begin;
      const guards = guarding(texts, ranges);
      const log = occ.emptyConflictLog();
      assert.equal(occ.findConflict(log, group, guards, 0), place);
      occ.recordGroup(log, 1, group, 0);
      // The long-lived memory shares nothing with the arrays that the keys came in.
      for (const map of maps) for (const { key } of map.entries) key.fill(0x7a);
      assert.equal(occ.findConflict(log, nothing, guards, 0), place);
      assert.equal(occ.findConflict(log, nothing, guards, 1), undefined);
      assert.equal(log.keyCount, new Set(all).size + cleared.length);
    }),
    { numRuns: 500 },
  );
});

Deno.test("noteWrites() of a second member leaves the writes of the first as they are", () => {
  const group = occ.openWrittenGroup();
  const [first, second] = [keysOf(["a"]), keysOf(["a", "b"])];
  occ.noteWrites(group, first, []);
  occ.noteWrites(group, second, []);
  assert.deepEqual([first.size, second.size, group.keys.size], [1, 2, 2]);
});

Deno.test("recordGroup() forgets what no reader needs; older reads then conflict", () => {
  const log = occ.emptyConflictLog();
  occ.recordGroup(log, 1, written("a"), 0);
  occ.recordGroup(log, 2, written("b"), 1);
  assert.deepEqual(log.groups.map(({ version }) => version), [2]);
  const guards = guarding(["untouched"]);
  assert.equal(occ.findConflict(log, nothing, guards, 0), "");
  assert.equal(occ.findConflict(log, nothing, guards, 1), undefined);
  occ.recordGroup(log, 3, written("c"), 3);
  assert.deepEqual([log.groups.length, log.keyCount], [0, 0]);
  assert.equal(occ.findConflict(log, nothing, guards, 2), "");
  assert.equal(occ.findConflict(log, nothing, guards, 3), undefined);
});

Deno.test("recordGroup() is bounded whoever reads, and what it dropped conflicts", () => {
  const log = occ.emptyConflictLog();
  for (let version = 1; version <= 12; version++) {
    const keys = Array.from({ length: 100_000 }, (_, i) => `${version}-${i}`);
    occ.recordGroup(log, version, written(...keys), 0);
  }
  assert.equal(log.keyCount, 1_000_000);
  const guards = guarding(["untouched"]);
  assert.equal(occ.findConflict(log, nothing, guards, 0), "");
  assert.equal(occ.findConflict(log, nothing, guards, 2), undefined);
});
