/** The life of an API key: issued, rotated, ended. */

import { deepEqual, equal, match } from "node:assert/strict";
import {
  issueApiKey,
  listApiKeys,
  prepareApiKey,
  revokeApiKey,
  rotateApiKey,
  scheduleRevocation,
} from "../../../src/features/access/api_keys.ts";
import { hashApiKey } from "../../../src/domain/access/api_key.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import { API_KEYS_MAX } from "../../../src/domain/transfer/record.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { readApiKeyByHash, storeApiKey } from "../../../src/store/access/api_keys.ts";
import {
  accepted,
  anyOperator,
  makeKey,
  makeTenant,
  refusal,
} from "../../support/access_fixtures.ts";
import { type FakeHost, fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const elsewhere = { subject: "x", instances: ["another-instance"] };

function isKept(engine: Engine, key: string): Promise<boolean> {
  const found = engine.snapshot((tx) => readApiKeyByHash(tx, hashApiKey(key)));
  return found.then((record) => record !== undefined);
}

Deno.test("issueApiKey() gives the key once, in its form, with what was asked for", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const tenant = await makeTenant(engine, host, "acme", "staging");
    const issued = accepted(
      await issueApiKey(engine, host, tenant, { name: "CI deploy", scope: "read" }),
    );
    match(issued.key, /^dbk_0_staging_[0-9A-Za-z]{43}$/);
    match(issued.id, /^key_[0-9a-f]{32}$/);
    const { id: _id, key: _key, ...rest } = issued;
    deepEqual(rest, {
      name: "CI deploy",
      scope: "read",
      environment: "staging",
      created_at: "2026-01-01T00:00:00.000Z",
    });
  });
});

Deno.test("issueApiKey() leaves no trace of the key itself anywhere in the store", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const { key } = await makeKey(engine, host, await makeTenant(engine, host));
    const everything = { begin: new Uint8Array(0), end: new Uint8Array([0xff]) };
    const pairs = await engine.snapshot((tx) => tx.getRange(everything));
    const secret = key.slice(-43);
    const latin1 = new TextDecoder("latin1");
    const text = pairs.map((pair) => latin1.decode(pair.key) + latin1.decode(pair.value)).join();
    equal(text.includes(secret), false);
    equal(text.includes(latin1.decode(Uint8Array.fromHex(hashApiKey(key)))), true);
  });
});

Deno.test("issueApiKey() refuses a bad name and a bad scope", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const tenant = await makeTenant(engine, host);
    const name = refusal(await issueApiKey(engine, host, tenant, { name: "", scope: "read" }));
    equal(name.kind === "operator_input_invalid" && name.path, "name");
    const scope = refusal(
      await issueApiKey(engine, host, tenant, { name: "n", scope: "admin" as "read" }),
    );
    equal(scope.kind === "operator_input_invalid" && scope.path, "scope");
    deepEqual(await listApiKeys(engine, tenant), []);
  });
});

Deno.test("rotateApiKey() gives the same key a new text and ends the old one", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const tenant = await makeTenant(engine, host);
    const { key: old, ...view } = await makeKey(engine, host, tenant);
    host.timeMs += 60_000;
    const { key, ...rotated } = accepted(await rotateApiKey(engine, host, anyOperator, view.id));
    deepEqual(rotated, view);
    deepEqual([await isKept(engine, old), await isKept(engine, key)], [false, true]);
    deepEqual(await listApiKeys(engine, tenant), [view]);
  });
});

Deno.test("rotateApiKey() leaves one working text when ten rotate at once", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const { id } = await makeKey(engine, host, await makeTenant(engine, host));
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, () => rotateApiKey(engine, host, anyOperator, id)),
    );
    const kept = await Promise.all(
      outcomes.map((outcome) => isKept(engine, accepted(outcome).key)),
    );
    equal(kept.filter((is) => is).length, 1);
  });
});

Deno.test("scheduleRevocation() sets, and sets anew, when a key ends", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const tenant = await makeTenant(engine, host);
    const { key: _, ...view } = await makeKey(engine, host, tenant);
    for (
      const [sent, kept] of [
        ["2026-01-01T00:00:01Z", "2026-01-01T00:00:01.000Z"],
        ["2026-02-28T12:30:00.5Z", "2026-02-28T12:30:00.500Z"],
      ] as const
    ) {
      const outcome = await scheduleRevocation(engine, host, anyOperator, {
        keyId: view.id,
        revokeAt: sent,
      });
      deepEqual(accepted(outcome), { ...view, revoke_at: kept });
      deepEqual(await listApiKeys(engine, tenant), [{ ...view, revoke_at: kept }]);
    }
  });
});

Deno.test("scheduleRevocation() refuses what is no UTC time or not in the future", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const { id } = await makeKey(engine, host, await makeTenant(engine, host));
    const bad = [
      "",
      "tomorrow",
      "2030-01-01",
      "2030-01-01T00:00:00",
      "2030-01-01T00:00:00+02:00",
      "2030-02-30T00:00:00Z",
      "2030-13-01T00:00:00Z",
      "2030-01-01T25:00:00Z",
      "1893456000",
      "2026-01-01T00:00:00Z",
      "2025-12-31T23:59:59Z",
    ];
    for (const revokeAt of bad) {
      const found = refusal(
        await scheduleRevocation(engine, host, anyOperator, { keyId: id, revokeAt }),
      );
      equal(found.kind === "operator_input_invalid" && found.path, "revoke_at", revokeAt);
    }
  });
});

Deno.test("a key whose end has come cannot be rotated or scheduled, only revoked", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const tenant = await makeTenant(engine, host);
    const { id } = await makeKey(engine, host, tenant);
    const at = "2026-01-01T01:00:00Z";
    accepted(await scheduleRevocation(engine, host, anyOperator, { keyId: id, revokeAt: at }));
    host.timeMs = Date.parse(at);
    equal(refusal(await rotateApiKey(engine, host, anyOperator, id)).kind, "not_found");
    const later = "2027-01-01T00:00:00Z";
    const again = await scheduleRevocation(engine, host, anyOperator, {
      keyId: id,
      revokeAt: later,
    });
    equal(refusal(again).kind, "not_found");
    equal((await listApiKeys(engine, tenant)).length, 1);
    accepted(await revokeApiKey(engine, anyOperator, id));
    deepEqual(await listApiKeys(engine, tenant), []);
  });
});

Deno.test("revokeApiKey() ends a key and takes it off the list; then it is 404", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const tenant = await makeTenant(engine, host);
    const { id, key } = await makeKey(engine, host, tenant);
    accepted(await revokeApiKey(engine, anyOperator, id));
    equal(await isKept(engine, key), false);
    deepEqual(await listApiKeys(engine, tenant), []);
    equal(refusal(await revokeApiKey(engine, anyOperator, id)).kind, "not_found");
  });
});

Deno.test("no key of an instance that the token does not cover can be changed", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const { id, key } = await makeKey(engine, host, await makeTenant(engine, host));
    const at = "2030-01-01T00:00:00Z";
    const outcomes = [
      await rotateApiKey(engine, host, elsewhere, id),
      await scheduleRevocation(engine, host, elsewhere, { keyId: id, revokeAt: at }),
      await revokeApiKey(engine, elsewhere, id),
    ];
    deepEqual(outcomes.map((outcome) => refusal(outcome).kind), Array(3).fill("forbidden"));
    equal(await isKept(engine, key), true);
  });
});

Deno.test("listApiKeys() gives one environment's keys, oldest first, never the key", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const tenant = await makeTenant(engine, host);
    const views = [];
    for (let made = 0; made < 12; made++) {
      const { key: _, ...view } = await makeKey(engine, host, tenant, made % 2 ? "read" : "write");
      views.push(view);
      host.timeMs += 1 + made * 1_000_000;
    }
    await makeKey(engine, host, { ...tenant, environment: "test", number: 3 });
    deepEqual(await listApiKeys(engine, tenant), views);
  });
});

/** Stores so many keys without the checks of an issue. */
async function storeKeys(engine: Engine, host: FakeHost, tenant: Tenant, count: number) {
  for (let left = count; left > 0; left -= 1_000) {
    await engine.transact((tx) => {
      for (let n = 0; n < Math.min(left, 1_000); n++) {
        storeApiKey(tx, prepareApiKey(host, tenant, "many", "read").stored);
      }
      return Promise.resolve();
    });
  }
}

Deno.test("issueApiKey() refuses a key too many in an environment, until another is revoked", async () => {
  await withTemporaryEngine(async (engine) => {
    const host = fakeHost();
    const tenant = await makeTenant(engine, host);
    await storeKeys(engine, host, tenant, API_KEYS_MAX - 1);
    const asked = { name: "one more", scope: "read" } as const;
    const { id } = accepted(await issueApiKey(engine, host, tenant, asked));
    deepEqual(refusal(await issueApiKey(engine, host, tenant, asked)), {
      kind: "operator_input_invalid",
      path: "environment",
      message: "An environment has at most 5000 API keys; revoke some of them",
    });
    accepted(await revokeApiKey(engine, anyOperator, id));
    accepted(await issueApiKey(engine, host, tenant, asked));
  });
});

Deno.test("listApiKeys() reads the keys of one page, whatever its cursor, and no others", async () => {
  await withTemporaryEngine(async (inner) => {
    const host = fakeHost();
    const tenant = await makeTenant(inner, host);
    await storeKeys(inner, host, tenant, 30);
    let reads = 0;
    const snapshot: Engine["snapshot"] = (body) =>
      inner.snapshot((tx) => {
        const get: typeof tx.get = (key) => (reads++, tx.get(key));
        return body({ get, getRange: tx.getRange.bind(tx) } as typeof tx);
      });
    const engine = { snapshot } as Engine;
    const all = await listApiKeys(inner, tenant);
    deepEqual(await listApiKeys(engine, tenant, { limit: 5 }), all.slice(0, 5));
    equal(reads, 5);
    const start = all[9]!.id;
    deepEqual(await listApiKeys(engine, tenant, { limit: 5, start }), all.slice(10, 15));
    equal(reads, 10);
    deepEqual(await listApiKeys(engine, tenant, { start: "\u{10ffff}".repeat(10_000) }), []);
  });
});
