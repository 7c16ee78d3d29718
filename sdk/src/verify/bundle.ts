/**
 * Attestation bundles: one event with everything that proves it. The steps and their order are
 * those of docs/reference/audit.md, "Verifying evidence offline".
 */

import {
  type AnchorFields,
  type AnchorOptions,
  needAnchorForm,
  needSignedAnchor,
  type ProvenAnchor,
} from "./anchor.ts";
import {
  countFrom1,
  directions,
  type Form,
  formatOf,
  hex64,
  hex64OrNone,
  index,
  isObject,
  needFields,
  own,
  readDocument,
  siblings,
  text,
} from "./form.ts";
import { chainHash } from "./hashes.ts";
import { type InclusionProof, needInclusion, needShape } from "./inclusion.ts";
import { needKeys } from "./signature.ts";
import { need, type OnCheck, type Refused, tell, verdictOf } from "./verdict.ts";

/**
 * What whoever verifies a bundle knows from elsewhere: the key, and which event it asked for.
 *
 * @example
 * ```ts
 * import type { BundleOptions } from "@daybook/client/verify";
 *
 * const options: BundleOptions = {
 *   publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
 *   environment: "production",
 *   stream: "order:7KD2M9QXA",
 *   index: 0,
 * };
 * console.log(options);
 * ```
 */
export interface BundleOptions extends AnchorOptions {
  /** The stream that was asked for, `<type>:<id>`. */
  readonly stream?: string;
  /** The index that was asked for, from 0. */
  readonly index?: number;
}

/**
 * What a bundle proves. Nothing else in it is proved: neither `event.id` nor `anchored_at`, nor how
 * many events the stream has.
 *
 * @example
 * ```ts
 * import type { ProvenEvent } from "@daybook/client/verify";
 *
 * function lineOf({ stream, index, anchor }: ProvenEvent): string {
 *   return `event ${index} of ${stream} is as it was on ${anchor.created_at}`;
 * }
 * console.log(lineOf.name);
 * ```
 */
export interface ProvenEvent {
  readonly stream: string;
  readonly index: number;
  /** The event as it was stored, and parsed. */
  readonly raw: string;
  readonly event: Readonly<Record<string, unknown>>;
  /** Its chain hash. */
  readonly hash: string;
  readonly anchor: ProvenAnchor;
}

/**
 * The outcome of verifying a bundle.
 *
 * @example
 * ```ts
 * import { type BundleVerdict, verifyBundle } from "@daybook/client/verify";
 *
 * const verdict: BundleVerdict = verifyBundle("no JSON", { publicKey: "d7".repeat(32) });
 * console.log(verdict.ok ? verdict.proven.raw : verdict.step);
 * ```
 */
export type BundleVerdict = { readonly ok: true; readonly proven: ProvenEvent } | Refused;

const FORMS: Readonly<Record<string, Readonly<Record<string, Form>>>> = {
  event: { index, raw: text, hash: hex64, prev_hash: hex64OrNone },
  stream: { key: text, merkle_root: hex64, event_count: countFrom1 },
  stream_proof: { siblings, directions },
  instance_proof: { index, stream_count: countFrom1, siblings, directions },
  anchor: { stream_count: countFrom1 },
};

/** The fields that are verified. */
interface Bundle {
  readonly event: {
    readonly index: number;
    readonly raw: string;
    readonly hash: string;
    readonly prev_hash: string;
  };
  readonly stream: {
    readonly key: string;
    readonly merkle_root: string;
    readonly event_count: number;
  };
  readonly stream_proof: InclusionProof;
  readonly instance_proof: InclusionProof & {
    readonly index: number;
    readonly stream_count: number;
  };
  readonly anchor: AnchorFields & { readonly stream_count: number; readonly event_count: number };
}

/**
 * Verifies a bundle, the answer of `GET /{type}/{id}/audit/attestation/{index}`, without the
 * server: as bytes, text or parsed. Both formats; format 1 proves neither instance nor time. Never
 * throws because of the document.
 *
 * @example
 * ```ts
 * import { verifyBundle } from "@daybook/client/verify";
 *
 * // The signing key, from a source that you trust.
 * const publicKey = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
 * const verdict = verifyBundle('{"ok":true,"format":2}', { publicKey, stream: "order:7KD2M9QXA" });
 * if (verdict.ok) console.log(verdict.proven.event, verdict.proven.anchor.created_at);
 * else console.log(`${verdict.step}: ${verdict.message}`);
 * ```
 */
export function verifyBundle(bundle: unknown, options: BundleOptions): BundleVerdict {
  return verdictOf(() => {
    const { onCheck } = options;
    const keys = needKeys(options.publicKey, onCheck);
    const { document, format } = readBundle(bundle, onCheck);
    const { event, stream, stream_proof, instance_proof, anchor } = document;
    const stored = needEvent(event.raw, stream.key, "the bundle", onCheck);
    const asked = { what: "stream of the bundle", computed: stream.key, expected: options.stream };
    tell(onCheck, "event", asked);
    const isExpected = options.stream === undefined || stream.key === options.stream;
    need(isExpected, "event", `the event is of ${stream.key}, expected was ${options.stream}`);
    needCounts(document, format, options);
    const isOpening = (event.index === 0) === (event.prev_hash === "");
    need(isOpening, "chain", "prev_hash must be empty for the first event, and for no other");
    const computed = chainHash(event.prev_hash, event.raw);
    tell(onCheck, "chain", { what: "chain hash", computed, expected: event.hash });
    need(computed === event.hash, "chain", "event.raw does not hash to event.hash");
    const within = { value: event.hash, index: event.index, count: stream.event_count };
    // Nobody signs the number of events of a stream, but its chain hashes all differ.
    const [step, valuesDiffer] = ["stream_proof", true] as const;
    const root = stream.merkle_root;
    needInclusion({ ...within, root }, stream_proof, { step, format, valuesDiffer, onCheck });
    needInclusion(
      {
        value: root,
        index: instance_proof.index,
        count: anchor.stream_count,
        root: anchor.merkle_root,
      },
      instance_proof,
      { step: "instance_proof", format, valuesDiffer: false, onCheck },
    );
    const { index, raw, hash } = event;
    const proven = needSignedAnchor(anchor, keys, options);
    return {
      ok: true,
      proven: { stream: stream.key, index, raw, event: stored, hash, anchor: proven },
    };
  });
}

function readBundle(
  bundle: unknown,
  onCheck: OnCheck | undefined,
): { document: Bundle; format: 1 | 2 } {
  const document = readDocument(bundle);
  need(isObject(document), "form", "the document is not a JSON object");
  const format = formatOf(document);
  for (const [name, forms] of Object.entries(FORMS)) needFields(own(document, name), forms, name);
  const anchor = document.anchor;
  needAnchorForm(anchor, "anchor");
  const formats = { what: "format of the bundle", computed: format, expected: formatOf(anchor) };
  tell(onCheck, "form", formats);
  need(formatOf(anchor) === format, "form", "bundle and anchor are of different formats");
  return { document: document as unknown as Bundle, format };
}

/** The stored event, which must be of the stream. */
export function needEvent(
  raw: string,
  stream: string,
  whose: string,
  onCheck?: OnCheck,
): Readonly<Record<string, unknown>> {
  const { event, key } = parseEvent(raw);
  tell(onCheck, "event", { what: "stream of the stored text", computed: key, expected: stream });
  need(key === stream, "event", `the event is of ${key}, ${whose} is of ${stream}`);
  return event;
}

export function parseEvent(
  raw: string,
): { event: Readonly<Record<string, unknown>>; key: string } {
  let event: unknown;
  try {
    event = JSON.parse(raw);
  } catch {
    // Refused below.
  }
  const key = isObject(event) ? own(event, "key") : undefined;
  need(typeof key === "string", "event", "raw is not a JSON object with a key");
  return { event: event as Readonly<Record<string, unknown>>, key };
}

function needCounts(
  { event, stream, stream_proof, instance_proof, anchor }: Bundle,
  format: 1 | 2,
  { index: expected, onCheck }: BundleOptions,
): void {
  const computed = event.index;
  tell(onCheck, "counts", { what: "number of the event", computed, expected });
  const isExpected = expected === undefined || event.index === expected;
  need(isExpected, "counts", `the event is number ${event.index}, expected was ${expected}`);
  tell(onCheck, "counts", {
    what: "streams that the proof counts",
    computed: instance_proof.stream_count,
    expected: anchor.stream_count,
  });
  const isSame = instance_proof.stream_count === anchor.stream_count;
  need(isSame, "counts", "the proof and the anchor count different streams");
  const isWithin = format === 1 || stream.event_count <= anchor.event_count;
  need(isWithin, "counts", "the stream has more events than the anchor");
  tell(onCheck, "counts", {
    what: "number of the event",
    computed,
    expected: `less than ${stream.event_count}, the events of the stream`,
  });
  needShape(event.index, stream.event_count, stream_proof, "stream_proof");
  tell(onCheck, "counts", {
    what: "number of the stream",
    computed: instance_proof.index,
    expected: `less than ${anchor.stream_count}, the streams of the anchor`,
  });
  needShape(instance_proof.index, anchor.stream_count, instance_proof, "instance_proof");
}
