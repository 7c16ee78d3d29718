/** The Ed25519 key pair (RFC 8032) with which an instance signs its anchors. */

import { getPublicKeyAsync } from "@noble/ed25519";

/** Random bytes of a key pair: they are the private key itself. */
export const SIGNING_SEED_BYTES = 32;

/** The 32-byte public key of a 32-byte private key. */
export function publicKeyOf(privateKey: Uint8Array): Promise<Uint8Array> {
  return getPublicKeyAsync(privateKey);
}
