/** The key pairs of an instance. */

import { deepEqual, equal } from "node:assert/strict";
import {
  readCurrentSigningKey,
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
