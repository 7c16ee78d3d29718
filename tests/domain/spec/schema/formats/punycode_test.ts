/** Punycode against the samples of RFC 3492, section 7.1, and against the platform's URLs. */

import assert from "node:assert/strict";
import fc from "fast-check";
import {
  decodePunycode,
  encodePunycode,
} from "../../../../../src/domain/spec/schema/formats/punycode.ts";

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
