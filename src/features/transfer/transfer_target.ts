/** Decides which environment an import fills, and whether it may. */

import type { Instance } from "../../domain/access/access.ts";
import { explainSlug } from "../../domain/access/slug.ts";
import type { Environment } from "../../domain/tenant.ts";
import type { RuleBreach } from "../../domain/transfer/parse_record.ts";
import type { HeaderRecord } from "../../domain/transfer/record.ts";
import type { ReadTransaction } from "../../kv/engine.ts";
import { listStreams } from "../../store/streams/aggregates.ts";
import { listBlobs } from "../../store/blobs.ts";
import {
  type InstanceRecord,
  readInstance,
  readInstanceBySlug,
} from "../../store/access/instances.ts";
import { listSpecVersions, readCurrentVersion } from "../../store/specs.ts";

/** What the caller wants to differ from the file. */
export interface TransferWish {
  readonly slug?: string;
  readonly environment?: Environment;
}

export interface TransferTarget {
  readonly slug: string;
  readonly environment: Environment;
  /** The instance as it is in the store; undefined if it has to be made. */
  readonly existing: InstanceRecord | undefined;
  /** The instance to make if there is none. */
  readonly fresh: Instance;
  /** True if the file's API keys belong to exactly this environment of this instance. */
  readonly takesApiKeys: boolean;
}

export type Judged<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly breach: RuleBreach };

/**
 * Returns the target of an import if it is permitted. `spareId` is for an instance whose id is
 * taken.
 */
export async function judgeTarget(
  tx: ReadTransaction,
  { instance, environment }: HeaderRecord,
  wish: TransferWish,
  spareId: string,
): Promise<Judged<TransferTarget>> {
  const named = wish.slug ?? instance.slug;
  const fault = explainSlug(named);
  if (fault !== undefined) return refuse("slug", fault);
  const byId = await readInstance(tx, instance.id);
  const bySlug = await readInstanceBySlug(tx, named);
  if (bySlug !== undefined && wish.slug === undefined && bySlug.id !== instance.id) {
    const message = `the slug '${named}' is that of another instance here, ${bySlug.id}. To ` +
      `import into that one, add --instance ${named}; to make a new one, --instance <new slug>`;
    return refuse("slug_taken", message);
  }
  const existing = bySlug ?? (wish.slug === undefined ? byId : undefined);
  const id = byId === undefined ? instance.id : spareId;
  const target: TransferTarget = {
    slug: existing?.slug ?? named,
    environment: wish.environment ?? environment,
    existing,
    fresh: { id, slug: named, tier: instance.tier, created_at: instance.created_at },
    takesApiKeys: (existing?.id ?? id) === instance.id &&
      (wish.environment ?? environment) === environment,
  };
  const found = existing && await describeContents(tx, existing.tenants[target.environment]);
  if (found === undefined) return { ok: true, value: target };
  const message = `${target.environment} of the instance '${target.slug}' is not empty: it has ` +
    `${found}. An import fills only an empty environment`;
  return refuse("not_empty", message);
}

/** What an environment holds; undefined if it is empty. Guarded, so that it stays empty. */
async function describeContents(tx: ReadTransaction, tenant: number): Promise<string | undefined> {
  const [version] = await listSpecVersions(tx, tenant, 1);
  const versions = version && (await readCurrentVersion(tx, tenant) ?? 1);
  const [stream] = await listStreams(tx, tenant, { limit: 1 });
  const [blob] = await listBlobs(tx, tenant, { limit: 1 });
  const parts: string[] = [];
  if (versions !== undefined) {
    parts.push(versions === 1 ? "a spec" : `${versions} versions of a spec`);
  }
  if (blob !== undefined) parts.push(`blobs (the first is ${blob.name})`);
  if (stream !== undefined) parts.push(`streams (the first is ${stream})`);
  return parts.length === 0 ? undefined : parts.join(" and ");
}

function refuse(rule: string, message: string): { ok: false; breach: RuleBreach } {
  return { ok: false, breach: { rule, message } };
}
