/** Evidence in a file: what it is, whose it says it is, and what its verification finds. */

import {
  type BundleOptions,
  type BundleVerdict,
  type ReceiptVerdict,
  verifyBundle,
  type VerifyCheck,
  verifyReceipt,
} from "@daybook/client/verify";

/** A document as it came. */
export type EvidenceDocument = Uint8Array | string | object;

export type Judged =
  & { readonly checks: readonly VerifyCheck[] }
  & (
    | { readonly kind: "bundle"; readonly verdict: BundleVerdict }
    | { readonly kind: "receipt"; readonly verdict: ReceiptVerdict }
  );

/** Larger files are not read: the proof of one event is a few kilobytes and the event. */
export const EVIDENCE_BYTES_MAX = 16_000_000;

/**
 * The base point of the curve, which is a valid key. With it a document that is refused for its
 * form is refused for that, though no key is known.
 */
const ANY_KEY = `58${"66".repeat(31)}`;

/** Verifies a bundle, or the receipt of an erasure. */
export function judge(document: EvidenceDocument, options: BundleOptions): Judged {
  const checks: VerifyCheck[] = [];
  const asked = { ...options, onCheck: (check: VerifyCheck) => void checks.push(check) };
  if (isReceipt(document)) {
    const { index: _, ...ofReceipt } = asked;
    return { kind: "receipt", verdict: verifyReceipt(document, ofReceipt), checks };
  }
  return { kind: "bundle", verdict: verifyBundle(document, asked), checks };
}

/** Whether a key may vouch for evidence: a point of the curve that only its owner can sign for. */
export function isTrustworthyKey(publicKey: string): boolean {
  const verdict = verifyReceipt({}, { publicKey });
  return verdict.ok || verdict.step !== "key";
}

/** The verdict on a document that is no evidence at all; undefined if its form is right. */
export function judgeForm(document: EvidenceDocument): Judged | undefined {
  const judged = judge(document, { publicKey: ANY_KEY });
  const isFormless = !judged.verdict.ok && judged.verdict.step === "form";
  return isFormless ? judged : undefined;
}

/** Whose evidence it says it is, which its signature has yet to prove. Format 1 does not say. */
export function ownerNamed(
  document: EvidenceDocument,
): { readonly instanceId: string; readonly environment: string } | undefined {
  const fields = fieldsOf(document);
  const named = fieldsOf(isReceipt(document) ? receiptIn(fields) : own(fields, "anchor"));
  const [instanceId, environment] = [own(named, "instance_id"), own(named, "environment")];
  if (typeof instanceId !== "string" || typeof environment !== "string") return undefined;
  return { instanceId, environment };
}

function isReceipt(document: EvidenceDocument): boolean {
  const fields = fieldsOf(document);
  return own(fields, "scope") === "erasure" || own(fields, "tombstone") !== undefined;
}

function receiptIn(fields: object): unknown {
  return own(fields, "scope") === "erasure"
    ? fields
    : own(fieldsOf(own(fields, "tombstone")), "receipt");
}

/** The members of an object, or of the one that a text holds; none of anything else. */
function fieldsOf(document: unknown): object {
  let value = document;
  try {
    if (ArrayBuffer.isView(value)) value = new TextDecoder().decode(value);
    if (typeof value === "string") value = JSON.parse(value);
  } catch {
    return {};
  }
  return typeof value === "object" && value !== null ? value : {};
}

function own(fields: object, name: string): unknown {
  return Object.hasOwn(fields, name) ? (fields as Record<string, unknown>)[name] : undefined;
}
