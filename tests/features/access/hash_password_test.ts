/** Password hashing with scrypt. */

import { deepEqual, equal, notEqual } from "node:assert/strict";
import { deriveKey, passwordHasher } from "../../../src/features/access/hash_password.ts";

const encoder = new TextEncoder();

/** RFC 7914, section 12, tests 2 and 3 (the first has no password, the last needs 1 GiB). */
const VECTORS = [
  {
    password: "password",
    salt: "NaCl",
    cost: 1024,
    blockSize: 8,
    parallelization: 16,
    key: "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162" +
      "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640",
  },
  {
    password: "pleaseletmein",
    salt: "SodiumChloride",
    cost: 16384,
    blockSize: 8,
    parallelization: 1,
    key: "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2" +
      "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887",
  },
] as const;

Deno.test("deriveKey() gives the keys of RFC 7914, section 12", async () => {
  for (const { password, salt, key, ...cost } of VECTORS) {
    const derived = await deriveKey(password, encoder.encode(salt), 64, cost);
    equal(derived.toHex(), key);
  }
});

Deno.test("verify() knows the password behind a hash, however its accents were typed", async () => {
  const hasher = passwordHasher();
  const hash = await hasher.hash("caf\u00e9 au lait!", new Uint8Array(16).fill(1));
  equal(await hasher.verify("cafe\u0301 au lait!", hash), true);
  equal(await hasher.verify("cafe au lait!", hash), false);
  equal(await hasher.verify("", hash), false);
});

Deno.test("verify() is never true without an account", async () => {
  equal(await passwordHasher().verify("correct horse battery", undefined), false);
});

Deno.test("hash() keeps salt and cost; another salt gives another hash", async () => {
  const hasher = passwordHasher();
  const one = await hasher.hash("correct horse battery", new Uint8Array(16).fill(1));
  const two = await hasher.hash("correct horse battery", new Uint8Array(16).fill(2));
  const { salt, hash, ...cost } = one;
  deepEqual(cost, { cost: 32768, blockSize: 8, parallelization: 3 });
  deepEqual([salt, hash.length], ["01".repeat(16), 64]);
  notEqual(hash, two.hash);
});

Deno.test("verify() uses the cost of the hash, so older accounts go on working", async () => {
  const cost = { cost: 1024, blockSize: 8, parallelization: 1 };
  const salt = new Uint8Array(16).fill(3);
  const key = await deriveKey("correct horse battery", salt, 32, cost);
  const hash = { salt: salt.toHex(), hash: key.toHex(), ...cost };
  equal(await passwordHasher().verify("correct horse battery", hash), true);
});

Deno.test("hasRoom() says no while 64 logins wait, and yes again when they are done", async () => {
  const hasher = passwordHasher();
  const cost = { cost: 2, blockSize: 1, parallelization: 1 };
  const cheap = { salt: "00", hash: "00".repeat(32), ...cost };
  const runs: Promise<boolean>[] = [];
  for (let started = 0; started < 66; started++) {
    equal(hasher.hasRoom(), true, `${started} had started`);
    runs.push(hasher.verify("x", cheap));
  }
  equal(hasher.hasRoom(), false);
  await Promise.all(runs);
  equal(hasher.hasRoom(), true);
});

Deno.test("verify() turns away a text that is longer than any password, whatever the hash", async () => {
  const hasher = passwordHasher();
  const hash = await hasher.hash("a".repeat(256), new Uint8Array(16).fill(1));
  equal(await hasher.verify("a".repeat(256), hash), true);
  equal(await hasher.verify("a".repeat(513), hash), false);
});
