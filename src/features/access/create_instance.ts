/**
 * Creates an instance with its three tenants and its signing key, and changes an instance's
 * tier.
 */

import { type Instance, type Tier, TIERS } from "../../domain/access/access.ts";
import { publicKeyOf, SIGNING_SEED_BYTES } from "../../domain/audit/signing_key.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { explainSlug } from "../../domain/access/slug.ts";
import { formatUuid } from "../../domain/uuid.ts";
import type { Host } from "../../host.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import {
  type InstanceRecord,
  isSlugTaken,
  readInstance,
  storeInstance,
  updateTier,
  viewInstance,
} from "../../store/access/instances.ts";
import { type SigningKeyRecord, storeSigningKey } from "../../store/audit/signing_keys.ts";

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
    const record = await readInstance(tx, id);
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
