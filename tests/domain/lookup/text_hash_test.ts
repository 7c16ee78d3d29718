/** The hash of texts is decided by factors that nobody outside knows, so nobody can aim at it. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { FACTORS, newTextHash, TEXT_HASH_BITS } from "../../../src/domain/lookup/text_map.ts";
import { collidingLiterals } from "../../support/colliding_names.ts";
import { createRandom } from "../../crash/random.ts";

const random = createRandom(1);
const hashText = newTextHash(Int32Array.from({ length: FACTORS }, () => random.below(2 ** 32)));

/** Bits that lead to a bucket in a table of some thousands. */
const BUCKET_BITS = 16;

function bucketOf(text: string): number {
  return hashText(text) >>> (TEXT_HASH_BITS - BUCKET_BITS);
}

/** The most texts in one bucket. Of 10,000 that are spread by chance it is hardly ever above 6. */
function mostInBucket(texts: Iterable<string>): number {
  const counts = new Map<number, number>();
  for (const bucket of [...texts].map(bucketOf)) counts.set(bucket, (counts.get(bucket) ?? 0) + 1);
  return Math.max(...counts.values());
}

const COUNT = 10_000;

function texts(make: (index: number) => string): string[] {
  return Array.from({ length: COUNT }, (_, index) => make(index));
}

Deno.test("equal texts have one hash, which fits into its bits", () => {
  fc.assert(fc.property(fc.string({ maxLength: 1_000, unit: "binary" }), (text) => {
    const hash = hashText(text);
    assert.equal(hashText(`${text}.`.slice(0, -1)), hash);
    assert.ok(Number.isInteger(hash) && hash >= 0 && hash < 2 ** TEXT_HASH_BITS);
  }));
});

for (
  const [name, list] of Object.entries({
    "numbers": texts((index) => `${index}`),
    "numbers with one hash in the runtime": texts((index) => `${index * 65_536}`),
    "ids with one hash in the runtime": collidingLiterals(COUNT).map((each) => JSON.parse(each)),
    "texts that differ in one place": texts((index) => String.fromCharCode(index).padEnd(40, "x")),
    "texts that differ in their length alone": texts((index) => "\0".repeat(index % 3_000)).slice(
      0,
      3_000,
    ),
    // Whatever a factor is, these collide where texts are hashed by its powers.
    "words of Thue and Morse": texts((index) =>
      Array.from(
        { length: 14 },
        (_, bit) => index >> bit & 1 ? "abbabaabbaababba" : "baababbaabbabaab",
      )
        .join("")
    ),
    "long texts that differ in their first block": texts((index) => `${index}`.padEnd(1_000, "x")),
    "long texts of the same blocks in other orders": texts((index) =>
      Array.from({ length: 14 }, (_, bit) => (index >> bit & 1 ? "a" : "b").repeat(256)).join("")
    ),
    "long texts that differ in their last block": texts((index) => `${index}`.padStart(1_000, "x")),
  })
) {
  Deno.test(`${name} are spread over the buckets`, () => {
    assert.ok(mostInBucket(list) <= 8, `${mostInBucket(list)} in one bucket`);
  });
}

Deno.test("two processes hash differently, and each of them one text always alike", async () => {
  const url = new URL("../../../src/domain/lookup/text_map.ts", import.meta.url);
  const code = `import { hashText } from "${url}";
    console.log(hashText("order:main"), hashText("order:" + ["main"].join()));`;
  const hashes = await Promise.all([1, 2].map(async () => {
    const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["eval", code] }).output();
    const [first, second] = new TextDecoder().decode(stdout).trim().split(" ");
    assert.match(first!, /^[0-9]+$/);
    assert.equal(second, first);
    return first;
  }));
  assert.notEqual(hashes[0], hashes[1]);
});
