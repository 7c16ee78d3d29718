/** Secrets of the deployment. */

import { deepEqual, equal } from "node:assert/strict";
import { readSecret, storeSecret } from "../../../src/store/access/secrets.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

Deno.test("readSecret() gives the bytes that storeSecret() kept, by name", async () => {
  await withTemporaryEngine(async (engine) => {
    await engine.transact((tx) => Promise.resolve(storeSecret(tx, "jwt", Uint8Array.of(1, 0, 2))));
    await engine.snapshot(async (tx) => {
      deepEqual(await readSecret(tx, "jwt"), Uint8Array.of(1, 0, 2));
      equal(await readSecret(tx, "other"), undefined);
    });
  });
});
