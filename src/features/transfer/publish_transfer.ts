/**
 * Makes an import visible in one transaction. It makes the instance if there is none, gives the
 * environment the tenant number under which everything was kept, lets its API keys open it, and
 * starts its pending work.
 */

import type { ApiKeyLine, HeaderRecord } from "../../domain/transfer/record.ts";
import type { CompiledSpec } from "../../domain/spec/compiled.ts";
import type { Engine, Transaction } from "../../kv/engine.ts";
import {
  listStoredApiKeys,
  readApiKeyByHash,
  removeApiKey,
  storeApiKey,
} from "../../store/access/api_keys.ts";
import { setEffectsSince } from "../../store/effects.ts";
import { readFeedId, setFeedId } from "../../store/feed/commit_log.ts";
import { clearTransferMark, type TransferPlace } from "../../store/transfers.ts";
import { type InstanceRecord, replaceTenant, storeInstance } from "../../store/access/instances.ts";
import { enqueueTypeRebuild } from "../../store/streams/rebuilds.ts";
import {
  readCurrentSigningKey,
  type SigningKeyRecord,
  storeSigningKey,
} from "../../store/audit/signing_keys.ts";
import { showToSagas } from "../specs/deploy_spec.ts";
import { beginTransferredProjections } from "../projections/transferred_projections.ts";
import { beginActivation } from "../base/activate_work.ts";
import {
  type Judged,
  judgeTarget,
  type TransferTarget,
  type TransferWish,
} from "./transfer_target.ts";
import { requireTransferMark } from "./stage_transfer.ts";

/** What waits in memory until everything else is stored. */
export interface Publication {
  readonly place: TransferPlace;
  readonly tenant: number;
  readonly nowMs: number;
  readonly header: HeaderRecord;
  readonly wish: TransferWish;
  /** For an instance that is made now and whose id is taken. */
  readonly spareId: string;
  readonly apiKeys: readonly ApiKeyLine[];
  /** The signing keys of the file; empty if it has none. */
  readonly signingKeys: readonly SigningKeyRecord[];
  /** For an instance that has no signing key and gets none from the file. */
  readonly freshSigningKey: SigningKeyRecord;
  /** The current spec, compiled while the file was read; undefined if it has none. */
  readonly currentSpec: CompiledSpec | undefined;
  /** Aggregate types whose snapshots have to be built in the background. */
  readonly rebuildTypes: ReadonlySet<string>;
}

/** Where the instance's signing keys come from. */
export type SigningKeyOrigin = "file" | "store" | "new";

export interface Published {
  readonly instanceId: string;
  readonly slug: string;
  readonly isNewInstance: boolean;
  readonly apiKeys: number;
  readonly signingKeys: SigningKeyOrigin;
}

/** Refuses, without any effect, if the environment is no longer empty. */
export async function publishTransfer(
  engine: Engine,
  publication: Publication,
): Promise<Judged<Published>> {
  const { place, tenant, nowMs, header, wish, spareId, currentSpec, rebuildTypes } = publication;
  return await engine.transact(async (tx): Promise<Judged<Published>> => {
    await requireTransferMark(tx, place, tenant);
    const judged = await judgeTarget(tx, header, wish, spareId);
    if (!judged.ok) return judged;
    const target = judged.value;
    const taken = target.takesApiKeys ? await findTakenKey(tx, target, publication) : undefined;
    if (taken !== undefined) {
      const message = `the API key ${taken} is that of another environment here`;
      return { ok: false, breach: { rule: "api_key_taken", message } };
    }
    const instance = target.existing ?? await storeInstance(tx, target.fresh);
    const signingKeys = await placeSigningKeys(tx, instance, publication);
    await moveApiKeys(tx, instance, target, tenant);
    if (target.takesApiKeys) placeApiKeys(tx, instance, target, publication);
    await moveFeedId(tx, instance.tenants[target.environment], tenant);
    replaceTenant(tx, instance, target.environment, tenant);
    if (currentSpec !== undefined) await showToSagas(tx, tenant, currentSpec);
    await beginActivation(tx, tenant);
    await beginTransferredProjections(tx, tenant);
    setEffectsSince(tx, tenant, nowMs);
    for (const type of rebuildTypes) enqueueTypeRebuild(tx, tenant, type);
    clearTransferMark(tx, place);
    return {
      ok: true,
      value: {
        instanceId: instance.id,
        slug: instance.slug,
        isNewInstance: target.existing === undefined,
        apiKeys: target.takesApiKeys ? publication.apiKeys.length : 0,
        signingKeys,
      },
    };
  });
}

/** The id of an API key that already belongs to something else. */
async function findTakenKey(
  tx: Transaction,
  { environment }: TransferTarget,
  { header, apiKeys }: Publication,
): Promise<string | undefined> {
  const records = await Promise.all(apiKeys.map(({ hash }) => readApiKeyByHash(tx, hash)));
  const taken = records.find((record) =>
    record !== undefined &&
    (record.instance_id !== header.instance.id || record.environment !== environment)
  );
  return taken?.id;
}

async function placeSigningKeys(
  tx: Transaction,
  instance: InstanceRecord,
  { header, signingKeys, freshSigningKey }: Publication,
): Promise<SigningKeyOrigin> {
  if (await readCurrentSigningKey(tx, instance.id) !== undefined) return "store";
  const isSame = instance.id === header.instance.id;
  const given = isSame && signingKeys.length > 0 ? signingKeys : undefined;
  for (const key of given ?? [freshSigningKey]) storeSigningKey(tx, instance.id, key);
  return given === undefined ? "new" : "file";
}

/** API keys of the empty environment become keys of the one that replaces it. */
async function moveApiKeys(
  tx: Transaction,
  instance: InstanceRecord,
  { environment }: TransferTarget,
  tenant: number,
): Promise<void> {
  for (const stored of await listStoredApiKeys(tx, instance.tenants[environment])) {
    removeApiKey(tx, stored);
    storeApiKey(tx, { ...stored, record: { ...stored.record, tenant } });
  }
}

/** Who has followed the empty environment goes on, from its beginning, in what replaces it. */
async function moveFeedId(tx: Transaction, from: number, to: number): Promise<void> {
  const id = await readFeedId(tx, from);
  if (id !== undefined) setFeedId(tx, to, id);
}

function placeApiKeys(
  tx: Transaction,
  { id: instance_id }: InstanceRecord,
  { environment }: TransferTarget,
  { apiKeys, tenant }: Publication,
): void {
  for (const { record: _, hash, revoke_at, ...key } of apiKeys) {
    const end = revoke_at === undefined ? {} : { revoke_at };
    storeApiKey(tx, { hash, record: { ...key, environment, instance_id, tenant, ...end } });
  }
}
