/** Our own SHA-256 against the runtime's, for every length around block boundaries. */

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import fc from "fast-check";
import { hashText, hashTexts, openHashInput } from "../../../src/domain/sha256/sha256.ts";

/** Beyond the length from which texts are left to the runtime. */
const LENGTHS = 1_100;

/** FIPS 180-4, examples of SHA-256. */
const EXAMPLES: readonly (readonly [text: string, digest: string])[] = [
  ["", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"],
  ["abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"],
  [
    "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
  ],
];

for (const [text, digest] of EXAMPLES) {
  Deno.test(`the digest of "${text.slice(0, 8)}" is the one that the standard prints`, () => {
    assert.equal(hashText(text), digest);
    const input = openHashInput(text.length);
    new TextEncoder().encodeInto(text, input.bytes);
    assert.equal(input.digest(), digest);
  });
}

// One to three bytes for each UTF-16 unit, a surrogate pair, and half of one.
for (const unit of ["a", "é", "€", "😀", "\ud83d"]) {
  Deno.test(`texts of up to ${LENGTHS} times ${JSON.stringify(unit)} have the runtime's digest`, () => {
    for (let count = 0; count <= LENGTHS; count++) {
      const text = unit.repeat(count);
      assert.equal(hashText(text), hash("sha256", text, "hex"), `${count} times`);
    }
  });
}

Deno.test("texts hashed together have the runtime's digests, whatever their lengths and number", () => {
  const text = fc.oneof(
    fc.string({ unit: "binary", maxLength: 300 }),
    fc.nat(LENGTHS).map((length) => "x".repeat(length)),
  );
  fc.assert(
    fc.property(fc.array(text, { maxLength: 11 }), (texts) => {
      assert.deepEqual(hashTexts(texts), texts.map((one) => hash("sha256", one, "hex")));
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("a text has its digest in each of the four places, beside one of any other length", () => {
  const texts = Array.from({ length: 130 }, (_, length) => "y".repeat(length));
  const digests = texts.map((text) => hash("sha256", text, "hex"));
  for (const [index, text] of texts.entries()) {
    for (let place = 0; place < 4; place++) {
      const other = (index * 7 + place * 31) % texts.length;
      const together = Array(4).fill(texts[other]!).with(place, text);
      const expected = Array(4).fill(digests[other]!).with(place, digests[index]!);
      assert.deepEqual(hashTexts(together), expected, `${index} beside ${other}, in ${place}`);
    }
  }
});

Deno.test("inputs of every length up to four blocks have the runtime's digest", () => {
  for (let length = 0; length <= 256; length++) {
    const input = openHashInput(length);
    input.bytes.fill(length);
    assert.equal(input.digest(), hash("sha256", new Uint8Array(length).fill(length), "hex"));
  }
});

Deno.test("any bytes have the runtime's digest, hashed again and again in one place", () => {
  const input = openHashInput(65);
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 65, maxLength: 65 }), (bytes) => {
      input.bytes.set(bytes);
      assert.equal(input.digest(), hash("sha256", bytes, "hex"));
      assert.equal(input.digest(), hash("sha256", bytes, "hex"));
    }),
    { numRuns: 10_000 },
  );
});

Deno.test("any texts have the runtime's digest, whatever was hashed before them", () => {
  const texts = fc.array(fc.string({ unit: "binary", maxLength: 1_200 }), { minLength: 2 });
  fc.assert(
    fc.property(texts, (all) => {
      for (const text of all) assert.equal(hashText(text), hash("sha256", text, "hex"));
    }),
  );
});

Deno.test("inputs and texts keep apart, also while both are in use", () => {
  const [first, second] = [openHashInput(33), openHashInput(65)];
  first.bytes.fill(1);
  second.bytes.fill(2);
  hashText("x".repeat(1_024));
  assert.equal(first.digest(), hash("sha256", new Uint8Array(33).fill(1), "hex"));
  assert.equal(second.digest(), hash("sha256", new Uint8Array(65).fill(2), "hex"));
});
