/**
 * Checks signing keys and platform anchors.
 *
 * Each stored private key must match the public key beside it. Each platform anchor must be
 * signed by one of the platform's keys and cover the instance anchors that it names.
 */

import { type InstanceAnchor, verifyPlatformAnchor } from "../../domain/audit/anchor.ts";
import { merkleRoot } from "../../domain/audit/merkle.ts";
import { publicKeyOf } from "../../domain/audit/signing_key.ts";
import type { Engine } from "../../kv/engine.ts";
import { readAnchor } from "../../store/audit/anchors.ts";
import type { InstanceRecord } from "../../store/access/instances.ts";
import {
  listPlatformAnchors,
  listPlatformKeys,
  type PlatformRecord,
} from "../../store/audit/platform_anchors.ts";
import type { SigningKeyRecord } from "../../store/audit/signing_keys.ts";
import type { Report } from "./report.ts";

/** Returns the public keys. Keys must be numbered from 1. */
export async function checkSigningKeys(
  keys: readonly SigningKeyRecord[],
  report: Report,
): Promise<ReadonlySet<string>> {
  for (const [at, { number, public_key, private_key }] of keys.entries()) {
    if (number !== at + 1) report(`signing key ${at + 1}`, `says that it is number ${number}`);
    const made = await publicKeyOf(Uint8Array.fromHex(private_key));
    if (made.toHex() !== public_key) report(`signing key ${number}`, "its halves do not match");
  }
  return new Set(keys.map(({ public_key }) => public_key));
}

/** Whether a record has the current format, one of the keys, and its signature in lowercase. */
export function isSignedBy(
  anchor: Pick<InstanceAnchor, "format" | "public_key" | "signature">,
  publicKeys: ReadonlySet<string>,
): boolean {
  return anchor.format === 2 && publicKeys.has(anchor.public_key) &&
    anchor.signature === anchor.signature.toLowerCase();
}

export async function checkPlatform(
  engine: Pick<Engine, "snapshot">,
  instances: readonly InstanceRecord[],
  report: Report,
): Promise<void> {
  const keys = await engine.snapshot((tx) => listPlatformKeys(tx));
  const publicKeys = await checkSigningKeys(keys, report);
  const production = new Map(instances.map(({ id, tenants }) => [id, tenants.production]));
  for (const [at, record] of (await engine.snapshot((tx) => listPlatformAnchors(tx))).entries()) {
    const name = `platform anchor ${at + 1}`;
    if (record.number !== at + 1) report(name, `says that it is number ${record.number}`);
    const { anchor } = record;
    const isSigned = isSignedBy(anchor, publicKeys) && verifyPlatformAnchor(anchor);
    if (!isSigned) report(name, "its signature is not one of the platform");
    await checkInstances(engine, name, record, production, report);
  }
}

async function checkInstances(
  engine: Pick<Engine, "snapshot">,
  name: string,
  { anchor, instances }: PlatformRecord,
  production: ReadonlyMap<string, number>,
  report: Report,
): Promise<void> {
  const roots = instances.map(({ merkle_root }) => merkle_root);
  const isWhole = roots.length === anchor.instance_count &&
    merkleRoot(roots) === anchor.merkle_root;
  if (!isWhole) report(name, "its instances are not those that it signs");
  for (const { instance_id, anchor_id, merkle_root } of instances) {
    const tenant = production.get(instance_id);
    const found = tenant === undefined
      ? undefined
      : await engine.snapshot((tx) => readAnchor(tx, tenant, String(anchor_id)));
    if (found?.anchor.merkle_root !== merkle_root) {
      report(name, `the anchor ${anchor_id} of ${instance_id} is not the one that it names`);
    }
  }
}
