/**
 * Issues, rotates, revokes and lists API keys. A key's text is returned once and stored nowhere.
 */

import type { ApiKeyView, IssuedApiKey, Operator, Scope } from "../../domain/access/access.ts";
import {
  API_KEY_SECRET_BYTES,
  explainKeyName,
  formatApiKey,
  hashApiKey,
} from "../../domain/access/api_key.ts";
import { mayOperate, refuseOtherInstance } from "../../domain/access/operator.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import { API_KEYS_MAX } from "../../domain/transfer/record.ts";
import { parseUtcTime } from "../../domain/utc_time.ts";
import type { Host } from "../../host.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import {
  countApiKeys,
  listApiKeyRecords,
  readApiKeyById,
  removeApiKey,
  storeApiKey,
  type StoredApiKey,
  viewApiKey,
} from "../../store/access/api_keys.ts";

const SCOPES: readonly Scope[] = ["read", "write"];
const ID_RANDOM_BYTES = 10;
const ID_TIME_DIGITS = 12;

/** A key with its text, made before the transaction that stores it. */
export interface NewApiKey {
  readonly key: string;
  readonly stored: StoredApiKey;
}

export interface ApiKeyRequest {
  readonly name: string;
  readonly scope: Scope;
}

export async function issueApiKey(
  engine: Engine,
  host: Host,
  tenant: Tenant,
  { name, scope }: ApiKeyRequest,
): Promise<Outcome<IssuedApiKey>> {
  const fault = explainKeyName(name);
  if (fault !== undefined) {
    return refuse({ kind: "operator_input_invalid", path: "name", message: fault });
  }
  if (!SCOPES.includes(scope)) {
    const message = `scope must be one of ${SCOPES.join(", ")}`;
    return refuse({ kind: "operator_input_invalid", path: "scope", message });
  }
  const fresh = prepareApiKey(host, tenant, name, scope);
  return await engine.transact(async (tx): Promise<Outcome<IssuedApiKey>> => {
    if (await countApiKeys(tx, tenant.number, API_KEYS_MAX) >= API_KEYS_MAX) {
      const message = `An environment has at most ${API_KEYS_MAX} API keys; revoke some of them`;
      return refuse({ kind: "operator_input_invalid", path: "environment", message });
    }
    storeApiKey(tx, fresh.stored);
    return accept({ ...viewApiKey(fresh.stored.record), key: fresh.key });
  });
}

/** Keeps the key but gives it a new text; the old text is invalid from the commit on. */
export function rotateApiKey(
  engine: Engine,
  host: Host,
  operator: Operator,
  keyId: string,
): Promise<Outcome<IssuedApiKey>> {
  const secret = host.randomBytes(API_KEY_SECRET_BYTES);
  const nowMs = host.nowMs();
  return changeApiKey(engine, { operator, keyId, nowMs }, (tx, old) => {
    const key = formatApiKey(old.record.environment, secret);
    removeApiKey(tx, old);
    storeApiKey(tx, { record: old.record, hash: hashApiKey(key) });
    return { ...viewApiKey(old.record), key };
  });
}

export interface RevocationRequest {
  readonly keyId: string;
  readonly revokeAt: string;
}

/** `revokeAt` is an ISO 8601 UTC time in the future. Setting it again replaces it. */
export async function scheduleRevocation(
  engine: Engine,
  host: Host,
  operator: Operator,
  { keyId, revokeAt }: RevocationRequest,
): Promise<Outcome<ApiKeyView>> {
  const nowMs = host.nowMs();
  const atMs = parseUtcTime(revokeAt);
  if (atMs === undefined || atMs <= nowMs) {
    const message = atMs === undefined
      ? "revoke_at must be an ISO 8601 UTC time, for example 2030-01-31T12:00:00Z"
      : "revoke_at must be in the future";
    return refuse({ kind: "operator_input_invalid", path: "revoke_at", message });
  }
  const revoke_at = new Date(atMs).toISOString();
  return await changeApiKey(engine, { operator, keyId, nowMs }, (tx, old) => {
    const record = { ...old.record, revoke_at };
    storeApiKey(tx, { record, hash: old.hash });
    return viewApiKey(record);
  });
}

export function revokeApiKey(
  engine: Engine,
  operator: Operator,
  keyId: string,
): Promise<Outcome<void>> {
  // A key that has already expired may still be removed from the list.
  return changeApiKey(engine, { operator, keyId, nowMs: -Infinity }, removeApiKey);
}

export function prepareApiKey(host: Host, tenant: Tenant, name: string, scope: Scope): NewApiKey {
  const key = formatApiKey(tenant.environment, host.randomBytes(API_KEY_SECRET_BYTES));
  return describeApiKey(host, tenant, { name, scope, key });
}

/** The same for a key with a text of its own. */
export function describeApiKey(
  host: Host,
  tenant: Tenant,
  { name, scope, key }: ApiKeyRequest & { readonly key: string },
): NewApiKey {
  const nowMs = host.nowMs();
  const time = nowMs.toString(16).padStart(ID_TIME_DIGITS, "0");
  const record = {
    id: `key_${time}${host.randomBytes(ID_RANDOM_BYTES).toHex()}`,
    name,
    scope,
    environment: tenant.environment,
    instance_id: tenant.instanceId,
    tenant: tenant.number,
    created_at: new Date(nowMs).toISOString(),
  };
  return { key, stored: { record, hash: hashApiKey(key) } };
}

interface KeyPlace {
  readonly operator: Operator;
  readonly keyId: string;
  readonly nowMs: number;
}

/** Changes one key, if the operator may touch it and it has not expired by `nowMs`. */
function changeApiKey<T>(
  engine: Engine,
  { operator, keyId, nowMs }: KeyPlace,
  change: (tx: Transaction, old: StoredApiKey) => T,
): Promise<Outcome<T>> {
  return engine.transact(async (tx): Promise<Outcome<T>> => {
    const old = await readApiKeyById(tx, keyId);
    if (old === undefined) return refuse({ kind: "not_found", message: "API key not found" });
    if (!mayOperate(operator, old.record.instance_id)) return refuseOtherInstance();
    const end = old.record.revoke_at;
    if (end !== undefined && Date.parse(end) <= nowMs) {
      return refuse({ kind: "not_found", message: "API key has been revoked" });
    }
    return accept(change(tx, old));
  });
}

/** No id of a key is longer, so what a cursor has behind them decides nothing. */
const ID_CHARACTERS_MAX = 100;

/**
 * Without their texts, oldest first: at most `limit`, after the one with the id `start`. An expired
 * key is listed until it is revoked for good.
 */
export async function listApiKeys(
  engine: Engine,
  tenant: Tenant,
  { limit, start }: { readonly limit?: number; readonly start?: string } = {},
): Promise<readonly ApiKeyView[]> {
  const range = { limit, after: start?.slice(0, ID_CHARACTERS_MAX) };
  const records = await engine.snapshot((tx) => listApiKeyRecords(tx, tenant.number, range));
  return records.map(viewApiKey);
}
