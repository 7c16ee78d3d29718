/**
 * Attestation bundles: one event with everything that proves it, in one document.
 *
 * They are built here, and a document that claims to be one is parsed. `attestation.ts`
 * verifies them. See docs/reference/audit.md.
 */

import { formatOf, type InstanceAnchor } from "./anchor.ts";
import type { InclusionProof } from "./merkle.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import type { MerkleFormat } from "./chain.ts";

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

/**
 * The verified fields of a bundle. In format 1 the anchor may lack the fields that were not
 * signed.
 */
export interface ParsedBundle {
  readonly format: MerkleFormat;
  readonly event: Omit<AttestedEvent, "id">;
  readonly stream: AttestedStream;
  readonly stream_proof: InclusionProof;
  readonly instance_proof: AttestationBundle["instance_proof"];
  readonly anchor: Omit<InstanceAnchor, "format" | "id">;
}

type BundleForm =
  | { readonly ok: true; readonly bundle: ParsedBundle }
  | { readonly ok: false; readonly message: string };

interface Form {
  readonly holds: (value: unknown) => boolean;
  /** What the field must be, in words for people. */
  readonly must: string;
}

const text: Form = { holds: isWellFormed, must: "text without half characters" };
const index: Form = { holds: isCount, must: "an integer, 0 or more" };
const countFrom1: Form = {
  holds: (value) => isCount(value) && value !== 0,
  must: "an integer, 1 or more",
};
const hex64: Form = pattern(/^[0-9a-f]{64}$/, "64 lowercase hex characters");
const hex128: Form = pattern(/^[0-9a-f]{128}$/, "128 lowercase hex characters");
const hex64OrNone: Form = pattern(/^(?:[0-9a-f]{64})?$/, "empty or 64 lowercase hex characters");
/**
 * It is signed unescaped between quotes, so it must not contain anything that ends or escapes
 * them.
 */
const plain: Form = pattern(/^[ !#-[\]-~]{1,256}$/, "1 to 256 plain characters");
const siblings: Form = {
  holds: (value) => Array.isArray(value) && value.every(hex64.holds),
  must: "a list of 64 lowercase hex characters each",
};
const directions: Form = {
  holds: (value) => Array.isArray(value) && value.every((one) => one === "left" || one === "right"),
  must: 'a list of "left" and "right"',
};

const FIELDS: Readonly<Record<string, Readonly<Record<string, Form>>>> = {
  event: { index, raw: text, hash: hex64, prev_hash: hex64OrNone },
  stream: { key: text, merkle_root: hex64, event_count: countFrom1 },
  stream_proof: { siblings, directions },
  instance_proof: { index, stream_count: countFrom1, siblings, directions },
  anchor: { merkle_root: hex64, signature: hex128, public_key: hex64, stream_count: countFrom1 },
};
/** Fields that are signed since format 2. */
const ANCHOR_FIELDS_SIGNED: Readonly<Record<string, Form>> = {
  instance_id: plain,
  environment: plain,
  event_count: countFrom1,
  created_at: plain,
};

function pattern(expression: RegExp, must: string): Form {
  return { holds: (value) => typeof value === "string" && expression.test(value), must };
}

/** Half a surrogate pair becomes another character in UTF-8, so two texts would have one hash. */
function isWellFormed(value: unknown): boolean {
  return typeof value === "string" && value.isWellFormed();
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/**
 * Parses any JSON value. Fields that nothing proves (`ok`, `event.id`, `anchor.id`,
 * `anchored_at`, unknown ones) are ignored.
 */
export function parseBundle(document: unknown): BundleForm {
  if (!isJsonObject(document)) return refuse("the document is not a JSON object");
  const format = formatOf(document);
  if (format === undefined) return refuse(`there is no format ${JSON.stringify(document.format)}`);
  for (const [name, fields] of Object.entries(FIELDS)) {
    const message = faultOf(document, name, fields);
    if (message !== undefined) return refuse(message);
  }
  const anchor = document.anchor as JsonObject;
  if (formatOf(anchor) !== format) return refuse("bundle and anchor are of different formats");
  const message = format === 2 ? faultOf(document, "anchor", ANCHOR_FIELDS_SIGNED) : undefined;
  if (message !== undefined) return refuse(message);
  return { ok: true, bundle: { ...document, format } as unknown as ParsedBundle };
}

function faultOf(
  document: JsonObject,
  name: string,
  fields: Readonly<Record<string, Form>>,
): string | undefined {
  const part = Object.hasOwn(document, name) ? document[name] : undefined;
  if (!isJsonObject(part)) return `${name} must be an object`;
  for (const [field, { holds, must }] of Object.entries(fields)) {
    const value = Object.hasOwn(part, field) ? part[field] : undefined;
    if (!holds(value)) return `${name}.${field} must be ${must}`;
  }
  return undefined;
}

function refuse(message: string): BundleForm {
  return { ok: false, message };
}
