/** Ed25519 key pairs against the vectors of RFC 8032, section 7.1. */

import { equal } from "node:assert/strict";
import { publicKeyOf, SIGNING_SEED_BYTES } from "../../../src/domain/audit/signing_key.ts";

const VECTORS: readonly (readonly [privateKey: string, publicKey: string])[] = [
  [
    "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
  ],
  [
    "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
  ],
];

Deno.test("publicKeyOf() gives the public keys of RFC 8032, 7.1, tests 1 and 2", async () => {
  for (const [privateKey, publicKey] of VECTORS) {
    const seed = Uint8Array.fromHex(privateKey);
    equal(seed.length, SIGNING_SEED_BYTES);
    equal((await publicKeyOf(seed)).toHex(), publicKey);
  }
});
