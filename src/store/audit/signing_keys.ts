/** The Ed25519 key pairs of an instance; the newest signs. See docs/reference/audit.md. */

import type { ReadTransaction, Transaction } from "../../kv/engine.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { keyAfter, keys } from "../keys.ts";

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

/** Key pairs of an instance that are read at a time. */
export const SIGNING_KEYS_AT_ONCE = 500;

/** The next key pairs of an instance, oldest first: those after the one with this number. */
export async function readSigningKeys(
  tx: Pick<ReadTransaction, "getRange">,
  instanceId: string,
  after: number | undefined,
): Promise<SigningKeyRecord[]> {
  const { begin, end } = keys.signingKeys(instanceId);
  const start = after === undefined ? begin : keyAfter(keys.signingKey(instanceId, after));
  const pairs = await tx.getRange({ begin: start, end }, { limit: SIGNING_KEYS_AT_ONCE });
  return pairs.map(({ value }) => decodeRecord<SigningKeyRecord>(value));
}

/** All key pairs of an instance, oldest first, for what no request waits for. */
export async function listSigningKeys(
  tx: Pick<ReadTransaction, "getRange">,
  instanceId: string,
): Promise<SigningKeyRecord[]> {
  const pairs = await tx.getRange(keys.signingKeys(instanceId));
  return pairs.map(({ value }) => decodeRecord<SigningKeyRecord>(value));
}
