/** UUIDs of version 4 from given random bytes (RFC 9562, 5.4). */

import { assert } from "./assert.ts";

/** 36 lowercase characters from 16 random bytes, of which 122 bits are kept. */
export function formatUuid(random: Uint8Array): string {
  assert(random.length === 16, "a UUID has 16 bytes");
  const bytes = Uint8Array.from(random);
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toHex();
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...parts, hex.slice(20)].join("-");
}
