/** Characters of labels: the tables of RFC 5892 and the rules of its appendix A. */

import assert from "node:assert/strict";
import {
  areValidInContext,
  decodePunycode,
  encodePunycode,
  isBidiName,
  isValidAnywhere,
} from "../../../../../src/domain/spec/schema/formats/idn.ts";
import fc from "fast-check";

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

/** Right-to-left labels: the rule of RFC 5893, section 2. */
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

/** Punycode against the samples of RFC 3492, section 7.1, and against the platform's URLs. */
const SAMPLES: readonly [plain: string, encoded: string][] = [
  ["他们为什么不说中文", "ihqwcrb4cv8a8dqg056pqjye"],
  ["Pročprostěnemluvíčesky", "Proprostnemluvesky-uyb24dma41a"],
  ["למההםפשוטלאמדבריםעברית", "4dbcagdahymbxekheh6e0a7fei0b"],
  ["почемужеонинеговорятпорусски", "b1abfaaepdrnnbgefbadotcwatmq2g4l"],
  ["3年B組金八先生", "3B-ww4c5e180e575a65lsy2b"],
  ["-> $1.00 <-", "-> $1.00 <--"],
];

function pointsOf(text: string): number[] {
  return [...text].map((character) => character.codePointAt(0)!);
}

for (const [plain, encoded] of SAMPLES) {
  Deno.test(`Punycode of the RFC's sample ${plain} is read and written`, () => {
    assert.deepEqual(decodePunycode(encoded), pointsOf(plain));
    assert.equal(encodePunycode(pointsOf(plain)), encoded);
  });
}

Deno.test("encodePunycode() writes what the platform writes into the host of a URL", () => {
  const letter = fc.constantFrom(..."abz09éüßαωжאب例ー한𠀀".replace("ß", ""));
  fc.assert(
    fc.property(fc.array(letter, { minLength: 1, maxLength: 12 }), (letters) => {
      const label = letters.join("");
      const host = URL.parse(`http://${label}.example`)?.hostname;
      fc.pre(host !== undefined && /[^\0-\x7f]/.test(label));
      const encoded = encodePunycode(pointsOf(label))!;
      assert.equal(`xn--${encoded}.example`, host);
      assert.deepEqual(decodePunycode(encoded), pointsOf(label));
    }),
  );
});

Deno.test("decodePunycode() reads nothing that is no Punycode, or is longer than a label", () => {
  for (const text of ["!", "a-!", "zzzzzz", "999999999b", "é", "a".repeat(64)]) {
    assert.equal(decodePunycode(text), undefined, text);
  }
});

Deno.test("encodePunycode() writes nothing that is longer than a label", () => {
  assert.equal(encodePunycode(pointsOf("é".repeat(64))), undefined);
  assert.equal(encodePunycode(pointsOf("é例".repeat(30))), undefined);
});
