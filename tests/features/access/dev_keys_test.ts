/** Keys that everybody knows, and the stores that they may be in. */

import assert from "node:assert/strict";
import { DEV_KEYS, devKey } from "../../../src/domain/access/dev_keys.ts";
import { ENVIRONMENTS } from "../../../src/domain/tenant.ts";
import { listApiKeys, revokeApiKey } from "../../../src/features/access/api_keys.ts";
import { keyAuthenticator } from "../../../src/features/access/authenticate_key.ts";
import { bootstrap, checkDevKeys } from "../../../src/features/access/bootstrap.ts";
import { resolveTenant } from "../../../src/features/access/instances.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { credentialsFile } from "../../../src/private_files.ts";
import { accepted, anyOperator } from "../../support/access_fixtures.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const base = "http://127.0.0.1";
const OPTIONS = {
  jwtSecret: new Uint8Array(32).fill(4),
  baseUrls: { production: `${base}:8000`, staging: `${base}:8001`, test: `${base}:8002` },
};
const host = fakeHost();

async function withStore(
  devKeys: boolean | undefined,
  body: (engine: Engine, folder: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "daybook-dev-" });
  try {
    await withTemporaryEngine(async (engine) => {
      const options = { ...OPTIONS, devKeys };
      const first = await bootstrap(engine, host, credentialsFile(folder), options);
      assert.equal(first.kind, "made");
      await body(engine, folder);
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a first start for development makes the known keys, each with its scope and place", () =>
  withStore(true, async (engine, folder) => {
    await checkDevKeys(engine, host, true);
    const { keys } = (await credentialsFile(folder).readPublished())!;
    const holders = keyAuthenticator(engine, host);
    for (const environment of ENVIRONMENTS) {
      for (const scope of ["read", "write"] as const) {
        const key = devKey(environment, scope);
        assert.equal(keys[environment][scope], key);
        const holder = accepted(await holders.authenticate(key, environment));
        assert.deepEqual([holder.scope, holder.tenant.environment], [scope, environment]);
      }
    }
    await holders.close();
    // The next start of the same kind.
    const again = await bootstrap(engine, host, credentialsFile(folder), {
      ...OPTIONS,
      devKeys: true,
    });
    assert.equal(again.kind, "in_use");
    await checkDevKeys(engine, host, true);
  }));

Deno.test("a store with known keys is refused without the setting, until the last one is gone", () =>
  withStore(true, async (engine) => {
    const tenants = await Promise.all(
      ENVIRONMENTS.map(async (environment) =>
        accepted(await resolveTenant(engine, anyOperator, undefined, environment))
      ),
    );
    const keys = (await Promise.all(tenants.map((tenant) => listApiKeys(engine, tenant)))).flat();
    assert.equal(keys.length, DEV_KEYS.length);
    for (const { id } of keys) {
      await assert.rejects(checkDevKeys(engine, host, false), /everybody knows its API keys/);
      accepted(await revokeApiKey(engine, anyOperator, id));
    }
    await checkDevKeys(engine, host, false);
  }));

Deno.test("a store that was made without the setting gets no known keys, and refuses it", () =>
  withStore(undefined, async (engine, folder) => {
    await checkDevKeys(engine, host, false);
    const options = { ...OPTIONS, devKeys: true };
    const second = await bootstrap(engine, host, credentialsFile(folder), options);
    assert.equal(second.kind, "in_use");
    await assert.rejects(checkDevKeys(engine, host, true), /this store was made without it/);
    const holders = keyAuthenticator(engine, host);
    for (const environment of ENVIRONMENTS) {
      const holder = await holders.authenticate(devKey(environment, "write"), environment);
      assert.ok(!holder.ok && holder.refusal.kind === "unauthorized");
    }
    await holders.close();
  }));
