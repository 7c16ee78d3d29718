/**
 * Instances: creates one with its three tenants and its signing key, changes its tier, reads
 * it, and finds the tenant that an operator's call addresses. See docs/reference/operators.md.
 */

import {
  type Holder,
  type Instance,
  type Operator,
  type Tier,
  TIERS,
} from "../../domain/access/access.ts";
import { publicKeyOf, SIGNING_SEED_BYTES } from "../../domain/audit/signing_key.ts";
import { checkStart, cutPage, type ListPage, pageLimit } from "../../domain/list_page.ts";
import type { PageRequest } from "../../domain/reading.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { explainSlug } from "../../domain/access/slug.ts";
import { formatUuid } from "../../domain/uuid.ts";
import type { Host } from "../../host.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import {
  type InstanceRecord,
  isSlugTaken,
  listInstances as listRecords,
  readInstance as readRecord,
  storeInstance,
  tenantOf,
  updateTier,
  viewInstance,
} from "../../store/access/instances.ts";
import { type SigningKeyRecord, storeSigningKey } from "../../store/audit/signing_keys.ts";
import { mayOperate, refuseOtherInstance } from "../../domain/access/operator.ts";
import type { Environment, Tenant } from "../../domain/tenant.ts";

/** Everything random about an instance, made before the transaction that stores it. */
export interface NewInstance {
  readonly instance: Instance;
  readonly signingKey: SigningKeyRecord;
}

/**
 * `tier` is the name of a tier. Refuses an invalid slug, an unknown tier and a slug that is
 * taken.
 */
export async function createInstance(
  engine: Engine,
  host: Host,
  slug: string,
  tier: string,
): Promise<Outcome<Instance>> {
  const fault = explainSlug(slug);
  if (fault !== undefined) {
    return refuse({ kind: "operator_input_invalid", path: "slug", message: fault });
  }
  const known = parseTier(tier);
  if (!known.ok) return known;
  const fresh = await prepareInstance(host, slug, known.value);
  return engine.transact(async (tx): Promise<Outcome<Instance>> => {
    if (await isSlugTaken(tx, slug)) {
      const message = `An instance with slug '${slug}' exists already`;
      return refuse({ kind: "already_exists", path: "slug", message });
    }
    await placeInstance(tx, fresh);
    return accept(fresh.instance);
  });
}

/** Applies at once on this node, and on others as soon as they see the access version change. */
export async function changeTier(
  engine: Engine,
  id: string,
  tier: string,
): Promise<Outcome<Instance>> {
  const known = parseTier(tier);
  if (!known.ok) return known;
  return await engine.transact(async (tx): Promise<Outcome<Instance>> => {
    const record = await readRecord(tx, id);
    if (record === undefined) return refuse({ kind: "not_found", message: "Instance not found" });
    if (record.tier === known.value) return accept(viewInstance(record));
    return accept(viewInstance(updateTier(tx, record, known.value)));
  });
}

export async function prepareInstance(host: Host, slug: string, tier: Tier): Promise<NewInstance> {
  const created_at = new Date(host.nowMs()).toISOString();
  const privateKey = host.randomBytes(SIGNING_SEED_BYTES);
  const publicKey = await publicKeyOf(privateKey);
  return {
    instance: { id: formatUuid(host.randomBytes(16)), slug, tier, created_at },
    signingKey: {
      number: 1,
      public_key: publicKey.toHex(),
      private_key: privateKey.toHex(),
      created_at,
    },
  };
}

/** Stores an instance whose slug is known to be free. */
export async function placeInstance(tx: Transaction, fresh: NewInstance): Promise<InstanceRecord> {
  storeSigningKey(tx, fresh.instance.id, fresh.signingKey);
  return await storeInstance(tx, fresh.instance);
}

function parseTier(text: string): Outcome<Tier> {
  const tier = TIERS.find((name) => name === text);
  if (tier !== undefined) return accept(tier);
  const message = `tier must be one of ${TIERS.join(", ")}`;
  return refuse({ kind: "operator_input_invalid", path: "tier", message });
}

/** Longer than any id, so a longer cursor names nothing. */
const ID_CHARACTERS_MAX = 64;

/** The instances that the token covers, by id. */
export async function showInstances(
  engine: Engine,
  operator: Operator,
  { start, limit }: PageRequest = {},
): Promise<Outcome<ListPage<Instance>>> {
  const checked = checkStart(start, ID_CHARACTERS_MAX);
  if (!checked.ok) return checked;
  const found = await readCovered(engine, operator, pageLimit(limit) + 1, start);
  return accept(cutPage(found.map(viewInstance), limit, ({ id }) => id));
}

/** 403 if the token does not cover the instance, whether it exists or not; otherwise 404. */
export async function showInstance(
  engine: Engine,
  operator: Operator,
  id: string,
): Promise<Outcome<Instance>> {
  const found = await findInstance(engine, operator, id);
  return found.ok ? accept(viewInstance(found.value)) : found;
}

/** Without an id: the only instance that the token covers; 400 if it covers several. */
export async function resolveTenant(
  engine: Engine,
  operator: Operator,
  id: string | undefined,
  environment: Environment,
): Promise<Outcome<Tenant>> {
  const found = id === undefined
    ? onlyOne(await readCovered(engine, operator, 2))
    : await findInstance(engine, operator, id);
  return found.ok ? accept(tenantOf(found.value, environment)) : found;
}

/**
 * What an operator reads of an instance with a token: its data in one environment. 403 if the token
 * does not cover it, or if `slug` names another one.
 */
export async function holdForReading(
  engine: Engine,
  operator: Operator,
  id: string,
  { environment, slug }: { readonly environment: Environment; readonly slug?: string },
): Promise<Outcome<Holder>> {
  const found = await findInstance(engine, operator, id);
  if (!found.ok) return found;
  const record = found.value;
  if (slug !== undefined && record.slug !== slug) {
    return refuse({ kind: "forbidden", message: "The host belongs to another instance" });
  }
  const tenant = tenantOf(record, environment);
  return accept({
    instance: viewInstance(record),
    tenant,
    scope: "read",
    operator: operator.subject,
  });
}

async function findInstance(
  engine: Engine,
  operator: Operator,
  id: string,
): Promise<Outcome<InstanceRecord>> {
  if (!mayOperate(operator, id)) return refuseOtherInstance();
  const record = await engine.snapshot((tx) => readRecord(tx, id));
  if (record === undefined) return refuse({ kind: "not_found", message: "Instance not found" });
  return accept(record);
}

function onlyOne(records: readonly InstanceRecord[]): Outcome<InstanceRecord> {
  const [first, second] = records;
  if (first === undefined) return refuse({ kind: "not_found", message: "There is no instance" });
  if (second === undefined) return accept(first);
  const message = "instance_id is required where there are several instances";
  return refuse({ kind: "bad_request", path: "instance_id", message });
}

/** Sorted by id: at most `limit` of those behind the id `after`. */
async function readCovered(
  engine: Engine,
  { instances: ids }: Operator,
  limit: number,
  after = "",
): Promise<InstanceRecord[]> {
  return await engine.snapshot(async (tx) => {
    if (ids === undefined) return await listRecords(tx, limit, after);
    const unique = [...new Set(ids)].filter((id) => id > after).sort();
    const found = await Promise.all(unique.map((id) => readRecord(tx, id)));
    return found.filter((record) => record !== undefined).slice(0, limit);
  });
}
