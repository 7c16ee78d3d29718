/**
 * Ed25519 signatures (RFC 8032) over text, in hex.
 *
 * Signing is rare, so the library that makes the keys does it. Verifying is frequent, so the
 * runtime's own implementation does that: it is far faster.
 */

import { signAsync } from "@noble/ed25519";
import { Buffer } from "node:buffer";
import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { isSmallOrder } from "./public_key.ts";

/** `privateKey` is 32 bytes in hex. Returns the signature as 64 bytes in lowercase hex. */
export async function signText(privateKey: string, text: string): Promise<string> {
  const signature = await signAsync(encoder.encode(text), Uint8Array.fromHex(privateKey));
  return signature.toHex();
}

/**
 * `publicKey` is 32 bytes and `signature` 64 bytes, both in hex. Returns false for an invalid
 * key, and for one that anybody can sign for.
 */
export function verifyText(publicKey: string, signature: string, text: string): boolean {
  try {
    const key = keyObject(publicKey);
    return verify(undefined, encoder.encode(text), key, Uint8Array.fromHex(signature));
  } catch {
    return false;
  }
}

const encoder = new TextEncoder();

/** The last key used. Callers that verify many signatures mostly verify those of one key. */
let latest: { readonly hex: string; readonly key: KeyObject } | undefined;

function keyObject(hex: string): KeyObject {
  if (latest?.hex === hex) return latest.key;
  if (isSmallOrder(hex)) throw new Error("A key of small order");
  const x = Buffer.from(hex, "hex").toString("base64url");
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  latest = { hex, key };
  return key;
}
