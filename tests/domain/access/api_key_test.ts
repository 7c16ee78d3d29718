/** The form of API keys, their hash and their names. */

import { deepEqual, equal, match, throws } from "node:assert/strict";
import fc from "fast-check";
import {
  explainKeyName,
  formatApiKey,
  hashApiKey,
  isApiKey,
} from "../../../src/domain/access/api_key.ts";
import { ENVIRONMENTS } from "../../../src/domain/tenant.ts";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const secrets = fc.uint8Array({ minLength: 32, maxLength: 32 });

/** Decodes base62 by Horner's rule: the opposite direction of the code under test. */
function decodeBase62(digits: string): string {
  let number = 0n;
  for (const digit of digits) number = number * 62n + BigInt(ALPHABET.indexOf(digit));
  return number.toString(16).padStart(64, "0");
}

Deno.test("formatApiKey() gives dbk_0_, prod, staging or test, and 43 characters", () => {
  const secret = new Uint8Array(32).fill(0xab);
  deepEqual(
    ENVIRONMENTS.map((environment) => formatApiKey(environment, secret).slice(0, -43)),
    ["dbk_0_prod_", "dbk_0_staging_", "dbk_0_test_"],
  );
});

Deno.test("formatApiKey() holds the smallest and the largest secret in 43 digits", () => {
  const smallest = formatApiKey("test", new Uint8Array(32));
  const largest = formatApiKey("test", new Uint8Array(32).fill(0xff));
  equal(smallest, `dbk_0_test_${"0".repeat(43)}`);
  equal(largest.length, smallest.length);
  equal(decodeBase62(largest.slice(-43)), "ff".repeat(32));
});

Deno.test("formatApiKey() loses nothing of the secret: different secrets, different keys", () => {
  fc.assert(fc.property(secrets, (secret) => {
    const key = formatApiKey("production", secret);
    match(key, /^dbk_0_prod_[0-9A-Za-z]{43}$/);
    equal(decodeBase62(key.slice(-43)), secret.toHex());
  }));
});

Deno.test("formatApiKey() does not make a key of fewer random bytes", () => {
  throws(() => formatApiKey("test", new Uint8Array(31)), { name: "Bug" });
});

Deno.test("isApiKey() knows its own keys and refuses all near them", () => {
  const key = formatApiKey("staging", new Uint8Array(32).fill(7));
  equal(isApiKey(key), true);
  const near = [
    "",
    key.slice(0, -1),
    `${key}0`,
    ` ${key}`,
    `${key}\n`,
    key.replace("staging", "production"),
    key.replace("_0_", "_1_"),
    key.replace(/.$/, "-"),
    key.toUpperCase(),
  ];
  deepEqual(near.filter(isApiKey), []);
});

Deno.test("hashApiKey() is SHA-256 in hex (FIPS 180-4, example 'abc')", () => {
  const expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  equal(hashApiKey("abc"), expected);
});

Deno.test("explainKeyName() accepts 1 to 100 printable characters of any script", () => {
  const good = ["a", "CI deploy", "Zürich №1", "東京", "😀", "x".repeat(100), "😀".repeat(100)];
  deepEqual(good.map(explainKeyName), good.map(() => undefined));
});

Deno.test("explainKeyName() refuses none, too many, blank and unprintable characters", () => {
  const bad = ["", " ", "x".repeat(101), "a\nb", "a\tb", "\0", "a\u200bb", "\u202eevil", "\ud800"];
  for (const name of bad) equal(typeof explainKeyName(name), "string", JSON.stringify(name));
});
