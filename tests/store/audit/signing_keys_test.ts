/** The key pairs of an instance. */

import { deepEqual, equal } from "node:assert/strict";
import {
  readCurrentSigningKey,
  readSigningKeys,
  type SigningKeyRecord,
  storeSigningKey,
} from "../../../src/store/audit/signing_keys.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

function key(number: number): SigningKeyRecord {
  return { number, public_key: "aa", private_key: "bb", created_at: "2026-01-01T00:00:00.000Z" };
}

Deno.test("readCurrentSigningKey() gives the newest key, beyond number 9 too", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => {
      for (let number = 1; number <= 11; number++) storeSigningKey(tx, "a", key(number));
      storeSigningKey(tx, "b", key(1));
      return Promise.resolve();
    });
    await engine.snapshot(async (tx) => {
      deepEqual(await readCurrentSigningKey(tx, "a"), key(11));
      deepEqual(await readCurrentSigningKey(tx, "b"), key(1));
      equal(await readCurrentSigningKey(tx, "c"), undefined);
    });
  });
});

Deno.test("readSigningKeys() gives 500 keys of one instance at a time, oldest first", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => {
      for (let number = 1; number <= 700; number++) storeSigningKey(tx, "b", key(number));
      for (const other of ["a", "c"]) storeSigningKey(tx, other, key(1));
      return Promise.resolve();
    });
    await engine.snapshot(async (tx) => {
      const first = await readSigningKeys(tx, "b", undefined);
      const second = await readSigningKeys(tx, "b", 500);
      deepEqual([first.length, second.length], [500, 200]);
      const numbers = [...first, ...second].map(({ number }) => number);
      deepEqual(numbers, Array.from({ length: 700 }, (_, at) => at + 1));
      deepEqual(await readSigningKeys(tx, "b", 700), []);
    });
  });
});
