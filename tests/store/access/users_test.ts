/** Accounts and their login attempts. */

import { deepEqual, equal } from "node:assert/strict";
import { keys } from "../../../src/store/keys.ts";
import {
  attemptKeys,
  clearLoginAttempts,
  readLoginAttempts,
  readUser,
  storeLoginAttempts,
  storeUser,
  type UserRecord,
} from "../../../src/store/access/users.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const user: UserRecord = {
  email: "ops@example.com",
  password: { salt: "00", hash: "ff", cost: 2, blockSize: 1, parallelization: 1 },
  created_at: "2026-01-01T00:00:00.000Z",
};

Deno.test("readUser() finds what storeUser() kept, by its email alone", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => Promise.resolve(storeUser(tx, user)));
    await engine.snapshot(async (tx) => {
      deepEqual(await readUser(tx, "ops@example.com"), user);
      equal(await readUser(tx, "op@example.com"), undefined);
    });
  });
});

Deno.test("readLoginAttempts() gives what was stored until it is cleared", async () => {
  await withTemporaryEngine(async (engine) => {
    const mine = attemptKeys("a@b", "192.0.2.1");
    const other = attemptKeys("a@b", "192.0.2.2");
    equal(mine.fromStrangers, other.fromStrangers);
    await engine.transact(async (tx) => {
      for (const digest of Object.values(mine)) await storeLoginAttempts(tx, digest, [1, 2], 2);
    });
    await engine.transact(async (tx) => {
      deepEqual(await readLoginAttempts(tx, mine.fromAddress), [1, 2]);
      deepEqual(await readLoginAttempts(tx, other.fromAddress), []);
      deepEqual(await readLoginAttempts(tx, mine.fromStrangers), [1, 2]);
      clearLoginAttempts(tx, mine);
    });
    for (const digest of Object.values(mine)) {
      deepEqual(await engine.transact((tx) => readLoginAttempts(tx, digest)), []);
    }
  });
});

Deno.test("storeLoginAttempts() lets no guesses at ever new emails fill the store", async () => {
  await withTemporaryEngine(async (engine) => {
    for (let minute = 0; minute < 300; minute++) {
      const nowMs = minute * 60_000;
      await engine.transact((tx) =>
        storeLoginAttempts(tx, attemptKeys(`u${minute}@b`, "").fromAddress, [nowMs], nowMs)
      );
    }
    const left = await engine.snapshot((tx) => tx.getRange(keys.allFailedLogins()));
    equal(left.length < 30, true, `${left.length} of 300 are left`);
  });
});
