/** Emails, passwords, and how many logins may be tried. */

import { deepEqual, equal } from "node:assert/strict";
import fc from "fast-check";
import {
  attemptsAreOver,
  explainPassword,
  mayBePassword,
  nextLoginAttempt,
  normalizeEmail,
  normalizePassword,
} from "../../../src/domain/access/account.ts";

Deno.test("normalizeEmail() trims and lowercases", () => {
  equal(normalizeEmail("  Ops.Team+1@Example.COM "), "ops.team+1@example.com");
  equal(normalizeEmail("admin@localhost"), "admin@localhost");
});

Deno.test("normalizeEmail() refuses what is no address", () => {
  const bad = [
    "",
    "ops",
    "@example.com",
    "ops@",
    "a b@example.com",
    "a@b@example.com",
    ".a@example.com",
    "a..b@example.com",
    "a@-example.com",
    "a@example..com",
    "a@exa_mple.com",
    "a\n@example.com",
    `${"a".repeat(65)}@example.com`,
    `a@${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(63)}.${"e".repeat(63)}`,
  ];
  deepEqual(bad.map(normalizeEmail), bad.map(() => undefined));
});

Deno.test("explainPassword() accepts 12 to 256 characters, counted as code points", () => {
  const good = ["a".repeat(12), "a".repeat(256), "😀".repeat(12), "😀".repeat(256)];
  deepEqual(good.map(explainPassword), good.map(() => undefined));
  const bad = ["", "a".repeat(11), "😀".repeat(6), "a".repeat(257), "a".repeat(1_000_000)];
  for (const password of bad) equal(typeof explainPassword(password), "string");
});

Deno.test("normalizePassword() makes one of the two ways to type an accent", () => {
  equal(normalizePassword("cafe\u0301"), normalizePassword("caf\u00e9"));
});

Deno.test("nextLoginAttempt() allows ten in a minute and then says how long to wait", () => {
  let attemptsMs: readonly number[] = [];
  for (let second = 0; second < 10; second++) {
    const attempt = nextLoginAttempt(attemptsMs, second * 1000, 10);
    if (attempt.kind !== "allowed") throw new Error(`attempt ${second} was locked`);
    attemptsMs = attempt.attemptsMs;
  }
  deepEqual(nextLoginAttempt(attemptsMs, 9_500, 10), { kind: "locked", retryAfterSeconds: 51 });
  deepEqual(nextLoginAttempt(attemptsMs, 59_999, 10), { kind: "locked", retryAfterSeconds: 1 });
  equal(nextLoginAttempt(attemptsMs, 60_000, 10).kind, "allowed");
});

Deno.test("nextLoginAttempt() never allows more than ten in any sixty seconds", () => {
  const steps = fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 60 });
  fc.assert(fc.property(steps, (pauses) => {
    let nowMs = 0;
    let attemptsMs: readonly number[] = [];
    const allowed: number[] = [];
    for (const pause of pauses) {
      nowMs += pause;
      const attempt = nextLoginAttempt(attemptsMs, nowMs, 10);
      if (attempt.kind === "locked") continue;
      allowed.push(nowMs);
      attemptsMs = attempt.attemptsMs;
    }
    return allowed.every((at, index) => (allowed[index + 10] ?? Infinity) - at >= 60_000);
  }));
});

Deno.test("attemptsAreOver() holds from a minute after the last", () => {
  equal(attemptsAreOver([0, 5_000], 64_999), false);
  equal(attemptsAreOver([0, 5_000], 65_000), true);
  equal(attemptsAreOver([], 0), true);
});

Deno.test("mayBePassword() turns away what is longer than any password before it is normalized", () => {
  equal(mayBePassword("\u{1f600}".repeat(256)), true);
  equal(mayBePassword("\u{1f600}".repeat(256) + "a"), false);
  equal(mayBePassword("a" + "\u0301".repeat(160_000) + "\u0334".repeat(160_000)), false);
});

Deno.test("normalizeEmail() does not look at what is far longer than an address", () => {
  equal(normalizeEmail(" ".repeat(600) + "ops@example.com"), undefined);
  equal(normalizeEmail(" ".repeat(100) + "ops@example.com"), "ops@example.com");
});
