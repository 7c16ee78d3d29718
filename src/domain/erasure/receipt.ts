/**
 * Erasure receipts: a signed proof of who had which stream erased, when and why.
 *
 * An instance's key signs the receipt. The signature covers a canonical payload: the fields
 * below in this order, as JSON without white space, with strings and integers as ECMAScript's
 * `JSON.stringify` writes them. See docs/reference/erasure.md.
 */

import { isJsonObject } from "../json.ts";
import type { SigningKeyPair } from "../audit/anchor.ts";
import { signText, verifyText } from "../audit/signature.ts";
import { parseJson } from "../json_text/parse_json.ts";

/** What is signed. Times are ISO 8601 UTC. */
export interface ErasureFields {
  readonly tombstone_id: string;
  readonly instance_id: string;
  readonly environment: string;
  /** Key of the stream. */
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
  /** How often the stream has been rewritten. */
  readonly generation: number;
  /** Chain hash of the last event, before and after the erasure. */
  readonly previous_tip: string;
  readonly tip: string;
}

export interface ErasureReceipt extends ErasureFields {
  readonly format: 1;
  readonly scope: "erasure";
  /** 64 bytes in hex. */
  readonly signature: string;
  /** The key that signed: 32 bytes in hex. */
  readonly public_key: string;
}

export function receiptPayload(fields: ErasureFields): string {
  return JSON.stringify({
    format: 1,
    scope: "erasure",
    tombstone_id: fields.tombstone_id,
    instance_id: fields.instance_id,
    environment: fields.environment,
    key: fields.key,
    reason: fields.reason,
    legal_basis: fields.legal_basis,
    requested_at: fields.requested_at,
    requested_by: fields.requested_by,
    executed_at: fields.executed_at,
    completed_at: fields.completed_at,
    event_count: fields.event_count,
    erased_count: fields.erased_count,
    generation: fields.generation,
    previous_tip: fields.previous_tip,
    tip: fields.tip,
  });
}

export async function signReceipt(
  fields: ErasureFields,
  key: SigningKeyPair,
): Promise<ErasureReceipt> {
  const payload = receiptPayload(fields);
  const signature = await signText(key.private_key, payload);
  const signed = parseJson(payload) as ErasureFields & Pick<ErasureReceipt, "format" | "scope">;
  return { ...signed, signature, public_key: key.public_key };
}

/** Whether the key in the receipt signed what it says. The caller must know whose key it is. */
export function verifyReceipt(receipt: ErasureReceipt): boolean {
  return verifyText(receipt.public_key, receipt.signature, receiptPayload(receipt));
}

const HEX = /^[0-9a-f]*$/;
const TIME = /^\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

type Check = (value: unknown) => boolean;

const CHECKS: { readonly [Name in keyof ErasureReceipt]: Check } = {
  format: (value) => value === 1,
  scope: (value) => value === "erasure",
  tombstone_id: isText,
  instance_id: isText,
  environment: isText,
  key: isText,
  reason: isText,
  legal_basis: (value) => value === null || isText(value),
  requested_at: isTime,
  requested_by: isText,
  executed_at: isTime,
  completed_at: isTime,
  event_count: isCount,
  erased_count: isCount,
  generation: isCount,
  previous_tip: isHex(64),
  tip: isHex(64),
  signature: isHex(128),
  public_key: isHex(64),
};

/**
 * The part of a document that claims to be a receipt: the document itself, or the receipt in an
 * answer of `GET /_admin/tombstones/{id}`.
 */
export function findReceipt(document: unknown): unknown {
  if (!isJsonObject(document)) return undefined;
  if (document.scope === "erasure") return document;
  return isJsonObject(document.tombstone) ? document.tombstone.receipt : undefined;
}

/**
 * The document as a receipt, or the name of the first field that is missing, malformed or
 * unknown.
 */
export function parseReceipt(document: unknown): ErasureReceipt | string {
  if (!isJsonObject(document)) return "the document";
  const fields = document as Readonly<Record<string, unknown>>;
  const names = Object.keys(CHECKS) as (keyof ErasureReceipt)[];
  const wrong = names.find((name) => !Object.hasOwn(fields, name) || !CHECKS[name](fields[name]));
  if (wrong !== undefined) return wrong;
  const unknown = Object.keys(fields).find((name) => !Object.hasOwn(CHECKS, name));
  return unknown ?? document as unknown as ErasureReceipt;
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value.length > 0 && value.isWellFormed();
}

function isTime(value: unknown): boolean {
  return typeof value === "string" && TIME.test(value);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && value as number >= 0;
}

function isHex(characters: number): Check {
  return (value) => typeof value === "string" && value.length === characters && HEX.test(value);
}
