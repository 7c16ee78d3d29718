/**
 * Owns the first start on an empty store: one instance, its API keys and the credentials file.
 *
 * The keys exist in plain text only in that file, so the file must neither get lost nor be
 * wrong if the process dies halfway. It is first written under a pending name, then the store
 * commits, then the file gets its final name. A pending file found later is valid if its
 * instance is in the store. If it is not, the file is garbage as soon as the store has another
 * instance. Before that, another process may be about to commit it: several processes may start
 * at once on one store, from one folder or from several.
 */

import type { Scope } from "../../domain/access/access.ts";
import { hashApiKey } from "../../domain/access/api_key.ts";
import { DEV_KEYS, devKey } from "../../domain/access/dev_keys.ts";
import { type Environment, ENVIRONMENTS } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import { readApiKeyByHash, storeApiKey, type StoredApiKey } from "../../store/access/api_keys.ts";
import { type FirstStartRecord, readFirstStart, storeFirstStart } from "../../store/deployment.ts";
import { listInstances, readInstance, tenantOf } from "../../store/access/instances.ts";
import { type NewInstance, placeInstance, prepareInstance } from "./instances.ts";
import { describeApiKey, type NewApiKey, prepareApiKey } from "./api_keys.ts";
import { mintOperatorToken } from "./operator_token.ts";

/** The documented shape of `credentials.json`. */
export interface Credentials {
  readonly instance_id: string;
  readonly slug: string;
  readonly base_urls: Readonly<Record<Environment, string>>;
  readonly keys: Readonly<Record<Environment, Readonly<Record<Scope, string>>>>;
  /** Expires after 24 hours. */
  readonly operator_token: string;
}

/** Where credentials are kept; in production, a file of mode 0600. */
export interface CredentialsPlace {
  /** For people on other machines: where the credentials are once they are published. */
  describe(): Promise<string>;
  readPublished(): Promise<Credentials | undefined>;
  /** All pending credentials in this place, including those of other processes. */
  listPending(): Promise<readonly Credentials[]>;
  writePending(credentials: Credentials): Promise<void>;
  /**
   * Gives the pending credentials of an instance their final name, replacing any older ones.
   * Does nothing if another process has just done so.
   */
  publish(instanceId: string): Promise<void>;
  /** Removes pending credentials if they are still there. */
  discardPending(instanceId: string): Promise<void>;
}

export type FirstStart =
  /** The credentials are in this place. */
  | { readonly kind: "made" }
  /** Another process made the credentials; `place` says where they are. */
  | { readonly kind: "made_elsewhere"; readonly place: string }
  /** The store is in use, and no first start from another place is known. */
  | { readonly kind: "in_use" };

export interface BootstrapOptions {
  /** At least 32 bytes. */
  readonly jwtSecret: Uint8Array;
  readonly baseUrls: Readonly<Record<Environment, string>>;
  /** Whether the keys are those for development, which everybody knows. */
  readonly devKeys?: boolean;
}

/** The slug of the instance that a first start makes. */
export const FIRST_SLUG = "default";
const SCOPES: readonly Scope[] = ["read", "write"];

/** Makes the first instance on an empty store, or completes an earlier start. */
export async function bootstrap(
  engine: Engine,
  host: Host,
  place: CredentialsPlace,
  options: BootstrapOptions,
): Promise<FirstStart> {
  if (await settlePending(engine, place)) return { kind: "made" };
  const described = await place.describe();
  if (await engine.snapshot(isEmpty)) {
    const fresh = await prepareInstance(host, FIRST_SLUG, "unlimited");
    const apiKeys = prepareKeys(host, fresh, options.devKeys);
    await place.writePending(await describe(host, fresh, apiKeys, options));
    const { id: instance_id, created_at: made_at } = fresh.instance;
    const dev = options.devKeys ? { dev_keys: true } as const : {};
    const first: FirstStartRecord = { instance_id, place: described, made_at, ...dev };
    const won = await engine.transact((tx) => placeFirst(tx, fresh, apiKeys, first));
    await settlePending(engine, place);
    if (won) return { kind: "made" };
  }
  const first = await engine.snapshot(readFirstStart);
  if (first === undefined || first.place === described) return { kind: "in_use" };
  // This also holds if the folder was moved or the machine was renamed.
  const isHere = (await place.readPublished())?.instance_id === first.instance_id;
  return isHere ? { kind: "in_use" } : { kind: "made_elsewhere", place: first.place };
}

/** Does nothing and returns false if another process was faster. */
async function placeFirst(
  tx: Transaction,
  fresh: NewInstance,
  apiKeys: readonly FirstKey[],
  first: FirstStartRecord,
): Promise<boolean> {
  if (!await isEmpty(tx)) return false;
  const record = await placeInstance(tx, fresh);
  for (const { environment, stored } of apiKeys) {
    // The numbers of the tenants are only known now.
    storeApiKey(tx, withTenant(stored, tenantOf(record, environment).number));
  }
  storeFirstStart(tx, first);
  return true;
}

/**
 * Publishes credentials that are in the store and removes those that never can be. Returns true
 * if any were published.
 */
async function settlePending(engine: Engine, place: CredentialsPlace): Promise<boolean> {
  const pending = await place.listPending();
  if (pending.length === 0) return false;
  const [empty, landed] = await engine.snapshot(async (tx) => {
    const found = await Promise.all(pending.map((one) => readInstance(tx, one.instance_id)));
    return [await isEmpty(tx), new Set(found.map((instance) => instance?.id))];
  });
  for (const { instance_id } of pending) {
    if (landed.has(instance_id)) await place.publish(instance_id);
    else if (!empty) await place.discardPending(instance_id);
  }
  return pending.some(({ instance_id }) => landed.has(instance_id));
}

type FirstKey = NewApiKey & { readonly environment: Environment; readonly scope: Scope };

function prepareKeys(host: Host, { instance }: NewInstance, areKnown = false): FirstKey[] {
  return ENVIRONMENTS.flatMap((environment) =>
    SCOPES.map((scope) => {
      const tenant = { instanceId: instance.id, environment, number: 0 };
      const [name, key] = [`development ${scope} key`, devKey(environment, scope)];
      const made = areKnown
        ? describeApiKey(host, tenant, { name, scope, key })
        : prepareApiKey(host, tenant, `first ${scope} key`, scope);
      return { ...made, environment, scope };
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

const OTHER_STORE = "DAYBOOK_DEV_KEYS is set, but this store was made without it, so it has no " +
  "such keys and gets none. Unset it, or use an empty DAYBOOK_DATA_DIR";
const KNOWN_KEYS = "This store was made with DAYBOOK_DEV_KEYS: everybody knows its API keys. For " +
  "development, set it again. Otherwise use another store, or delete the keys first " +
  "(DELETE /api/keys/{id}) while it is set";

/**
 * Keeps keys that everybody knows out of stores that were not made for them, and such stores out of
 * servers that do not ask for them. Call after the first start, before anybody is answered.
 *
 * @throws {Error} when the store and the setting do not go together.
 */
export async function checkDevKeys(engine: Engine, host: Host, isOn: boolean): Promise<void> {
  const [first, records] = await engine.snapshot((tx) =>
    Promise.all([
      readFirstStart(tx),
      Promise.all(DEV_KEYS.map((key) => readApiKeyByHash(tx, hashApiKey(key)))),
    ])
  );
  const nowMs = host.nowMs();
  const areOpen = records.some((record) =>
    record !== undefined &&
    (record.revoke_at === undefined || Date.parse(record.revoke_at) > nowMs)
  );
  if (isOn && first?.dev_keys !== true) throw new Error(OTHER_STORE);
  if (!isOn && areOpen) throw new Error(KNOWN_KEYS);
}
