/**
 * Makes platform anchors: one tree over each instance's newest production anchor. They are
 * signed with the key of the deployment. See docs/reference/audit.md.
 */

import { type PlatformAnchor, signPlatformAnchor } from "../../domain/audit/anchor.ts";
import { merkleRoot } from "../../domain/audit/merkle.ts";
import { formatUuid } from "../../domain/uuid.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { readAnchor } from "../../store/audit/anchors.ts";
import { listInstances } from "../../store/access/instances.ts";
import {
  type AnchoredInstance,
  readPlatformAnchor,
  readPlatformKey,
  storePlatformAnchor,
  storePlatformKey,
} from "../../store/audit/platform_anchors.ts";
import type { SigningKeyRecord } from "../../store/audit/signing_keys.ts";
import { prepareSigningKey } from "./rotate_signing_key.ts";

export interface PlatformAnchorMaker {
  latest(): Promise<PlatformAnchor | undefined>;
  /**
   * The anchor is undefined while no instance has one. Not new if no instance has a newer
   * anchor.
   */
  make(): Promise<{ readonly isNew: boolean; readonly anchor: PlatformAnchor | undefined }>;
  /** The deployment's key, made when it is first asked for. */
  key(): Promise<SigningKeyRecord>;
}

const INSTANCE_PAGE = 500;

export function createPlatformAnchorMaker(engine: Engine, host: Host): PlatformAnchorMaker {
  const latest = async () => (await engine.snapshot(readPlatformAnchor))?.anchor;

  async function key(): Promise<SigningKeyRecord> {
    const known = await engine.snapshot(readPlatformKey);
    if (known !== undefined) return known;
    const fresh = await prepareSigningKey(host, 1);
    return await engine.transact(async (tx) => {
      const present = await readPlatformKey(tx);
      if (present === undefined) storePlatformKey(tx, fresh);
      return present ?? fresh;
    });
  }

  async function make() {
    const cutoff_at = new Date(host.nowMs()).toISOString();
    const instances = await listAnchored(engine);
    const before = await engine.snapshot(readPlatformAnchor);
    if (instances.length === 0 || namesOf(before?.instances ?? []) === namesOf(instances)) {
      return { isNew: false, anchor: before?.anchor };
    }
    const fields = {
      merkle_root: merkleRoot(instances.map(({ merkle_root }) => merkle_root)),
      instance_count: instances.length,
      cutoff_at,
      created_at: new Date(host.nowMs()).toISOString(),
    };
    const id = `pla_${formatUuid(host.randomBytes(16))}`;
    const anchor = await signPlatformAnchor(id, fields, await key());
    const number = (before?.number ?? 0) + 1;
    const stored = await engine.transact(async (tx) => {
      const newest = await readPlatformAnchor(tx);
      // Another process was faster.
      if (newest !== undefined && newest.number >= number) return newest.anchor;
      storePlatformAnchor(tx, { number, anchor, instances });
      return anchor;
    });
    return { isNew: stored.id === id, anchor: stored };
  }

  return { latest, make, key };
}

function namesOf(instances: readonly AnchoredInstance[]): string {
  return instances.map(({ anchor_id }) => anchor_id).join();
}

/** Each instance's newest production anchor, by instance id. */
async function listAnchored(engine: Engine): Promise<AnchoredInstance[]> {
  const anchored: AnchoredInstance[] = [];
  let after: string | undefined;
  for (let count = INSTANCE_PAGE; count === INSTANCE_PAGE;) {
    count = await engine.snapshot(async (tx) => {
      const page = await listInstances(tx, INSTANCE_PAGE, after);
      for (const { id, tenants } of page) {
        const newest = await readAnchor(tx, tenants.production);
        if (newest === undefined) continue;
        const { id: anchor_id, merkle_root } = newest.anchor;
        anchored.push({ instance_id: id, anchor_id, merkle_root });
      }
      after = page.at(-1)?.id;
      return page.length;
    });
  }
  return anchored;
}
