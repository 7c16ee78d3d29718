/**
 * The initial content of each world's store: one instance, its signing key and an API key. It
 * is the same in all worlds: the product's own commands make it once, and each world gets a
 * copy of what they stored.
 */

import { createInstance, resolveTenant } from "../../src/features/access/instances.ts";
import { issueApiKey } from "../../src/features/access/api_keys.ts";
import type { Tenant } from "../../src/domain/tenant.ts";
import type { Engine, KeyValue } from "../../src/kv/engine.ts";
import { readCurrentSigningKey } from "../../src/store/audit/signing_keys.ts";
import { fakeHost } from "../support/fake_host.ts";
import { valueOf } from "../support/service_fixture.ts";
import { createSimulatedStore, type SimulatedStore } from "./simulated_store.ts";

interface Founded {
  readonly tenant: Tenant;
  /** A write key. */
  readonly apiKey: string;
  /** Public key of the anchors' signing key, 32 bytes in hex. */
  readonly publicKey: string;
  readonly pairs: readonly KeyValue[];
}

const EVERYTHING = { begin: new Uint8Array(), end: Uint8Array.of(0xff) };

/** Opens an engine over the store that has no latency and never fails. */
export function openCalm(store: SimulatedStore): Engine {
  return store.open({ pause: () => Promise.resolve(), nowMs: () => 0 });
}

async function makeInstance(): Promise<Founded> {
  const store = createSimulatedStore();
  const engine = openCalm(store);
  const host = fakeHost("founding");
  const { id } = valueOf(await createInstance(engine, host, "shop", "unlimited"));
  const tenant = valueOf(await resolveTenant(engine, { subject: "founder" }, id, "test"));
  const { key } = valueOf(
    await issueApiKey(engine, host, tenant, { name: "clients", scope: "write" }),
  );
  const signer = await engine.snapshot((tx) => readCurrentSigningKey(tx, id));
  const publicKey = signer!.public_key;
  return { tenant, apiKey: key, publicKey, pairs: store.pairsWithin(EVERYTHING) };
}

const founded = await makeInstance();
export const { tenant: TENANT, apiKey: API_KEY, publicKey: PUBLIC_KEY } = founded;

/** Puts the instance into an empty store, as its first commit. */
export async function foundInstance(store: SimulatedStore): Promise<void> {
  const engine = openCalm(store);
  await engine.transact((tx) => {
    for (const { key, value } of founded.pairs) tx.set(key, value);
    return Promise.resolve();
  });
  await engine.close();
}
