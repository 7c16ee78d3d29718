/** The suggestions after "Did you mean ...". */

import assert from "node:assert/strict";
import fc from "fast-check";
import { didYouMean, listNames, nameHint, nearestName } from "../../src/domain/nearest_name.ts";

Deno.test("nearestName() allows two edits, and one in words of up to four letters", () => {
  assert.equal(nearestName("propertes", ["properties"]), "properties");
  assert.equal(nearestName("properts", ["properties"]), "properties");
  assert.equal(nearestName("proprts", ["properties"]), undefined);
  assert.equal(nearestName("tipe", ["type"]), "type");
  assert.equal(nearestName("tpie", ["type"]), undefined);
});

Deno.test("nearestName() counts swapped neighbours as one edit and ignores case", () => {
  assert.equal(nearestName("emial", ["email", "uri"]), "email");
  assert.equal(nearestName("MAXLENGTH", ["minLength", "maxLength"]), "maxLength");
});

Deno.test("nearestName() never suggests the word itself, nor looks at long words", () => {
  assert.equal(nearestName("type", ["type"]), undefined);
  assert.equal(nearestName("a".repeat(65), ["a".repeat(64)]), undefined);
});

Deno.test("nearestName() takes the nearest, and of equally near ones the first", () => {
  assert.equal(nearestName("placed", ["plaice", "placer", "played", "placed"]), "placer");
  assert.equal(nearestName("placed", ["place", "PLACED", "Placed"]), "PLACED");
});

Deno.test("didYouMean() falls back to the other hint", () => {
  assert.equal(didYouMean("evnts", ["events"], "x"), 'Did you mean "events"?');
  assert.equal(didYouMean("zzz", ["events"], "x"), "x");
});

/** The edit distance by the full table of distances, as in textbooks. */
function distanceOf(a: string, b: string): number {
  const table = Array.from({ length: a.length + 1 }, (_, i) => [i]);
  for (let j = 0; j <= b.length; j++) table[0]![j] = j;
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1;
      const ways = [table[i - 1]![j]! + 1, table[i]![j - 1]! + 1, table[i - 1]![j - 1]! + cost];
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) ways.push(table[i - 2]![j - 2]! + 1);
      table[i]![j] = Math.min(...ways);
    }
  }
  return table[a.length]![b.length]!;
}

function checkPair(word: string, other: string): void {
  const isNear = word !== other && distanceOf(word, other) <= (word.length <= 4 ? 1 : 2);
  assert.equal(nearestName(word, [other]), isNear ? other : undefined, `${word} ${other}`);
}

Deno.test("nearestName() finds just those within two edits, of all words of few letters", () => {
  const words = [""];
  for (const word of words) if (word.length < 5) words.push(`${word}a`, `${word}b`);
  for (const word of words) for (const other of words) checkPair(word, other);
});

Deno.test("nearestName() finds just those within two edits, of longer words too", () => {
  const word = fc.stringMatching(/^[abc]{1,7}$/);
  fc.assert(fc.property(word, word, fc.stringMatching(/^[abc]{0,2}$/), (head, tail, middle) => {
    checkPair(head + tail, head + middle + tail);
    checkPair(head, tail);
  }));
});

Deno.test("nameHint() compares a name with the first 500 of many, and says nothing where none is near", () => {
  const many = Array.from({ length: 10_000 }, (_, index) => `type_${index}_of_many`);
  assert.equal(nameHint("ordr", ["order", ...many]), 'Did you mean "order"?');
  assert.equal(nameHint("ordr", [...many, "order"]), undefined);
  assert.equal(nameHint("zzzzzzzz", many), undefined);
});

Deno.test("didYouMean() and listNames() look at some names only, however many are known", () => {
  let taken = 0;
  function* known() {
    for (; taken < 1_000_000; taken++) yield `name_${taken}`;
  }
  didYouMean("nothing_like_it", known(), "x");
  assert.ok(taken < 1_000, `${taken} names`);
  assert.equal(listNames(known()).split(", ").length, 11);
  assert.ok(taken < 1_000, `${taken} names`);
});

Deno.test("listNames() lists up to ten names, each shortened", () => {
  const names = Array.from({ length: 10 }, (_, at) => `n${at}`);
  assert.equal(listNames(names), names.join(", "));
  assert.equal(listNames([...names, "more"]), `${names.join(", ")}, ...`);
  assert.equal(listNames(["a".repeat(65), "b"]), `${"a".repeat(64)}..., b`);
  assert.equal(listNames([]), "");
});
