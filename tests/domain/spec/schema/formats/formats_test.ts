/** E-mail addresses: the mailboxes of RFC 5321 and RFC 6531. */

import assert from "node:assert/strict";
import {
  isRegularExpression,
  TEXT_FORMATS,
} from "../../../../../src/domain/spec/schema/formats/formats.ts";
import fc from "fast-check";

const isEmail = TEXT_FORMATS.get("email")!;
const isIdnEmail = TEXT_FORMATS.get("idn-email")!;

const BOTH = [
  "joe@example.com",
  "joe@localhost",
  "a.b+c=d@x-y.example",
  `"joe \\" @ bloggs"@example.com`,
  `""@example.com`,
  "joe@[192.0.2.1]",
  "joe@[IPv6:2001:db8::1]",
  `${"a".repeat(64)}@example.com`,
];
const IDN_ONLY = ["δοκιμή@παράδειγμα.com", `"é"@example.com`, "joe@例え.テスト"];
const NEITHER = [
  "joe",
  "@example.com",
  "joe@",
  "joe@@example.com",
  "joe@a@b",
  ".joe@example.com",
  "joe.@example.com",
  "j..b@example.com",
  "joe b@example.com",
  `"joe@example.com`,
  `"joe"b@example.com`,
  `"a"b"@example.com`,
  "joe@-a.com",
  "joe@a-.com",
  "joe@a..com",
  "joe@a_b.com",
  "joe@[192.0.2.300]",
  "joe@[2001:db8::1]",
  "joe@[IPv6:192.0.2.1]",
  "joe@[]",
  "joe@example.com\n",
  `${"a".repeat(65)}@example.com`,
  `joe@${"a.".repeat(130)}com`,
];

for (const address of BOTH) {
  Deno.test(`${address} is an e-mail address, international or not`, () => {
    assert(isEmail(address));
    assert(isIdnEmail(address));
  });
}

for (const address of IDN_ONLY) {
  Deno.test(`${address} is an international e-mail address only`, () => {
    assert(!isEmail(address));
    assert(isIdnEmail(address));
  });
}

for (const address of NEITHER) {
  Deno.test(`${JSON.stringify(address)} is no e-mail address`, () => {
    assert(!isEmail(address));
    assert(!isIdnEmail(address));
  });
}

/** `format: regex` against JavaScript's own parsing of the whole text. */
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
