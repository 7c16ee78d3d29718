/** Our own SHA-256 against the runtime's, for every length around block boundaries. */

import assert from "node:assert/strict";
import { hash } from "node:crypto";
import fc from "fast-check";
import { openHashInput } from "../../../src/domain/sha256/hash_input.ts";

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
    const input = openHashInput(text.length);
    new TextEncoder().encodeInto(text, input.bytes);
    assert.equal(input.digest(), digest);
  });
}

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

Deno.test("inputs keep apart, also while both are in use", () => {
  const [first, second] = [openHashInput(33), openHashInput(65)];
  first.bytes.fill(1);
  second.bytes.fill(2);
  assert.equal(first.digest(), hash("sha256", new Uint8Array(33).fill(1), "hex"));
  assert.equal(second.digest(), hash("sha256", new Uint8Array(65).fill(2), "hex"));
});
