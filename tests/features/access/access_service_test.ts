/** Instances, keys and operators as one service, and what lost commits leave behind. */

import { deepEqual, equal, rejects } from "node:assert/strict";
import { type Access, createAccess } from "../../../src/features/access/access_service.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { accepted, anyOperator, refusal } from "../../support/access_fixtures.ts";
import { type Fault, faultyEngine } from "../../support/faulty_engine.ts";
import { type FakeHost, fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const jwtSecret = new Uint8Array(32).fill(6);

function withAccess(body: (access: Access, host: FakeHost, engine: Engine) => Promise<void>) {
  return withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const access = createAccess(engine, host, { jwtSecret });
    try {
      await body(access, host, engine);
    } finally {
      await access.close();
    }
  });
}

/** The same engine and host behind another service, for one call. */
async function through<T>(engine: Engine, host: FakeHost, call: (access: Access) => Promise<T>) {
  const access = createAccess(engine, host, { jwtSecret });
  try {
    return await call(access);
  } finally {
    await access.close();
  }
}

Deno.test("a revoked key is refused by the very next call", async () => {
  await withAccess(async (access) => {
    const { id } = accepted(await access.createInstance("acme", "unlimited"));
    const tenant = accepted(await access.resolveTenant(anyOperator, id, "test"));
    for (let round = 0; round < 20; round++) {
      const issued = accepted(await access.issueApiKey(tenant, `key ${round}`, "write"));
      equal((await access.authenticateKey(issued.key, "test")).ok, true);
      equal((await access.authenticateKey(issued.key, "test")).ok, true);
      accepted(await access.revokeApiKey(anyOperator, issued.id));
      equal((await access.authenticateKey(issued.key, "test")).ok, false);
    }
  });
});

Deno.test("a rotation, a scheduled end and a changed tier count from the next call", async () => {
  await withAccess(async (access, host) => {
    const { id } = accepted(await access.createInstance("acme", "unlimited"));
    const tenant = accepted(await access.resolveTenant(anyOperator, id, "staging"));
    const issued = accepted(await access.issueApiKey(tenant, "n", "read"));
    accepted(await access.authenticateKey(issued.key, "staging"));
    const rotated = accepted(await access.rotateApiKey(anyOperator, issued.id));
    equal((await access.authenticateKey(issued.key, "staging")).ok, false);
    accepted(await access.changeTier(id, "hobby"));
    const holder = accepted(await access.authenticateKey(rotated.key, "staging", "acme"));
    equal(holder.instance.tier, "hobby");
    const at = "2026-01-01T00:00:01Z";
    accepted(await access.scheduleRevocation(anyOperator, issued.id, at));
    equal((await access.authenticateKey(rotated.key, "staging")).ok, true);
    host.timeMs += 1_000;
    equal((await access.authenticateKey(rotated.key, "staging")).ok, false);
    equal((await access.listApiKeys(tenant))[0]?.revoke_at, "2026-01-01T00:00:01.000Z");
  });
});

Deno.test("who logs in may operate", async () => {
  await withAccess(async (access) => {
    accepted(await access.addUser("ops@example.com", "correct horse battery"));
    const { token } = accepted(
      await access.login({
        email: "ops@example.com",
        password: "correct horse battery",
        network: "",
      }),
    );
    const operator = accepted(await access.authenticateOperator(token));
    const made = accepted(await access.createInstance("acme", "free"));
    deepEqual(accepted(await access.readInstance(operator, made.id)), made);
    deepEqual(accepted(await access.listInstances(operator)).data, [made]);
  });
});

for (const landed of [false, true]) {
  Deno.test(`createInstance() in an outage is whole or nothing (landed: ${landed})`, async () => {
    await withAccess(async (access, host, engine) => {
      const failing = faultyEngine(engine, [{ kind: "unavailable", landed }]);
      await rejects(
        through(failing, host, (other) => other.createInstance("acme", "free")),
        { name: "EngineUnavailable" },
      );
      const again = await access.createInstance("acme", "free");
      if (landed) equal(refusal(again).kind, "already_exists");
      else accepted(again);
      const { data } = accepted(await access.listInstances(anyOperator));
      deepEqual(data.map(({ slug }) => slug), ["acme"]);
      const tenant = accepted(await access.resolveTenant(anyOperator, undefined, "production"));
      equal(tenant.number, 1);
    });
  });

  Deno.test(`issueApiKey() in an outage leaves one key or none (landed: ${landed})`, async () => {
    await withAccess(async (access, host, engine) => {
      const { id } = accepted(await access.createInstance("acme", "free"));
      const tenant = accepted(await access.resolveTenant(anyOperator, id, "test"));
      const failing = faultyEngine(engine, [{ kind: "unavailable", landed }]);
      await rejects(
        through(failing, host, (other) => other.issueApiKey(tenant, "n", "write")),
        { name: "EngineUnavailable" },
      );
      const left = await access.listApiKeys(tenant);
      equal(left.length, landed ? 1 : 0);
      // Nobody has seen its text, but it can be found, revoked or rotated.
      for (const { id } of left) accepted(await access.revokeApiKey(anyOperator, id));
      deepEqual(await access.listApiKeys(tenant), []);
    });
  });

  Deno.test(`revokeApiKey() in an outage counts at once if it landed (${landed})`, async () => {
    await withAccess(async (access, host, engine) => {
      const { id } = accepted(await access.createInstance("acme", "free"));
      const tenant = accepted(await access.resolveTenant(anyOperator, id, "test"));
      const issued = accepted(await access.issueApiKey(tenant, "n", "write"));
      await through(
        faultyEngine(engine, [{ kind: "unavailable", landed }]),
        host,
        async (other) => {
          equal((await other.authenticateKey(issued.key, "test")).ok, true);
          equal((await other.authenticateKey(issued.key, "test")).ok, true);
          await rejects(other.revokeApiKey(anyOperator, issued.id), { name: "EngineUnavailable" });
          equal((await other.authenticateKey(issued.key, "test")).ok, !landed);
        },
      );
    });
  });
}

for (const landed of [false, true]) {
  Deno.test(`each change is made once when its reply is lost (landed: ${landed})`, async () => {
    // Only every other commit that does not land is lost, so that the next try gets through.
    const plan = (commit: number): Fault | undefined =>
      landed || commit % 2 === 0 ? { kind: "lose_reply", landed } : undefined;
    await changeEverything((engine) => faultyEngine(engine, plan));
  });
}

Deno.test("each change is made once when its transaction runs again", async () => {
  await changeEverything((engine) => faultyEngine(engine, () => ({ kind: "conflict", times: 1 })));
});

async function changeEverything(wrap: (engine: Engine) => Engine): Promise<void> {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    await through(wrap(engine), host, async (access) => {
      const { id } = accepted(await access.createInstance("acme", "free"));
      const tenant = accepted(await access.resolveTenant(anyOperator, id, "test"));
      equal(tenant.number, 3);
      const issued = accepted(await access.issueApiKey(tenant, "n", "write"));
      const rotated = accepted(await access.rotateApiKey(anyOperator, issued.id));
      equal((await access.listApiKeys(tenant)).length, 1);
      accepted(await access.authenticateKey(rotated.key, "test"));
      equal(accepted(await access.changeTier(id, "pro")).tier, "pro");
      accepted(await access.revokeApiKey(anyOperator, issued.id));
      deepEqual(await access.listApiKeys(tenant), []);
    });
  });
}
