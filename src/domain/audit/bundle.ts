/**
 * Attestation bundles: one event with everything that proves it, in one document.
 *
 * `attestation.ts` verifies them. See docs/reference/audit.md.
 */

import type { InstanceAnchor } from "./anchor.ts";
import type { InclusionProof } from "./merkle.ts";

export interface AttestedEvent {
  /** 0-based index in the stream. */
  readonly index: number;
  /** Advisory: no proof covers it. */
  readonly id: string;
  readonly raw: string;
  readonly hash: string;
  /** "" for the first event of a stream. */
  readonly prev_hash: string;
}

export interface AttestedStream {
  readonly key: string;
  readonly merkle_root: string;
  /** Events that the anchor covers. */
  readonly event_count: number;
}

/** The answer of the attestation endpoint, in its field order. */
export interface AttestationBundle {
  readonly ok: true;
  readonly format: 2;
  readonly event: AttestedEvent;
  readonly stream: AttestedStream;
  readonly stream_proof: InclusionProof;
  readonly instance_proof: InclusionProof & {
    readonly index: number;
    readonly stream_count: number;
  };
  readonly anchor: InstanceAnchor;
  /** Advisory copy of `anchor.created_at`. */
  readonly anchored_at: string;
}

export interface BundleParts {
  readonly event: AttestedEvent;
  readonly stream: AttestedStream;
  readonly streamProof: InclusionProof;
  /** Index of the stream among all streams of the anchor, ordered by key. */
  readonly streamIndex: number;
  readonly instanceProof: InclusionProof;
  readonly anchor: InstanceAnchor;
}

export function buildBundle(parts: BundleParts): AttestationBundle {
  const { event, stream, streamProof, streamIndex, instanceProof, anchor } = parts;
  return {
    ok: true,
    format: 2,
    event,
    stream,
    stream_proof: streamProof,
    instance_proof: { index: streamIndex, stream_count: anchor.stream_count, ...instanceProof },
    anchor,
    anchored_at: anchor.created_at,
  };
}
