/** Anchors: a signed Merkle root with its counts and time. */

import {
  countFrom1,
  type Fields,
  type Form,
  formatOf,
  hex128,
  hex64,
  isObject,
  needFields,
  own,
  plain,
  readDocument,
} from "./form.ts";
import { needKeys, needSignature } from "./signature.ts";
import { need, type PublicKey, type Refused, verdictOf, type VerifyCheck } from "./verdict.ts";

/**
 * What whoever verifies an anchor knows from elsewhere.
 *
 * @example
 * ```ts
 * import type { AnchorOptions } from "@daybook/client/verify";
 *
 * const options: AnchorOptions = { publicKey: "d7".repeat(32), environment: "production" };
 * console.log(options);
 * ```
 */
export interface AnchorOptions {
  /** The key of the instance, or its keys if it has rotated them. */
  readonly publicKey: PublicKey;
  /**
   * The instance and the environment that are meant. All environments of an instance sign with the
   * same key, so only this tells evidence of `test` from that of `production`.
   */
  readonly instanceId?: string;
  readonly environment?: string;
  /** Told of each comparison before it is made. It changes no verdict. */
  readonly onCheck?: (check: VerifyCheck) => void;
}

/**
 * What the signature of an anchor proves. In format 1 it covers the root alone.
 *
 * @example
 * ```ts
 * import type { ProvenAnchor } from "@daybook/client/verify";
 *
 * function describe({ merkle_root, created_at }: ProvenAnchor): string {
 *   return `${merkle_root} since ${created_at ?? "an unknown time"}`;
 * }
 * console.log(describe.name);
 * ```
 */
export interface ProvenAnchor {
  readonly format: 1 | 2;
  readonly merkle_root: string;
  readonly public_key: string;
  readonly instance_id?: string;
  readonly environment?: string;
  readonly event_count?: number;
  readonly stream_count?: number;
  readonly created_at?: string;
}

/**
 * The outcome of verifying an anchor.
 *
 * @example
 * ```ts
 * import { type AnchorVerdict, verifyAnchor } from "@daybook/client/verify";
 *
 * const verdict: AnchorVerdict = verifyAnchor({}, { publicKey: "d7".repeat(32) });
 * console.log(verdict.ok); // false
 * ```
 */
export type AnchorVerdict = { readonly ok: true; readonly anchor: ProvenAnchor } | Refused;

/** The anchor inside a bundle, as far as its form was checked. */
export interface AnchorFields extends Fields {
  readonly merkle_root: string;
  readonly signature: string;
  readonly public_key: string;
}

const SIGNED: Readonly<Record<string, Form>> = {
  merkle_root: hex64,
  signature: hex128,
  public_key: hex64,
};
/** Fields that are signed since format 2. */
const SIGNED_SINCE_2: Readonly<Record<string, Form>> = {
  stream_count: countFrom1,
  instance_id: plain,
  environment: plain,
  event_count: countFrom1,
  created_at: plain,
};

export function needAnchorForm(anchor: unknown, where?: string): asserts anchor is AnchorFields {
  needFields(anchor, SIGNED, where);
  if (formatOf(anchor) === 2) needFields(anchor, SIGNED_SINCE_2, where);
}

/** Refuses an anchor that is of something else, or that nobody has signed with one of the keys. */
export function needSignedAnchor(
  anchor: AnchorFields,
  keys: readonly string[],
  { instanceId, environment, onCheck }: Omit<AnchorOptions, "publicKey">,
): ProvenAnchor {
  const format = formatOf(anchor);
  const { merkle_root, public_key, signature } = anchor;
  const proven = { format, merkle_root, public_key };
  const named: ProvenAnchor = format === 1 ? proven : {
    ...proven,
    instance_id: anchor.instance_id as string,
    environment: anchor.environment as string,
    event_count: anchor.event_count as number,
    stream_count: anchor.stream_count as number,
    created_at: anchor.created_at as string,
  };
  const payload = format === 1 ? merkle_root : payloadOf("instance", anchor, [
    "instance_id",
    "environment",
    "merkle_root",
    "event_count",
    "stream_count",
    "created_at",
  ]);
  for (const [name, expected] of [["instance_id", instanceId], ["environment", environment]]) {
    const found = named[name as "instance_id"];
    if (expected === undefined) continue;
    onCheck?.({ step: "anchor", what: name!, computed: found ?? "not signed", expected });
    need(
      found === expected,
      "anchor",
      `${name} is ${found ?? "not signed"}, expected was ${expected}`,
    );
  }
  needSignature({ public_key, signature, payload }, keys, "this anchor", onCheck);
  return named;
}

/** Values stand unescaped, because none of them may contain what ends or escapes a text. */
function payloadOf(scope: string, anchor: Fields, names: readonly string[]): string {
  const fields = names.map((name) => {
    const value = anchor[name];
    return `"${name}":${typeof value === "string" ? `"${value}"` : value}`;
  });
  return `{"format":2,"scope":"${scope}",${fields.join(",")}}`;
}

/** The anchor itself, or the one in the answer of the server. */
function anchorIn(document: unknown): unknown {
  const read = readDocument(document);
  const inside = isObject(read) ? own(read, "anchor") : undefined;
  return isObject(inside) ? inside : read;
}

/**
 * Verifies the anchor of an instance, of either format: the answer of `GET /_audit/anchors/{id}`,
 * or the anchor in it; as bytes, text or parsed.
 *
 * @example
 * ```ts
 * import { verifyAnchor } from "@daybook/client/verify";
 *
 * // The signing key, from a source that you trust.
 * const publicKey = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
 * const verdict = verifyAnchor('{"ok":true,"anchor":{"format":2}}', { publicKey });
 * console.log(verdict.ok ? verdict.anchor.created_at : verdict.message);
 * ```
 */
export function verifyAnchor(anchor: unknown, options: AnchorOptions): AnchorVerdict {
  return verdictOf(() => {
    const keys = needKeys(options.publicKey, options.onCheck);
    const read = anchorIn(anchor);
    needAnchorForm(read, "the anchor");
    return { ok: true, anchor: needSignedAnchor(read, keys, options) };
  });
}

/**
 * What the signature of a platform anchor proves.
 *
 * @example
 * ```ts
 * import type { ProvenPlatformAnchor } from "@daybook/client/verify";
 *
 * function lineOf({ merkle_root, instance_count }: ProvenPlatformAnchor): string {
 *   return `${merkle_root} over ${instance_count} instances`;
 * }
 * console.log(lineOf.name);
 * ```
 */
export interface ProvenPlatformAnchor {
  readonly merkle_root: string;
  readonly public_key: string;
  readonly instance_count: number;
  readonly cutoff_at: string;
  readonly created_at: string;
}

/**
 * Verifies a platform anchor, the answer of `GET /_audit/platform-anchors/latest`. `publicKey` is
 * the key of the platform, not that of an instance.
 *
 * @example
 * ```ts
 * import { verifyPlatformAnchor } from "@daybook/client/verify";
 *
 * const publicKey = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
 * const verdict = verifyPlatformAnchor({ format: 2 }, { publicKey });
 * console.log(verdict.ok ? verdict.anchor.instance_count : verdict.step); // form
 * ```
 */
export function verifyPlatformAnchor(
  anchor: unknown,
  options: { readonly publicKey: PublicKey },
): { readonly ok: true; readonly anchor: ProvenPlatformAnchor } | Refused {
  return verdictOf(() => {
    const keys = needKeys(options.publicKey);
    const read = anchorIn(anchor);
    const forms = { ...SIGNED, instance_count: countFrom1, cutoff_at: plain, created_at: plain };
    needFields(read, forms, "the anchor");
    need(formatOf(read) === 2, "form", "there are no platform anchors of format 1");
    const names = ["merkle_root", "instance_count", "cutoff_at", "created_at"];
    const payload = payloadOf("platform", read, names);
    const { signature, ...proven } = Object.fromEntries(
      [...names, "public_key", "signature"].map((name) => [name, read[name]]),
    ) as unknown as ProvenPlatformAnchor & { signature: string };
    needSignature({ public_key: proven.public_key, signature, payload }, keys, "this anchor");
    return { ok: true, anchor: proven };
  });
}
