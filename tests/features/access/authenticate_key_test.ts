/** Who holds a key: the rules, and that no cached answer outlives its truth. */

import { deepEqual, equal, rejects } from "node:assert/strict";
import { changeTier } from "../../../src/features/access/instances.ts";
import {
  revokeApiKey,
  rotateApiKey,
  scheduleRevocation,
} from "../../../src/features/access/api_keys.ts";
import { type Engine, EngineUnavailable } from "../../../src/kv/engine.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import {
  type KeyAuthenticator,
  keyAuthenticator,
} from "../../../src/features/access/authenticate_key.ts";
import {
  accepted,
  anyOperator,
  makeInstance,
  makeKey,
  makeTenant,
  refusal,
} from "../../support/access_fixtures.ts";
import { type FakeHost, fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { deafEngine } from "../../support/two_nodes.ts";

interface Node {
  readonly engine: Engine;
  readonly host: FakeHost;
  readonly node: KeyAuthenticator;
  /** How often the node read from the store. */
  readonly reads: () => number;
  /** While true, the node's store is away. */
  setAway(away: boolean): void;
}

/** `listen` decides how the node hears of changes; a deaf node reads the store when needed. */
function withNode(
  body: (node: Node) => Promise<void>,
  listen: (engine: Engine) => Engine = (engine) => engine,
): Promise<void> {
  return withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    let reads = 0;
    let isAway = false;
    const counted = wrapEngine(engine, {
      snapshot(run) {
        reads++;
        if (isAway) return Promise.reject(new EngineUnavailable("away"));
        return engine.snapshot(run);
      },
      watch: (key) => listen(engine).watch(key),
    });
    const node = keyAuthenticator(counted, host);
    try {
      const setAway = (away: boolean) => isAway = away;
      await body({ engine, host, node, reads: () => reads, setAway });
    } finally {
      await node.close();
    }
  });
}

async function until(condition: () => Promise<boolean>, what: string): Promise<void> {
  for (let waited = 0; !await condition(); waited += 5) {
    if (waited > 5_000) throw new Error(`${what} did not happen within 5 s`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

Deno.test("authenticate() gives the holder of a key", async () => {
  await withNode(async ({ engine, host, node }) => {
    const instance = await makeInstance(engine, host, "acme");
    const tenant = { instanceId: instance.id, environment: "staging", number: 2 } as const;
    const { id, key } = await makeKey(engine, host, tenant, "read");
    const holder = { keyId: id, instance, tenant, scope: "read" };
    for (let time = 0; time < 3; time++) {
      deepEqual(accepted(await node.authenticate(key, "staging", "acme")), holder);
      deepEqual(accepted(await node.authenticate(key, "staging")), holder);
    }
  });
});

Deno.test("instanceOf() knows the instance of a key that was asked for, until it is forgotten", async () => {
  await withNode(async ({ engine, host, node }) => {
    const tenant = await makeTenant(engine, host);
    const { key } = await makeKey(engine, host, tenant);
    equal(node.instanceOf(key), undefined);
    // A key that was read while the node began to follow the store is read once more.
    await until(async () => {
      equal((await node.authenticate(key, "production")).ok, true);
      return node.instanceOf(key) === tenant.instanceId;
    }, "the key is remembered");
    equal((await node.authenticate(`${key}x`, "production")).ok, false);
    equal(node.instanceOf(`${key}x`), undefined);
    node.forget();
    equal(node.instanceOf(key), undefined);
  });
});

Deno.test("authenticate() refuses with 401 what is no key and what is unknown", async () => {
  await withNode(async ({ engine, host, node }) => {
    const { key } = await makeKey(engine, host, await makeTenant(engine, host));
    const swapped = key.slice(0, -1) + (key.endsWith("0") ? "1" : "0");
    for (const token of ["", "x", "Bearer", key.slice(1), `${key} `, swapped, "a.b.c"]) {
      equal(refusal(await node.authenticate(token, "production")).kind, "unauthorized", token);
    }
  });
});

Deno.test("authenticate() refuses with 403 another environment and another instance", async () => {
  await withNode(async ({ engine, host, node }) => {
    const { key } = await makeKey(engine, host, await makeTenant(engine, host, "acme", "staging"));
    await makeInstance(engine, host, "other");
    for (let time = 0; time < 2; time++) {
      equal(refusal(await node.authenticate(key, "production")).kind, "forbidden");
      equal(refusal(await node.authenticate(key, "test", "acme")).kind, "forbidden");
      equal(refusal(await node.authenticate(key, "staging", "other")).kind, "forbidden");
      equal((await node.authenticate(key, "staging", "acme")).ok, true);
    }
  });
});

Deno.test("authenticate() asks the store once for a key, however often it is used", async () => {
  await withNode(async ({ engine, host, node, reads }) => {
    const { key } = await makeKey(engine, host, await makeTenant(engine, host));
    await until(async () => {
      await node.authenticate(key, "production");
      const before = reads();
      await node.authenticate(key, "production");
      return reads() === before;
    }, "remembering");
    node.forget();
    const before = reads();
    await Promise.all(Array.from({ length: 100 }, () => node.authenticate(key, "production")));
    equal(reads() - before, 1);
  }, deafEngine);
});

Deno.test("authenticate() remembers no unknown keys: one issued later works", async () => {
  await withNode(async ({ engine, host, node }) => {
    const tenant = await makeTenant(engine, host);
    const twin = fakeHost("twin");
    const { key } = await withTemporaryEngine((other) => makeKey(other, twin, tenant));
    equal((await node.authenticate(key, "production")).ok, false);
    const again = await makeKey(engine, fakeHost("twin"), tenant);
    equal(again.key, key);
    equal((await node.authenticate(key, "production")).ok, true);
  });
});

Deno.test("authenticate() refuses a scheduled key from its very millisecond on", async () => {
  await withNode(async ({ engine, host, node }) => {
    const { id, key } = await makeKey(engine, host, await makeTenant(engine, host));
    const at = "2026-01-01T00:00:02.500Z";
    accepted(await scheduleRevocation(engine, host, anyOperator, { keyId: id, revokeAt: at }));
    node.forget();
    host.timeMs = Date.parse(at) - 1;
    equal((await node.authenticate(key, "production")).ok, true);
    host.timeMs = Date.parse(at);
    equal(refusal(await node.authenticate(key, "production")).kind, "unauthorized");
  });
});

Deno.test("a key rotated or revoked elsewhere is refused within 5 s", async () => {
  await withNode(async ({ engine, host, node }) => {
    const { id, key } = await makeKey(engine, host, await makeTenant(engine, host));
    equal((await node.authenticate(key, "production")).ok, true);
    const rotated = accepted(await rotateApiKey(engine, host, anyOperator, id));
    await until(async () => !(await node.authenticate(key, "production")).ok, "the end");
    equal((await node.authenticate(rotated.key, "production")).ok, true);
    accepted(await revokeApiKey(engine, anyOperator, id));
    await until(async () => !(await node.authenticate(rotated.key, "production")).ok, "the end");
  });
});

Deno.test("a tier changed elsewhere is seen within 5 s", async () => {
  await withNode(async ({ engine, host, node }) => {
    const tenant = await makeTenant(engine, host);
    const { key } = await makeKey(engine, host, tenant);
    equal(accepted(await node.authenticate(key, "production")).instance.tier, "unlimited");
    accepted(await changeTier(engine, tenant.instanceId, "free"));
    await until(
      async () => accepted(await node.authenticate(key, "production")).instance.tier === "free",
      "the change",
    );
  });
});

Deno.test("what was read before forget() is not remembered after it", async () => {
  await withNode(async ({ engine, host, node, reads }) => {
    const { key } = await makeKey(engine, host, await makeTenant(engine, host));
    await node.authenticate(key, "production");
    node.forget();
    const early = node.authenticate(key, "production");
    node.forget();
    await early;
    const before = reads();
    await node.authenticate(key, "production");
    equal(reads() > before, true);
  });
});

Deno.test("while the store is away a remembered key works for 4 s, then none", async () => {
  await withNode(async ({ engine, host, node, setAway }) => {
    const { key } = await makeKey(engine, host, await makeTenant(engine, host));
    await until(async () => {
      await node.authenticate(key, "production");
      setAway(true);
      const worked = await node.authenticate(key, "production").then(({ ok }) => ok, () => false);
      setAway(worked);
      return worked;
    }, "remembering");
    host.timeMs += 3_999;
    equal((await node.authenticate(key, "production")).ok, true);
    host.timeMs += 1;
    await rejects(async () => await node.authenticate(key, "production"), EngineUnavailable);
  });
});
