/**
 * Anchors: a Merkle root with its counts and time, signed.
 *
 * The signature covers a canonical payload whose fields have a fixed order. See
 * docs/reference/audit.md.
 */

import type { MerkleFormat } from "./chain.ts";
import { signText, verifyText } from "./signature.ts";

/** What an instance's key signs. */
export interface InstanceAnchorFields {
  readonly instance_id: string;
  readonly environment: string;
  /** 64 lowercase hex characters. */
  readonly merkle_root: string;
  /** Events of all streams in the tree. */
  readonly event_count: number;
  readonly stream_count: number;
  /** ISO 8601 UTC. The only time in an anchor that counts. */
  readonly created_at: string;
}

/** An instance's anchor as the store keeps it and as bundles carry it. */
export interface InstanceAnchor extends InstanceAnchorFields {
  readonly format: 2;
  /** Not signed: it is only a name in the store. */
  readonly id: string;
  readonly signature: string;
  /** The key that signed: 32 bytes in hex. */
  readonly public_key: string;
}

/** What the platform's key signs. */
export interface PlatformAnchorFields {
  readonly merkle_root: string;
  readonly instance_count: number;
  /** ISO 8601 UTC. The tree holds each instance's newest anchor up to this time. */
  readonly cutoff_at: string;
  readonly created_at: string;
}

export interface PlatformAnchor extends PlatformAnchorFields {
  readonly format: 2;
  readonly id: string;
  readonly signature: string;
  readonly public_key: string;
}

/** An anchor of format 1, which signs only the root, as its 64 characters. */
export interface OldAnchor {
  readonly merkle_root: string;
  readonly signature: string;
  readonly public_key: string;
}

/** Both keys in hex, 32 bytes each. */
export interface SigningKeyPair {
  readonly private_key: string;
  readonly public_key: string;
}

/** Inserts values unescaped: none of them contains a quote, a backslash or a control character. */
export function instancePayload(anchor: InstanceAnchorFields): string {
  return `{"format":2,"scope":"instance","instance_id":"${anchor.instance_id}",` +
    `"environment":"${anchor.environment}","merkle_root":"${anchor.merkle_root}",` +
    `"event_count":${anchor.event_count},"stream_count":${anchor.stream_count},` +
    `"created_at":"${anchor.created_at}"}`;
}

export function platformPayload(anchor: PlatformAnchorFields): string {
  return `{"format":2,"scope":"platform","merkle_root":"${anchor.merkle_root}",` +
    `"instance_count":${anchor.instance_count},"cutoff_at":"${anchor.cutoff_at}",` +
    `"created_at":"${anchor.created_at}"}`;
}

export async function signInstanceAnchor(
  id: string,
  fields: InstanceAnchorFields,
  key: SigningKeyPair,
): Promise<InstanceAnchor> {
  const { instance_id, environment, merkle_root, event_count, stream_count, created_at } = fields;
  return {
    format: 2,
    id,
    instance_id,
    environment,
    merkle_root,
    signature: await signText(key.private_key, instancePayload(fields)),
    public_key: key.public_key,
    event_count,
    stream_count,
    created_at,
  };
}

export async function signPlatformAnchor(
  id: string,
  fields: PlatformAnchorFields,
  key: SigningKeyPair,
): Promise<PlatformAnchor> {
  const { merkle_root, instance_count, cutoff_at, created_at } = fields;
  return {
    format: 2,
    id,
    merkle_root,
    signature: await signText(key.private_key, platformPayload(fields)),
    public_key: key.public_key,
    instance_count,
    cutoff_at,
    created_at,
  };
}

/**
 * Whether the key in the anchor signed what the anchor says. The caller must know whose key it
 * is.
 */
export function verifyInstanceAnchor(anchor: InstanceAnchorFields & OldAnchor): boolean {
  return verifyText(anchor.public_key, anchor.signature, instancePayload(anchor));
}

export function verifyPlatformAnchor(anchor: PlatformAnchorFields & OldAnchor): boolean {
  return verifyText(anchor.public_key, anchor.signature, platformPayload(anchor));
}

export function verifyOldAnchor(anchor: OldAnchor): boolean {
  return verifyText(anchor.public_key, anchor.signature, anchor.merkle_root);
}

/** The format of an artifact: 1 when the field is absent, undefined when the format is unknown. */
export function formatOf(artifact: Readonly<Record<string, unknown>>): MerkleFormat | undefined {
  if (!Object.hasOwn(artifact, "format")) return 1;
  return artifact.format === 2 ? 2 : undefined;
}
