/** Servers for tests: started with a spec, used, and gone without a trace; or why they are not. */

import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { createClient, DaybookError } from "../../../sdk/src/core/mod.ts";
import { startDaybook } from "../../../sdk/src/test/mod.ts";
import { exampleSpec } from "../../support/example_spec.ts";
import { ACTOR, type Shop } from "../shop_server.ts";

/** Where the servers of these tests have their folders, and nobody else's. */
const OWN = await Deno.makeTempDir({ prefix: "daybook_own_" });
Deno.env.set("TMPDIR", OWN);

async function folders(): Promise<string[]> {
  return (await readdir(OWN)).sort();
}

async function answers(url: string): Promise<boolean> {
  return await fetch(`${url}/health/live`).then(async (answer) => {
    await answer.body?.cancel();
    return answer.ok;
  }, () => false);
}

Deno.test("startDaybook() gives a server with the spec, which is gone after stop()", async () => {
  const daybook = await startDaybook({ spec: exampleSpec });
  const { url, key, readKey, urls, token, instanceId } = daybook;
  try {
    assert.equal(url, urls.test);
    const db = createClient<Shop>({ url, key, actor: ACTOR });
    await db.order("0RDER0001").was_placed({ customer: "Ada" }).orThrow();
    const reader = createClient<Shop>({ url, key: readKey });
    const { data } = await reader.order("0RDER0001").get().orThrow();
    assert.equal(data.status, "placed");
    const specs = await fetch(`${url}/api/instances/${instanceId}/specs?environment=test`, {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal((await specs.json()).data.length, 1);
    assert.ok(await answers(urls.production) && await answers(urls.staging));
  } finally {
    await Promise.all([daybook.stop(), daybook.stop()]);
  }
  await daybook.stop();
  assert.equal(await answers(url), false);
  assert.deepEqual(await folders(), []);
});

Deno.test("two servers side by side, in other environments, end with their scope", async () => {
  const urls: string[] = [];
  {
    await using one = await startDaybook({
      spec: { spec: exampleSpec },
      environment: "production",
    });
    await using other = await startDaybook({ env: { DAYBOOK_HEADER_PREFIX: "ACME" } });
    urls.push(one.url, other.url);
    assert.equal(one.url, one.urls.production);
    assert.ok(await answers(one.url) && await answers(other.url));
    assert.match(one.key, /^dbk_0_prod_/);
  }
  for (const url of urls) assert.equal(await answers(url), false);
  assert.deepEqual(await folders(), []);
});

Deno.test("a spec that is refused ends the server, with the refusal of the deploy", async () => {
  await assert.rejects(startDaybook({ spec: { agent_types: [] } }), (error) => {
    assert.ok(error instanceof DaybookError);
    assert.equal(error.refusal.error_type, "spec_invalid");
    return true;
  });
  assert.deepEqual(await folders(), []);
});

Deno.test("a server that cannot start says why, and leaves no folder", async () => {
  const cases = [
    [{ deno: "/nowhere/deno" }, /is Deno installed\?/],
    [{ main: "/nowhere/main.ts" }, /ended with 1:[\s\S]*Module not found/],
    [{ env: { DAYBOOK_JWT_SECRET: "short" } }, /ended with [\s\S]*DAYBOOK_JWT_SECRET/],
    [{ readyTimeoutMs: 1 }, /was not ready in time/],
  ] as const;
  for (const [options, message] of cases) await assert.rejects(startDaybook(options), message);
  assert.deepEqual(await folders(), []);
});
