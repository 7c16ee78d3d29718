/** Gives an instance a new signing key; the old ones stay, to verify what they signed. */

import { publicKeyOf, SIGNING_SEED_BYTES } from "../../domain/audit/signing_key.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import {
  readCurrentSigningKey,
  type SigningKeyRecord,
  storeSigningKey,
} from "../../store/audit/signing_keys.ts";

/** From the commit on, anchors are signed with the new key. */
export async function rotateSigningKey(
  engine: Engine,
  host: Host,
  instanceId: string,
): Promise<SigningKeyRecord> {
  const fresh = await prepareSigningKey(host, 1);
  return await engine.transact(async (tx) => {
    const number = ((await readCurrentSigningKey(tx, instanceId))?.number ?? 0) + 1;
    const key = { ...fresh, number };
    storeSigningKey(tx, instanceId, key);
    return key;
  });
}

export async function prepareSigningKey(host: Host, number: number): Promise<SigningKeyRecord> {
  const privateKey = host.randomBytes(SIGNING_SEED_BYTES);
  return {
    number,
    public_key: (await publicKeyOf(privateKey)).toHex(),
    private_key: privateKey.toHex(),
    created_at: new Date(host.nowMs()).toISOString(),
  };
}
