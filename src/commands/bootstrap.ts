/**
 * First start on an empty store: one instance, its keys, and the file that tells them. Decisions:
 * section 0.
 *
 * Keys exist in the clear only in that file, so it must neither be lost nor lie when the process
 * dies halfway. It is written under a pending name first, then the store commits, then the file
 * gets its name. A pending file found later is true if its instance is in the store, else waste.
 */

import type { Scope } from "../domain/access.ts";
import { type Environment, ENVIRONMENTS } from "../domain/tenant.ts";
import type { Host } from "../host.ts";
import type { Engine } from "../kv/engine.ts";
import { storeApiKey, type StoredApiKey } from "../store/api_keys.ts";
import { listInstances, readInstance, tenantOf } from "../store/instances.ts";
import { type NewInstance, placeInstance, prepareInstance } from "./create_instance.ts";
import { type NewApiKey, prepareApiKey } from "./issue_api_key.ts";
import { mintOperatorToken } from "./operator_token.ts";

/** The documented shape of `credentials.json`. */
export interface Credentials {
  readonly instance_id: string;
  readonly slug: string;
  readonly base_urls: Readonly<Record<Environment, string>>;
  readonly keys: Readonly<Record<Environment, Readonly<Record<Scope, string>>>>;
  /** Ends after 24 hours. */
  readonly operator_token: string;
}

/** Where credentials are kept; the real one is a file of mode 0600. */
export interface CredentialsPlace {
  readPending(): Promise<Credentials | undefined>;
  writePending(credentials: Credentials): Promise<void>;
  /** Gives the pending credentials their final name, in place of any older ones. */
  publish(): Promise<void>;
  discardPending(): Promise<void>;
}

export interface BootstrapOptions {
  /** At least 32 bytes. */
  readonly jwtSecret: Uint8Array;
  readonly baseUrls: Readonly<Record<Environment, string>>;
}

/** The slug of the instance that a first start makes. */
export const FIRST_SLUG = "default";
const SCOPES: readonly Scope[] = ["read", "write"];

/** True where the credentials were made, or completed after a crash; false on a store in use. */
export async function bootstrap(
  engine: Engine,
  host: Host,
  place: CredentialsPlace,
  options: BootstrapOptions,
): Promise<boolean> {
  if (await completeEarlierStart(engine, place)) return true;
  if (!await engine.snapshot(isEmpty)) return false;
  const fresh = await prepareInstance(host, FIRST_SLUG, "unlimited");
  const apiKeys = prepareKeys(host, fresh);
  await place.writePending(await describe(host, fresh, apiKeys, options));
  const won = await engine.transact(async (tx) => {
    if (!await isEmpty(tx)) return false;
    const record = await placeInstance(tx, fresh);
    for (const { environment, stored } of apiKeys) {
      // Only now are the tenants' numbers known.
      storeApiKey(tx, withTenant(stored, tenantOf(record, environment).number));
    }
    return true;
  });
  if (won) await place.publish();
  else await place.discardPending();
  return won;
}

async function completeEarlierStart(engine: Engine, place: CredentialsPlace): Promise<boolean> {
  const pending = await place.readPending();
  if (pending === undefined) return false;
  const landed = await engine.snapshot((tx) => readInstance(tx, pending.instance_id));
  if (landed === undefined) await place.discardPending();
  else await place.publish();
  return landed !== undefined;
}

type FirstKey = NewApiKey & { readonly environment: Environment; readonly scope: Scope };

function prepareKeys(host: Host, { instance }: NewInstance): FirstKey[] {
  return ENVIRONMENTS.flatMap((environment) =>
    SCOPES.map((scope) => {
      const tenant = { instanceId: instance.id, environment, number: 0 };
      return { ...prepareApiKey(host, tenant, `first ${scope} key`, scope), environment, scope };
    })
  );
}

async function describe(
  host: Host,
  { instance }: NewInstance,
  apiKeys: readonly FirstKey[],
  { jwtSecret, baseUrls }: BootstrapOptions,
): Promise<Credentials> {
  function keysOf(environment: Environment): Record<Scope, string> {
    const find = (scope: Scope) =>
      apiKeys.find((key) => key.environment === environment && key.scope === scope)!.key;
    return { read: find("read"), write: find("write") };
  }
  const request = { secret: jwtSecret, subject: "bootstrap", nowMs: host.nowMs() };
  const { production, staging, test } = baseUrls;
  return {
    instance_id: instance.id,
    slug: instance.slug,
    base_urls: { production, staging, test },
    keys: {
      production: keysOf("production"),
      staging: keysOf("staging"),
      test: keysOf("test"),
    },
    operator_token: (await mintOperatorToken(request)).token,
  };
}

function withTenant({ record, hash }: StoredApiKey, tenant: number): StoredApiKey {
  return { record: { ...record, tenant }, hash };
}

async function isEmpty(tx: Parameters<typeof listInstances>[0]): Promise<boolean> {
  return (await listInstances(tx, 1)).length === 0;
}
