/** The Ed25519 key pairs of an instance; the newest signs. See docs/reference/audit.md. */

import type { ReadTransaction, Transaction } from "../../kv/engine.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { keys } from "../keys.ts";

export interface SigningKeyRecord {
  /** 1 for the first key of an instance. */
  readonly number: number;
  /** 32 bytes as lowercase hex. */
  readonly public_key: string;
  /** 32 bytes as lowercase hex. */
  readonly private_key: string;
  /** ISO 8601 UTC. */
  readonly created_at: string;
}

export function storeSigningKey(tx: Transaction, instanceId: string, key: SigningKeyRecord): void {
  tx.set(keys.signingKey(instanceId, key.number), encodeRecord(key));
}

/** The key that signs now; undefined for an unknown instance. */
export async function readCurrentSigningKey(
  tx: Pick<ReadTransaction, "getRange">,
  instanceId: string,
): Promise<SigningKeyRecord | undefined> {
  const newest = await tx.getRange(keys.signingKeys(instanceId), { limit: 1, reverse: true });
  return newest[0] && decodeRecord<SigningKeyRecord>(newest[0].value);
}

/** All key pairs of an instance, oldest first. */
export async function listSigningKeys(
  tx: Pick<ReadTransaction, "getRange">,
  instanceId: string,
): Promise<SigningKeyRecord[]> {
  const pairs = await tx.getRange(keys.signingKeys(instanceId));
  return pairs.map(({ value }) => decodeRecord<SigningKeyRecord>(value));
}
