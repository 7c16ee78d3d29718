/** Sets of code points: JavaScript's own classes are the oracle. */

import assert from "node:assert/strict";
import {
  classText,
  propertyRanges,
  type Range,
  SHORTHANDS,
} from "../../../../../src/domain/spec/schema/patterns/character_class.ts";

function assertSame(ranges: readonly Range[], escape: string): void {
  const expected = new RegExp(`^${escape}$`, "u");
  let at = 0;
  for (let point = 0; point <= 0x10ffff; point += point < 0x3100 ? 1 : 37) {
    while (at < ranges.length && ranges[at]![1] < point) at++;
    const isIn = at < ranges.length && ranges[at]![0] <= point;
    assert.equal(isIn, expected.test(String.fromCodePoint(point)), `${escape} ${point}`);
  }
}

for (const [letter, ranges] of SHORTHANDS) {
  Deno.test(`the ranges of \\${letter} are those of ECMA-262`, () =>
    assertSame(ranges, `\\${letter}`));
}

for (const escape of ["\\p{L}", "\\P{Lu}", "\\p{Script=Greek}", "\\p{Cs}", "\\p{Any}"]) {
  Deno.test(`propertyRanges() gives the code points of ${escape}`, () => {
    assertSame(propertyRanges(escape)!, escape);
  });
}

Deno.test("propertyRanges() knows no property that the language does not know", () => {
  assert.equal(propertyRanges("\\p{Nonsense}"), undefined);
});

Deno.test("classText() merges neighbours and can be negated", () => {
  assert.equal(classText([[0x62, 0x63], [0x61, 0x61]]), "[\\x{61}-\\x{63}]");
  assert.equal(classText([[1, 0x10ffff]], true), "[\\x{0}-\\x{0}]");
  assert.equal(classText([]), "[^\\x{0}-\\x{10ffff}]");
});
