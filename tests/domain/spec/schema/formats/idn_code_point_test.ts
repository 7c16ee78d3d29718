/** Characters of labels: the tables of RFC 5892 and the rules of its appendix A. */

import assert from "node:assert/strict";
import {
  areValidInContext,
  isValidAnywhere,
} from "../../../../../src/domain/spec/schema/formats/idn_code_point.ts";

Deno.test("letters, digits and marks may stand anywhere, as far as they are their own small form", () => {
  for (const character of "az09-éßςж例한\u0301〇𠀀") assert(isValidAnywhere(character), character);
  const refused = "AÉ._ ①½ﬁ\u00ad\u200b\u3000ـ〮ᄀ\u20dd\ufdd0\u{1d165}\u{e0001}\u{378}€";
  for (const character of refused) assert(!isValidAnywhere(character), JSON.stringify(character));
});

const CONTEXTS: readonly [label: string, isAllowed: boolean][] = [
  ["l·l", true],
  ["l·a", false],
  ["͵α", true],
  ["͵a", false],
  ["א׳", true],
  ["a׳", false],
  ["א״", true],
  ["״א", false],
  ["・ア", true],
  ["・a", false],
  ["٠١", true],
  ["٠۱", false],
  ["क्\u200d", true],
  ["क\u200d", false],
  ["क्\u200c", true],
  ["ي\u200cب", true],
  ["ي\u0300\u200c\u0300ب", true],
  // A letter that does not join to the next one, and a letter that joins to nothing.
  ["ا\u200cب", false],
  ["ي\u200cء", false],
  ["ي\u200c", false],
  ["a\u200cb", false],
];

for (const [label, isAllowed] of CONTEXTS) {
  Deno.test(`${JSON.stringify(label)} is ${isAllowed ? "" : "not "}allowed, by what is around`, () => {
    assert.equal(areValidInContext([...label]), isAllowed);
  });
}
