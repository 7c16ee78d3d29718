/** `format: regex` against JavaScript's own parsing of the whole text. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { isRegularExpression } from "../../../../../src/domain/spec/schema/formats/regex_syntax.ts";

function isAccepted(source: string): boolean {
  try {
    new RegExp(source, "u");
    return true;
  } catch {
    return false;
  }
}

Deno.test("isRegularExpression() judges as the language does, properties and all", () => {
  const piece = fc.constantFrom(
    ..."a b \\ \\\\ \\p \\P \\p{L} \\P{Lu} \\p{Script=Greek} \\p{Nope} \\p{} \\p{L [ [^ ] - ( (?: (?<n> \\k<n> (?= ) { } {2} {2,1} * + ? | ^ $ . \\d \\u{61} \\x41 \\cA \\1 p{L} é"
      .split(" "),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const source = pieces.join("");
      assert.equal(isRegularExpression(source), isAccepted(source), source);
    }),
    { numRuns: 20_000 },
  );
});

Deno.test("isRegularExpression() takes a property as often as it stands, and few different ones", () => {
  assert(isRegularExpression("[\\p{L}\\p{M}]".repeat(150)));
  const scripts =
    "Adlam Ahom Arabic Armenian Avestan Balinese Bamum Batak Bengali Bhaiksuki Bopomofo " +
    "Brahmi Braille Buginese Buhid Carian Chakma Cham Cherokee Coptic Cuneiform Cypriot Cyrillic " +
    "Deseret Devanagari Dogra Duployan Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha " +
    "Greek Gujarati Gurmukhi Han Hangul Hanunoo Hatran Hebrew Hiragana Javanese Kaithi Kannada " +
    "Katakana Khmer Khojki Lao Latin Lepcha";
  const all = scripts.split(" ").map((name) => `\\p{Script=${name}}`);
  assert(isRegularExpression(all.slice(0, 50).join("")));
  assert(!isRegularExpression(all.join("")));
});
