/** Platform anchors and the keys that sign them. See docs/reference/audit.md. */

import type { PlatformAnchor } from "../../domain/audit/anchor.ts";
import type { ReadTransaction, Transaction } from "../../kv/engine.ts";
import { decodeRecord, encodeRecord } from "../json_record.ts";
import { keys } from "../keys.ts";
import { setLargeValue, wholeValue } from "../large_value.ts";
import type { SigningKeyRecord } from "./signing_keys.ts";

type Reads = Pick<ReadTransaction, "getRange">;

/** One instance, as it is in the tree of a platform anchor. */
export interface AnchoredInstance {
  readonly instance_id: string;
  readonly anchor_id: string;
  readonly merkle_root: string;
}

export interface PlatformRecord {
  /** From 1. */
  readonly number: number;
  readonly anchor: PlatformAnchor;
  /** By instance id. */
  readonly instances: readonly AnchoredInstance[];
}

/** The deployment's own number, which no tenant has. */
const DEPLOYMENT = 0;

export async function readPlatformAnchor(tx: Reads): Promise<PlatformRecord | undefined> {
  const [newest] = await tx.getRange(keys.platformAnchors(), { limit: 1, reverse: true });
  if (newest === undefined) return undefined;
  return decodeRecord(await wholeValue(tx, DEPLOYMENT, newest.key, newest.value));
}

/** All platform anchors, oldest first. */
export async function listPlatformAnchors(tx: Reads): Promise<PlatformRecord[]> {
  const pairs = await tx.getRange(keys.platformAnchors());
  const values = pairs.map(({ key, value }) => wholeValue(tx, DEPLOYMENT, key, value));
  return (await Promise.all(values)).map((value) => decodeRecord<PlatformRecord>(value));
}

export function storePlatformAnchor(tx: Transaction, record: PlatformRecord): void {
  setLargeValue(tx, DEPLOYMENT, keys.platformAnchor(record.number), encodeRecord(record));
}

/** The key that signs now; undefined before the first. */
export async function readPlatformKey(tx: Reads): Promise<SigningKeyRecord | undefined> {
  const [newest] = await tx.getRange(keys.platformKeys(), { limit: 1, reverse: true });
  return newest && decodeRecord<SigningKeyRecord>(newest.value);
}

/** All keys, oldest first. */
export async function listPlatformKeys(tx: Reads): Promise<SigningKeyRecord[]> {
  const pairs = await tx.getRange(keys.platformKeys());
  return pairs.map(({ value }) => decodeRecord<SigningKeyRecord>(value));
}

export function storePlatformKey(tx: Transaction, key: SigningKeyRecord): void {
  tx.set(keys.platformKey(key.number), encodeRecord(key));
}
