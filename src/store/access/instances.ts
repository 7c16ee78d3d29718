/** Instances, their slugs and the numbers of their three tenants. */

import type { Instance, Tier } from "../../domain/access/access.ts";
import { type Environment, ENVIRONMENTS, type Tenant } from "../../domain/tenant.ts";
import type { ReadTransaction, Transaction } from "../../kv/engine.ts";
import { bumpAccessVersion } from "./access_version.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { keyAfter, keys } from "../keys.ts";

export interface InstanceRecord extends Instance {
  /** For each environment, the number that its keys begin with. */
  readonly tenants: Readonly<Record<Environment, number>>;
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

export async function readInstance(
  tx: Pick<ReadTransaction, "get">,
  id: string,
): Promise<InstanceRecord | undefined> {
  const value = await tx.get(keys.instance(id));
  return value && decodeRecord<InstanceRecord>(value);
}

export async function isSlugTaken(tx: ReadTransaction, slug: string): Promise<boolean> {
  return await tx.get(keys.slug(slug)) !== undefined;
}

/** At most `limit` instances after the id `after`, in the order of their ids. */
export async function listInstances(
  tx: Pick<ReadTransaction, "getRange">,
  limit?: number,
  after?: string,
): Promise<InstanceRecord[]> {
  const { begin, end } = keys.instances();
  const range = { begin: after === undefined ? begin : keyAfter(keys.instance(after)), end };
  const pairs = await tx.getRange(range, limit === undefined ? {} : { limit });
  return pairs.map(({ value }) => decodeRecord<InstanceRecord>(value));
}

/** How many tenant numbers have been given out: they are 1 up to this one. */
export async function readTenantCount(tx: Pick<ReadTransaction, "get">): Promise<number> {
  const count = await tx.get(keys.tenantCount());
  return count === undefined ? 0 : Number(decoder.decode(count));
}

/** Stores a new instance with three tenant numbers that were never given out before. */
export async function storeInstance(tx: Transaction, instance: Instance): Promise<InstanceRecord> {
  const given = await readTenantCount(tx);
  const [production, staging, test] = ENVIRONMENTS.map((_, index) => given + index + 1);
  const tenants = { production: production!, staging: staging!, test: test! };
  const record: InstanceRecord = { ...instance, tenants };
  tx.set(keys.tenantCount(), encoder.encode(String(given + ENVIRONMENTS.length)));
  tx.set(keys.instance(instance.id), encodeRecord(record));
  tx.set(keys.slug(instance.slug), encoder.encode(instance.id));
  bumpAccessVersion(tx);
  return record;
}

/** The instance that has the slug. */
export async function readInstanceBySlug(
  tx: Pick<ReadTransaction, "get">,
  slug: string,
): Promise<InstanceRecord | undefined> {
  const id = await tx.get(keys.slug(slug));
  return id && await readInstance(tx, decoder.decode(id));
}

/** Takes a tenant number never given out before, for data that is not an environment yet. */
export async function takeTenantNumber(tx: Transaction): Promise<number> {
  const number = await readTenantCount(tx) + 1;
  tx.set(keys.tenantCount(), encoder.encode(String(number)));
  return number;
}

/** From this commit on, the environment is the data under another tenant number. */
export function replaceTenant(
  tx: Transaction,
  record: InstanceRecord,
  environment: Environment,
  number: number,
): InstanceRecord {
  const updated = { ...record, tenants: { ...record.tenants, [environment]: number } };
  tx.set(keys.instance(record.id), encodeRecord(updated));
  bumpAccessVersion(tx);
  return updated;
}

/**
 * The current number of an environment: a transfer may have replaced that of `tenant` since it
 * was looked up. Guarded, so that nothing is written under a number that was given up meanwhile.
 */
export async function readTenantNumber(
  tx: Pick<ReadTransaction, "get">,
  tenant: Tenant,
): Promise<number> {
  const record = await readInstance(tx, tenant.instanceId);
  return record?.tenants[tenant.environment] ?? tenant.number;
}

export function updateTier(tx: Transaction, record: InstanceRecord, tier: Tier): InstanceRecord {
  const updated: InstanceRecord = { ...record, tier };
  tx.set(keys.instance(record.id), encodeRecord(updated));
  bumpAccessVersion(tx);
  return updated;
}

export function tenantOf(record: InstanceRecord, environment: Environment): Tenant {
  return { instanceId: record.id, environment, number: record.tenants[environment] };
}

/** What others may see of an instance: everything but its tenant numbers. */
export function viewInstance({ id, slug, tier, created_at }: InstanceRecord): Instance {
  return { id, slug, tier, created_at };
}
