/**
 * Ed25519 signatures (RFC 8032), with the verdicts of OpenSSL and of the server: an equation
 * without the cofactor, and canonical encodings only. Keys that anybody can sign for are refused.
 */

import { Point } from "@noble/ed25519";
import { sha512 } from "@noble/hashes/sha2.js";
import { bytesToHex, concatBytes, hexToBytes } from "@noble/hashes/utils.js";
import { hex64 } from "./form.ts";
import { encode } from "./hashes.ts";
import { need, type OnCheck, type PublicKey } from "./verdict.ts";

/** Characters of a point in hex, the first half of a signature. */
const POINT_HEX = 64;

interface SignedText {
  /** 32 bytes in lowercase hex. */
  readonly public_key: string;
  /** 64 bytes in lowercase hex. */
  readonly signature: string;
  readonly payload: string;
}

/** Whether the key has signed the payload. Takes hex of the right length. */
export function isSigned(signed: SignedText): boolean {
  return isReached(reachedBy(signed), signed);
}

/** Compares encodings, because a point may have a second one that is not canonical. */
function isReached(reached: string | undefined, { signature }: SignedText): boolean {
  return reached === signature.slice(0, POINT_HEX);
}

/**
 * The point that key, payload and the second half of the signature lead to, which its first half
 * must be; undefined if there is none.
 */
function reachedBy({ public_key, signature, payload }: SignedText): string | undefined {
  const key = hexToBytes(public_key);
  const bytes = hexToBytes(signature);
  const point = pointOf(key);
  const s = numberOf(bytes.subarray(32));
  const { n } = Point.CURVE();
  if (!point || s >= n) return undefined;
  const r = bytes.subarray(0, 32);
  const k = numberOf(sha512(concatBytes(r, key, encode(payload)))) % n;
  return Point.BASE.multiply(s, false).subtract(point.multiply(k, false)).toHex();
}

/** The point of a public key; undefined if there is none, or if its order is small. */
function pointOf(key: Uint8Array): Point | undefined {
  try {
    const point = Point.fromBytes(key);
    return point.isSmallOrder() ? undefined : point;
  } catch {
    return undefined;
  }
}

function numberOf(littleEndian: Uint8Array): bigint {
  return BigInt(`0x${bytesToHex(littleEndian.slice().reverse())}`);
}

/** The keys of whoever verifies. Without one, a signature would only prove that somebody signed. */
export function needKeys(publicKey: PublicKey, onCheck?: OnCheck): readonly string[] {
  const keys = [publicKey].flat() as readonly unknown[];
  need(keys.length > 0, "key", "no public key was given");
  for (const key of keys) {
    onCheck?.({
      step: "key",
      what: "public key that was given",
      computed: String(key),
      expected: "64 hex characters, a point of the curve that only its owner can sign for",
    });
    need(hex64.holds(key), "key", `publicKey must be ${hex64.must}`);
    const isStrong = pointOf(hexToBytes(key as string)) !== undefined;
    need(isStrong, "key", "publicKey is no point of the curve, or anybody can sign for it");
  }
  return keys as readonly string[];
}

/** Refuses what none of the keys has signed. */
export function needSignature(
  signed: SignedText,
  keys: readonly string[],
  what: string,
  onCheck?: OnCheck,
): void {
  const { public_key } = signed;
  const isExpected = keys.includes(public_key);
  onCheck?.({
    step: "signature",
    what: "key that has signed",
    computed: public_key,
    expected: isExpected ? public_key : keys.join(" or "),
  });
  need(isExpected, "signature", `${what} is signed with ${public_key}, not with publicKey`);
  const reached = reachedBy(signed);
  onCheck?.({
    step: "signature",
    what: "point that key, content and signature lead to",
    computed: reached ?? "none",
    expected: signed.signature.slice(0, POINT_HEX),
  });
  const holds = isReached(reached, signed);
  need(holds, "signature", `the signature is not that of its key over ${what}`);
}
