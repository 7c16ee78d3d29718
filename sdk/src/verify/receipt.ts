/** Receipts of erasures: signed proofs of who had which stream erased, when and why. */

import {
  type Form,
  hex128,
  hex64,
  index,
  isObject,
  needFields,
  own,
  pattern,
  readDocument,
} from "./form.ts";
import { needKeys, needSignature } from "./signature.ts";
import type { BundleOptions } from "./bundle.ts";
import { need, type Refused, tell, verdictOf } from "./verdict.ts";

/**
 * What whoever verifies a receipt knows from elsewhere.
 *
 * @example
 * ```ts
 * import type { ReceiptOptions } from "@daybook/client/verify";
 *
 * const options: ReceiptOptions = { publicKey: "d7".repeat(32), stream: "person:7KD2M9QXA" };
 * console.log(options);
 * ```
 */
export type ReceiptOptions = Omit<BundleOptions, "index">;

/**
 * What a receipt proves, as it stands in it. Times are ISO 8601 UTC.
 *
 * @example
 * ```ts
 * import type { ProvenErasure } from "@daybook/client/verify";
 *
 * function lineOf({ event_count, key, executed_at }: ProvenErasure): string {
 *   return `${event_count} events of ${key} were erased on ${executed_at}`;
 * }
 * console.log(lineOf.name);
 * ```
 */
export interface ProvenErasure {
  readonly format: 1;
  readonly scope: "erasure";
  readonly tombstone_id: string;
  readonly instance_id: string;
  readonly environment: string;
  /** The stream, `<type>:<id>`. */
  readonly key: string;
  readonly reason: string;
  readonly legal_basis: string | null;
  readonly requested_at: string;
  readonly requested_by: string;
  readonly executed_at: string;
  readonly completed_at: string;
  /** Events of the stream when it was erased, and how many of them became markers then. */
  readonly event_count: number;
  readonly erased_count: number;
  /** How often the stream has been erased. */
  readonly generation: number;
  /** Chain hash of the last event, before and after the erasure. */
  readonly previous_tip: string;
  readonly tip: string;
}

/**
 * The outcome of verifying a receipt.
 *
 * @example
 * ```ts
 * import { type ReceiptVerdict, verifyReceipt } from "@daybook/client/verify";
 *
 * const verdict: ReceiptVerdict = verifyReceipt({}, { publicKey: "d7".repeat(32) });
 * console.log(verdict.ok ? verdict.erasure.executed_at : verdict.step);
 * ```
 */
export type ReceiptVerdict = { readonly ok: true; readonly erasure: ProvenErasure } | Refused;

const text: Form = {
  holds: (value) => typeof value === "string" && value !== "" && value.isWellFormed(),
  must: "text without half characters",
};
const textOrNull: Form = { holds: (value) => value === null || text.holds(value), must: text.must };
const time = pattern(/^\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, "a time in ISO 8601 UTC");

/** What is signed, in the order in which it is signed. */
const SIGNED: { readonly [Name in keyof ProvenErasure]: Form } = {
  format: { holds: (value) => value === 1, must: "1" },
  scope: { holds: (value) => value === "erasure", must: '"erasure"' },
  tombstone_id: text,
  instance_id: text,
  environment: text,
  key: text,
  reason: text,
  legal_basis: textOrNull,
  requested_at: time,
  requested_by: text,
  executed_at: time,
  completed_at: time,
  event_count: index,
  erased_count: index,
  generation: index,
  previous_tip: hex64,
  tip: hex64,
};
const FORMS = { ...SIGNED, signature: hex128, public_key: hex64 };

/**
 * Verifies the receipt of an erasure: on its own, or in the answer of
 * `GET /_admin/tombstones/{id}`; as bytes, text or parsed.
 *
 * @example
 * ```ts
 * import { verifyReceipt } from "@daybook/client/verify";
 *
 * const publicKey = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
 * const verdict = verifyReceipt('{"ok":true,"tombstone":{}}', { publicKey });
 * console.log(verdict.ok ? verdict.erasure.reason : verdict.step); // form
 * ```
 */
export function verifyReceipt(receipt: unknown, options: ReceiptOptions): ReceiptVerdict {
  return verdictOf(() => {
    const { stream, instanceId, environment, onCheck } = options;
    const keys = needKeys(options.publicKey, onCheck);
    const found = receiptIn(readDocument(receipt));
    needFields(found, FORMS, "the receipt");
    const unknown = Object.keys(found).find((name) => !Object.hasOwn(FORMS, name));
    need(unknown === undefined, "form", `${unknown} is no field of a receipt`);
    const erasure = Object.fromEntries(
      Object.keys(SIGNED).map((name) => [name, found[name]]),
    ) as unknown as ProvenErasure;
    const { public_key, signature } = found as unknown as Record<string, string>;
    tell(onCheck, "event", { what: "stream", computed: erasure.key, expected: stream });
    const isExpected = stream === undefined || erasure.key === stream;
    need(isExpected, "event", `the receipt is of ${erasure.key}, expected was ${stream}`);
    tell(onCheck, "anchor", {
      what: "instance_id",
      computed: erasure.instance_id,
      expected: instanceId,
    });
    const isOfInstance = (instanceId ?? erasure.instance_id) === erasure.instance_id;
    need(isOfInstance, "anchor", `the receipt is of instance ${erasure.instance_id}`);
    tell(onCheck, "anchor", {
      what: "environment",
      computed: erasure.environment,
      expected: environment,
    });
    const isOfEnvironment = (environment ?? erasure.environment) === erasure.environment;
    need(isOfEnvironment, "anchor", `the receipt is of the environment ${erasure.environment}`);
    const payload = JSON.stringify(erasure);
    needSignature(
      { public_key: public_key!, signature: signature!, payload },
      keys,
      "this receipt",
      onCheck,
    );
    return { ok: true, erasure };
  });
}

/** The receipt itself, or the one inside the answer of the server. */
function receiptIn(document: unknown): unknown {
  if (!isObject(document) || own(document, "scope") === "erasure") return document;
  const tombstone = own(document, "tombstone");
  return isObject(tombstone) ? own(tombstone, "receipt") : undefined;
}
