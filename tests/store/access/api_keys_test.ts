/** Where API keys are stored, and where they no longer are. */

import { deepEqual, equal, notDeepEqual } from "node:assert/strict";
import type { Engine } from "../../../src/kv/engine.ts";
import {
  listApiKeyRecords,
  readApiKeyByHash,
  readApiKeyById,
  removeApiKey,
  storeApiKey,
  type StoredApiKey,
  viewApiKey,
} from "../../../src/store/access/api_keys.ts";
import { keys } from "../../../src/store/keys.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

function stored(id: string, hashByte: string, tenant = 1): StoredApiKey {
  const record = {
    id,
    name: "n",
    scope: "read",
    environment: "production",
    instance_id: "i",
    tenant,
    created_at: "2026-01-01T00:00:00.000Z",
  } as const;
  return { record, hash: hashByte.repeat(32) };
}

function store(engine: Engine, key: StoredApiKey): Promise<void> {
  return engine.transact((tx) => Promise.resolve(storeApiKey(tx, key)));
}

Deno.test("storeApiKey() keeps a key where its hash and its id find it", async () => {
  await withTemporaryEngine(async (engine) => {
    const key = stored("key_1", "0f");
    await store(engine, key);
    await engine.snapshot(async (tx) => {
      deepEqual(await readApiKeyByHash(tx, key.hash), key.record);
      deepEqual(await readApiKeyById(tx, "key_1"), key);
      equal(await readApiKeyByHash(tx, "00".repeat(32)), undefined);
      equal(await readApiKeyById(tx, "key_2"), undefined);
    });
  });
});

Deno.test("listApiKeyRecords() gives a tenant's keys by id, and no other tenant's", async () => {
  await withTemporaryEngine(async (engine) => {
    await store(engine, stored("key_2", "02"));
    await store(engine, stored("key_1", "01"));
    await store(engine, stored("key_3", "03", 2));
    const records = await engine.snapshot((tx) => listApiKeyRecords(tx, 1));
    deepEqual(records.map(({ id }) => id), ["key_1", "key_2"]);
  });
});

Deno.test("removeApiKey() leaves nothing of the key in the store", async () => {
  await withTemporaryEngine(async (engine) => {
    // The engine's own markers of commits lie beyond.
    const everything = { begin: new Uint8Array(0), end: new Uint8Array([0xfe]) };
    const key = stored("key_1", "0f");
    await store(engine, key);
    await engine.transact((tx) => Promise.resolve(removeApiKey(tx, key)));
    const left = await engine.snapshot((tx) => tx.getRange(everything));
    const version = keys.accessVersion().toHex();
    deepEqual(left.map((pair) => pair.key.toHex()).filter((hex) => hex !== version), []);
  });
});

Deno.test("storeApiKey() and removeApiKey() each move the access version", async () => {
  await withTemporaryEngine(async (engine) => {
    const version = () => engine.snapshot((tx) => tx.get(keys.accessVersion()));
    const key = stored("key_1", "0f");
    const seen = [await version()];
    await store(engine, key);
    seen.push(await version());
    await engine.transact((tx) => Promise.resolve(removeApiKey(tx, key)));
    seen.push(await version());
    notDeepEqual(seen[0], seen[1]);
    notDeepEqual(seen[1], seen[2]);
  });
});

Deno.test("viewApiKey() shows what may be listed, with revoke_at only where it is set", () => {
  const { record } = stored("key_1", "0f");
  const { id, name, scope, environment, created_at } = record;
  deepEqual(viewApiKey(record), { id, name, scope, environment, created_at });
  equal(viewApiKey({ ...record, revoke_at: "2030-01-01T00:00:00.000Z" }).revoke_at?.length, 24);
});
