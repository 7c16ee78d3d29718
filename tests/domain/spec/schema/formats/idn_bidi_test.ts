/** Right-to-left labels: the rule of RFC 5893, section 2. */

import assert from "node:assert/strict";
import { isBidiName } from "../../../../../src/domain/spec/schema/formats/idn_bidi.ts";

const CASES: readonly [name: string, isAllowed: boolean, what: string][] = [
  ["abc.1a", true, "a name without letters from right to left, whatever it begins with"],
  ["אב", true, "letters from right to left"],
  ["אב1", true, "a European digit at the end"],
  ["ب٠", true, "an Arabic digit at the end"],
  ["א1٠", false, "both kinds of digits in one label"],
  ["אaב", false, "a letter from left to right among others"],
  ["aא", false, "a letter from right to left among others"],
  ["1א", false, "a digit at the beginning"],
  ["א-", false, "a hyphen at the end"],
  ["אָ", true, "a mark at the end"],
  ["1a.א", false, "a label that begins with a digit, beside one from right to left"],
  ["a1.א", true, "a label from left to right that ends with a digit, beside another"],
];

for (const [name, isAllowed, what] of CASES) {
  Deno.test(`a host name may ${isAllowed ? "" : "not "}have ${what}`, () => {
    assert.equal(isBidiName(name.split(".").map((label) => [...label])), isAllowed);
  });
}
