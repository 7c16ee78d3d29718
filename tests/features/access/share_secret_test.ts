/** The secret that all nodes share. */

import { deepEqual, equal, notDeepEqual } from "node:assert/strict";
import { shareSecret } from "../../../src/features/access/share_secret.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

Deno.test("shareSecret() gives all nodes that start at once the same 32 bytes", async () => {
  await withTemporaryEngine(async (engine) => {
    const secrets = await Promise.all(
      Array.from({ length: 5 }, (_, node) => shareSecret(engine, fakeHost(`node${node}`), "jwt")),
    );
    equal(secrets[0]!.length, 32);
    for (const secret of secrets) deepEqual(secret, secrets[0]);
    deepEqual(await shareSecret(engine, fakeHost("later"), "jwt"), secrets[0]);
  });
});

Deno.test("shareSecret() gives each name a secret of its own", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    notDeepEqual(await shareSecret(engine, host, "a"), await shareSecret(engine, host, "b"));
  });
});
