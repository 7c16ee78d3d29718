/**
 * Verifies evidence offline: an attestation bundle step by step, in both formats, and a page of
 * a stream's events.
 *
 * `scripts/verify_bundle.ts` verifies bundles for people who trust none of our code; the tests
 * compare both with a third implementation. See docs/reference/audit.md.
 */

import { isJsonObject } from "../json.ts";
import { verifyInstanceAnchor, verifyOldAnchor } from "./anchor.ts";
import { type ChainHash, extendChain } from "./chain.ts";
import { explainInclusion, explainShape } from "./merkle.ts";
import { parseBundle, type ParsedBundle } from "./bundle.ts";
import { parseJson } from "../json_text/parse_json.ts";

/**
 * The steps in order. `form` checks the document itself; the other six are the documented
 * steps.
 */
export const BUNDLE_STEPS = [
  "form",
  "event",
  "counts",
  "chain",
  "stream_proof",
  "instance_proof",
  "signature",
] as const;
export type BundleStep = typeof BUNDLE_STEPS[number];

/** What the verifier knows from elsewhere. Absent fields are taken from the bundle. */
export interface Expected {
  readonly stream?: string;
  readonly index?: number;
  /** The key that must have signed: 32 bytes in lowercase hex. */
  readonly publicKey?: string;
}

export type BundleVerdict =
  | { readonly ok: true; readonly bundle: ParsedBundle }
  | { readonly ok: false; readonly step: BundleStep; readonly message: string };

/** Verifies the bytes of a file, which must be JSON in UTF-8 without a byte order mark. */
export function verifyBundleBytes(bytes: Uint8Array, expected: Expected = {}): BundleVerdict {
  let document: unknown;
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    document = parseJson(decoder.decode(bytes));
  } catch {
    return { ok: false, step: "form", message: "the document is not JSON in UTF-8" };
  }
  return verifyBundle(document, expected);
}

/** Verifies any parsed JSON document. Never throws. */
export function verifyBundle(document: unknown, expected: Expected = {}): BundleVerdict {
  const form = parseBundle(document);
  if (!form.ok) return { ok: false, step: "form", message: form.message };
  const { bundle } = form;
  for (const [step, explain] of CHECKS) {
    const message = explain(bundle, expected);
    if (message !== undefined) return { ok: false, step, message };
  }
  return { ok: true, bundle };
}

/** Why the bundle fails the step; undefined when it passes. */
type Check = (bundle: ParsedBundle, expected: Expected) => string | undefined;

const CHECKS: readonly (readonly [BundleStep, Check])[] = [
  ["event", explainEvent],
  ["counts", explainCounts],
  ["chain", explainChain],
  ["stream_proof", explainStreamProof],
  ["instance_proof", explainInstanceProof],
  ["signature", explainSignature],
];

function explainEvent({ event, stream }: ParsedBundle, expected: Expected): string | undefined {
  const key = keyOf(event.raw);
  if (key === undefined) return "event.raw is not a JSON object with a key";
  if (key !== stream.key) return `the event is of ${key}, the bundle's stream is ${stream.key}`;
  if (expected.stream === undefined || key === expected.stream) return undefined;
  return `the event is of ${key}, expected was ${expected.stream}`;
}

/** The key of a stored event; undefined when `raw` is not an event. */
export function keyOf(raw: string): string | undefined {
  let event: unknown;
  try {
    event = parseJson(raw);
  } catch {
    return undefined;
  }
  if (!isJsonObject(event) || !Object.hasOwn(event, "key")) return undefined;
  return typeof event.key === "string" ? event.key : undefined;
}

function explainCounts(bundle: ParsedBundle, expected: Expected): string | undefined {
  const { format, event, stream, stream_proof, instance_proof, anchor } = bundle;
  if (expected.index !== undefined && event.index !== expected.index) {
    return `the event is number ${event.index}, expected was ${expected.index}`;
  }
  if (instance_proof.stream_count !== anchor.stream_count) {
    return `the proof is of ${instance_proof.stream_count} streams, the anchor has ` +
      `${anchor.stream_count}`;
  }
  if (format === 2 && stream.event_count > anchor.event_count) {
    return `the stream cannot have ${stream.event_count} of the anchor's ` +
      `${anchor.event_count} events`;
  }
  const inStream = explainShape(event.index, stream.event_count, stream_proof);
  if (inStream !== undefined) return `stream_proof: ${inStream}`;
  const inInstance = explainShape(instance_proof.index, anchor.stream_count, instance_proof);
  return inInstance && `instance_proof: ${inInstance}`;
}

function explainChain({ event }: ParsedBundle): string | undefined {
  if ((event.index === 0) !== (event.prev_hash === "")) {
    return "event.prev_hash must be empty for the first event, and for no other";
  }
  const hash = extendChain(event.prev_hash, event.raw);
  return hash === event.hash ? undefined : `event.raw hashes to ${hash}, not to ${event.hash}`;
}

function explainStreamProof(bundle: ParsedBundle): string | undefined {
  const { format, event, stream, stream_proof } = bundle;
  const { index, hash: value } = event;
  const claim = { value, index, count: stream.event_count, root: stream.merkle_root };
  // Nobody signs the number of events of a stream, but its chain hashes all differ.
  return explainInclusion(claim, stream_proof, { format, valuesDiffer: true });
}

function explainInstanceProof(bundle: ParsedBundle): string | undefined {
  const { format, stream, instance_proof, anchor } = bundle;
  const { index } = instance_proof;
  const count = anchor.stream_count;
  const claim = { value: stream.merkle_root, index, count, root: anchor.merkle_root };
  return explainInclusion(claim, instance_proof, { format });
}

function explainSignature(
  { format, anchor }: ParsedBundle,
  expected: Expected,
): string | undefined {
  if (expected.publicKey !== undefined && anchor.public_key !== expected.publicKey) {
    return `the anchor is signed with ${anchor.public_key}, expected was ${expected.publicKey}`;
  }
  const isSigned = format === 2 ? verifyInstanceAnchor(anchor) : verifyOldAnchor(anchor);
  return isSigned ? undefined : "the signature is not that of anchor.public_key over this anchor";
}

/** The fields that are verified of an entry in a listing with `raw=true`. */
export interface PageEntry {
  readonly raw: string;
  readonly hash: ChainHash;
}

interface PageExpected {
  readonly stream?: string;
  /** The chain hash before the page, e.g. the last one of the previous page. */
  readonly previous?: ChainHash;
}

export type PageVerdict =
  | {
    readonly ok: true;
    readonly stream: string;
    readonly events: number;
    readonly tip: ChainHash;
    /**
     * What proves the first event: it opens the stream (`stream`), or it follows the expected
     * hash (`previous`). With `unknown` nothing proves it, and only the later events are
     * verified.
     */
    readonly start: "stream" | "previous" | "unknown";
  }
  | { readonly ok: false; readonly index: number; readonly message: string };

/**
 * Verifies a page of a stream's events against itself: each hash must follow from the hash
 * before it and the stored bytes. Expects at least one entry, in the order of the listing.
 * `index` of a fault counts from 0.
 */
export function verifyPage(
  entries: readonly PageEntry[],
  expected: PageExpected = {},
): PageVerdict {
  const [first] = entries;
  if (first === undefined) return { ok: false, index: 0, message: "there are no events" };
  const stream = expected.stream ?? keyOf(first.raw);
  let previous = expected.previous;
  let start: "stream" | "previous" | "unknown" = previous === undefined ? "unknown" : "previous";
  for (const [index, { raw, hash }] of entries.entries()) {
    const refuse = (message: string): PageVerdict => ({ ok: false, index, message });
    if (!raw.isWellFormed()) return refuse("raw has half a character in it");
    const key = keyOf(raw);
    if (key === undefined) return refuse("raw is not a JSON object with a key");
    if (key !== stream) return refuse(`the event is of ${key}, not of ${stream}`);
    const reached = extendChain(previous, raw);
    if (reached === hash) {
      if (index === 0 && previous === undefined) start = "stream";
    } else if (index > 0 || previous !== undefined) {
      return refuse(`the bytes before and these hash to ${reached}, not to ${hash}`);
    }
    previous = hash;
  }
  return { ok: true, stream: stream!, events: entries.length, tip: previous!, start };
}
