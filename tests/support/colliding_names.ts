/**
 * Names that all have one hash in V8's table of names, in the build of Deno that runs the tests.
 *
 * V8 hashes a text of 9 to 16 characters from its first and last four bytes, among others. Where
 * both are equal to a constant of the hash function, a product is zero and the characters between
 * do not count. The constants belong to the build, so with another one these names are ordinary.
 */

export const IS_KNOWN_BUILD = Deno.version.deno === "2.9.6" &&
  Deno.build.target === "x86_64-unknown-linux-gnu";

const FIRST = "9\x9a\x96i";
const LAST = "e\\M\x99";
const LETTERS = 90;
const FIRST_LETTER = 0xa1;

/** As JSON literals: a text made of them has never been a key. Different ones for each `from`. */
export function collidingLiterals(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, index) => {
    let rest = from + index;
    let middle = "";
    for (let place = 0; place < 4; place++) {
      middle += String.fromCharCode(FIRST_LETTER + rest % LETTERS);
      rest = Math.floor(rest / LETTERS);
    }
    return JSON.stringify(FIRST + middle + LAST);
  });
}

/** An object with these keys, as text. */
export function objectOf(literals: readonly string[]): string {
  return `{${literals.map((literal) => `${literal}:1`).join(",")}}`;
}
