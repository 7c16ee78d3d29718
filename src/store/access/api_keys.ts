/**
 * API keys, found by the SHA-256 of their secret text, which itself is stored nowhere. A revoked
 * key is removed from all three places.
 */

import type { ApiKeyView, Scope } from "../../domain/access/access.ts";
import type { Environment } from "../../domain/tenant.ts";
import type { ReadTransaction, Transaction } from "../../kv/engine.ts";
import { bumpAccessVersion } from "./access_version.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { keyAfter, keys } from "../keys.ts";

export interface ApiKeyRecord {
  /** Begins with its time of creation, so that ids sort by age. */
  readonly id: string;
  readonly name: string;
  readonly scope: Scope;
  readonly environment: Environment;
  readonly instance_id: string;
  /** The tenant's number. */
  readonly tenant: number;
  readonly created_at: string;
  /** ISO 8601 UTC; from then on the key counts as revoked. */
  readonly revoke_at?: string;
}

/** A record with the hash under which it is stored. */
export interface StoredApiKey {
  readonly record: ApiKeyRecord;
  /** 64 lowercase hex characters. */
  readonly hash: string;
}

type PointReads = Pick<ReadTransaction, "get">;

export async function readApiKeyByHash(
  tx: PointReads,
  hash: string,
): Promise<ApiKeyRecord | undefined> {
  const value = await tx.get(keys.apiKeyByHash(Uint8Array.fromHex(hash)));
  return value && decodeRecord<ApiKeyRecord>(value);
}

export async function readApiKeyById(
  tx: PointReads,
  id: string,
): Promise<StoredApiKey | undefined> {
  const hash = (await tx.get(keys.apiKeyHash(id)))?.toHex();
  const record = hash === undefined ? undefined : await readApiKeyByHash(tx, hash);
  return record && { record, hash: hash! };
}

/** At most so many keys, after the key with this id. */
export interface ApiKeyRange {
  readonly limit?: number;
  readonly after?: string;
}

/** A tenant's keys, oldest first. */
export async function listApiKeyRecords(
  tx: ReadTransaction,
  tenant: number,
  range: ApiKeyRange = {},
): Promise<ApiKeyRecord[]> {
  return (await listStoredApiKeys(tx, tenant, range)).map(({ record }) => record);
}

/** How many keys a tenant has, counted up to `countMax`. */
export async function countApiKeys(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  countMax: number,
): Promise<number> {
  const options = { limit: countMax, keysOnly: true };
  return (await tx.getRange(keys.apiKeys(tenant), options)).length;
}

/** Like {@link listApiKeyRecords}, each with its hash. */
export async function listStoredApiKeys(
  tx: Pick<ReadTransaction, "get" | "getRange">,
  tenant: number,
  { limit, after }: ApiKeyRange = {},
): Promise<StoredApiKey[]> {
  const { begin, end } = keys.apiKeys(tenant);
  const start = after === undefined ? begin : keyAfter(keys.apiKey(tenant, after));
  const range = { begin: start, end };
  const pairs = await tx.getRange(range, limit === undefined ? {} : { limit });
  const stored = await Promise.all(pairs.map(async ({ value }) => {
    const hash = value.toHex();
    const record = await readApiKeyByHash(tx, hash);
    return record && { record, hash };
  }));
  return stored.filter((key) => key !== undefined);
}

/** Stores a new key, or a changed record under the same hash. */
export function storeApiKey(tx: Transaction, { record, hash }: StoredApiKey): void {
  const hashBytes = Uint8Array.fromHex(hash);
  tx.set(keys.apiKeyByHash(hashBytes), encodeRecord(record));
  tx.set(keys.apiKeyHash(record.id), hashBytes);
  tx.set(keys.apiKey(record.tenant, record.id), hashBytes);
  bumpAccessVersion(tx);
}

export function removeApiKey(tx: Transaction, { record, hash }: StoredApiKey): void {
  tx.clear(keys.apiKeyByHash(Uint8Array.fromHex(hash)));
  tx.clear(keys.apiKeyHash(record.id));
  tx.clear(keys.apiKey(record.tenant, record.id));
  bumpAccessVersion(tx);
}

/** The fields of a key that may be listed. */
export function viewApiKey(record: ApiKeyRecord): ApiKeyView {
  const { id, name, scope, environment, created_at, revoke_at } = record;
  return { id, name, scope, environment, created_at, ...(revoke_at && { revoke_at }) };
}
