/** A server for development: its keys are known, it says so, and it starts nowhere else. */

import assert from "node:assert/strict";
import { devKey } from "../../src/domain/access/dev_keys.ts";
import { startServer } from "../support/server_process.ts";

const ON = { DAYBOOK_DEV_KEYS: "true" };

async function refusalOf(env: Record<string, string>, dataDir?: string): Promise<string> {
  let told = "it started";
  try {
    await (await startServer({ env, dataDir })).remove();
  } catch (error) {
    told = String(error);
  }
  return told;
}

Deno.test("known keys open a server for development, also after a restart, and it says so", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "daybook-dev-" });
  try {
    for (let round = 0; round < 2; round++) {
      const server = await startServer({ env: ON, dataDir });
      try {
        for (const environment of ["production", "staging", "test"] as const) {
          const headers = { authorization: `Bearer ${devKey(environment, "read")}` };
          const url = `${server.baseUrls[environment]}/_feed`;
          const response = await fetch(url, { headers });
          await response.body?.cancel();
          assert.equal(response.status, 200, environment);
        }
        const output = server.output();
        assert.match(output, /WARNING: DAYBOOK_DEV_KEYS is on: everybody knows the API keys/);
        assert.ok(output.includes(devKey("test", "write")), "it prints them");
      } finally {
        await server.stop();
      }
    }
    assert.match(await refusalOf({}, dataDir), /was made with DAYBOOK_DEV_KEYS/);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("a store that was made without known keys does not start with them", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "daybook-dev-" });
  try {
    const server = await startServer({ dataDir });
    assert.doesNotMatch(server.output(), /DEV_KEYS/);
    await server.stop();
    assert.match(await refusalOf(ON, dataDir), /this store was made without it/);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

Deno.test("a server that others can reach does not start with known keys", async () => {
  const told = await refusalOf({ ...ON, DAYBOOK_HOST: "0.0.0.0" });
  assert.match(told, /DAYBOOK_DEV_KEYS: .* DAYBOOK_HOST is 0\.0\.0\.0/);
});
