/** ECMA-262 patterns on the linear engine: JavaScript's own engine is the oracle. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { newBudget } from "../../../../../src/domain/budget.ts";
import {
  compilePattern,
  createUnrolledSize,
  preparePatternSteps,
} from "../../../../../src/domain/spec/schema/patterns/pattern.ts";

function mustCompile(source: string) {
  const compiled = compilePattern(source);
  assert(compiled.ok, `${source}: ${JSON.stringify(compiled)}`);
  const { pattern } = compiled;
  return { ...pattern, test: (text: string) => pattern.test(text, newBudget(PLENTY)) };
}

/** More than any test here costs. */
const PLENTY = 1e9;

const SOURCES = [
  "^[A-Z0-9-]{1,20}$",
  "^\\d{4}-\\d{2}$",
  "\\s\\S",
  "^\\w+\\W\\w+$",
  "^.$",
  "^.{2}$",
  "[^]",
  "[]",
  "^[^a-c\\d]+$",
  "^\\p{L}+$",
  "\\P{Lu}",
  "\\p{Script=Greek}",
  "^[\\p{Lu}_]$",
  "^(?:a|b)*c?$",
  "^(?<year>\\d+)x$",
  "\\bfoo\\b",
  "\\u0041|\\x42|\\u{1F600}|\\cJ",
  "^\\uD83D\\uDE00$",
  "^[\\b]$",
  "^a*?b+?$",
  "a{2,}",
  "^\\$\\^\\/\\.$",
  "^$",
  "",
];

const TEXTS = [
  "",
  "a",
  "AB-12",
  "2026-11",
  "a b",
  "\n",
  "\u2028",
  "\u00a0x",
  "\ufeffx",
  "\u{1f600}",
  "\u{1f600}\u{1f601}",
  "\ud83d",
  "été",
  "Ω",
  "Ab",
  "A",
  "B",
  "_",
  "\b",
  "a\n",
  "aab",
  "abc",
  "123x",
  "a foo b",
  "xfoo",
  "$^/.",
  "[[:alpha:]]",
];

for (const source of SOURCES) {
  Deno.test(`compilePattern() matches ${JSON.stringify(source)} as ECMA-262 does`, () => {
    const [linear, native] = [mustCompile(source), new RegExp(source, "u")];
    for (const text of TEXTS) assert.equal(linear.test(text), native.test(text), text);
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 6 }), (text) => {
        assert.equal(linear.test(text), native.test(text));
      }),
      { numRuns: 50 },
    );
  });
}

Deno.test("compilePattern() accepts a backslash before any punctuation, as old schemas have it", () => {
  assert.equal(mustCompile("^\\d{3}\\-\\d{4}$").test("555-1234"), true);
  assert.equal(mustCompile("^[\\w\\-\\.]+\\@[\\w-.]+$").test("a.b-c@d-e.f"), true);
});

Deno.test("compilePattern() takes a hyphen next to a set for itself", () => {
  for (const source of ["^[\\w-.]+$", "^[.-\\w]+$", "^[\\w-\\.]+$", "^[\\p{L}-.]+$"]) {
    const { test } = mustCompile(source);
    assert.deepEqual([test("a-."), test("-"), test("/"), test("x2d,")], [true, true, false, false]);
  }
  assert.equal(mustCompile("^[\\d-a-c]+$").test("1-abc"), true);
  assert.equal(mustCompile("^[\\\\d-f]+$").test("e\\"), true);
  assert.equal(mustCompile("^\\d-\\d$").test("1-2"), true);
});

Deno.test("compilePattern() refuses many long repeats without writing them out", () => {
  for (const source of ["a{1000}".repeat(280), "((a{50}b){50}c){50}"]) {
    const result = compilePattern(source);
    assert(!result.ok && result.message.includes("too large"));
    assert(result.work < 1_000);
  }
});

Deno.test("compilePattern() takes groups as deep as a pattern may be long", () => {
  const deep = `${"(".repeat(999)}a${")".repeat(999)}`;
  assert.equal(mustCompile(deep).test("a"), true);
});

Deno.test("compilePattern() takes syntax of other dialects literally or refuses it", () => {
  assert.equal(mustCompile("^[[:alpha:]$").test("["), true);
  for (
    const source of ["[[:alpha:]]", "\\Aa", "\\Qa\\E", "(?i)a", "(?P<n>a)", "\\pL", "a++", "\\8"]
  ) {
    assert.equal(compilePattern(source).ok, false, source);
  }
});

Deno.test("compilePattern() refuses what has no linear form, and says so", () => {
  for (const source of ["(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(a)\\1", "(?<n>a)\\k<n>"]) {
    const compiled = compilePattern(source);
    assert(!compiled.ok && compiled.message.includes("linear time"), source);
  }
});

Deno.test("compilePattern() never throws, whatever the pattern", () => {
  const piece = fc.constantFrom(
    "a",
    "\\",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "?",
    "*",
    "1",
    ",",
    "-",
    "^",
  );
  fc.assert(fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
    compilePattern(pieces.join(""));
  }));
});

Deno.test("compilePattern() agrees with ECMA-262 on every short pattern of plain syntax", () => {
  const piece = fc.constantFrom("a", "b", ".", "|", "a*", "b?", "[ab]", "[^a]", "(a|b)", "^", "$");
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 6 }),
      fc.stringMatching(/^[abc\n]{0,5}$/),
      (p, text) => {
        const source = p.join("");
        assert.equal(mustCompile(source).test(text), new RegExp(source, "u").test(text));
      },
    ),
    { numRuns: 500 },
  );
});

Deno.test("createUnrolledSize() multiplies repeats of groups within groups", () => {
  const size = createUnrolledSize();
  size.atom();
  size.open();
  size.atom();
  size.repeat(10);
  size.atom();
  size.close();
  size.repeat(3);
  assert.equal(size.total(), 1 + 3 * 11);
});

Deno.test("createUnrolledSize() survives a group that was never opened", () => {
  const size = createUnrolledSize();
  size.close();
  size.atom();
  assert.equal(size.total(), 1);
});

Deno.test("compilePattern() refuses many long repeats without writing them out", () => {
  const result = compilePattern("a{1000}".repeat(280));
  assert(!result.ok && result.message.includes("too large"));
  assert(result.work < 1_000);
});

Deno.test("compilePattern() takes a set once, however often a class names it", () => {
  const once = compilePattern("[\\p{L}]");
  const often = compilePattern(`[${"\\p{L}".repeat(390)}]`);
  assert(once.ok && often.ok);
  // The longer source adds a little.
  assert(often.work < once.work + 20, `${often.work} instructions`);
});

Deno.test("compilePattern() refuses classes of more ranges than it sorts, though few are left", () => {
  assert.equal(compilePattern("[\\p{L}\\P{L}]").ok, true);
  const result = compilePattern("[\\p{L}\\P{L}]".repeat(140));
  assert(!result.ok);
  assert.equal(result.message, "has too many classes of characters");
  assert(result.work > 400, `${result.work} instructions`);
});

Deno.test("preparePatternSteps() pauses often for each property that is new, and then knows it", () => {
  const countPauses = () => {
    let pauses = 0;
    for (const _ of preparePatternSteps("[\\p{sc=Hano}\\p{sc=Tglg}]")) pauses++;
    return pauses;
  };
  assert(countPauses() >= 2 * 17, "fewer pauses than planes of code points");
  assert(countPauses() <= 2);
  assert(mustCompile("^[\\p{sc=Hano}\\p{sc=Tglg}]$").test("\u1720"));
});
