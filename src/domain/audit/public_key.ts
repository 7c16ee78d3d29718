/**
 * Recognizes Ed25519 public keys that anybody can sign for.
 *
 * Eight points of the curve have a small order. Under such a key, a signature that nobody made
 * verifies for one text in eight, or for every text. The list is from "Taming the many EdDSAs"
 * (Chalkias, Garillot, Nikolaenko, 2020), table 6b.
 */

/**
 * The y of these points, as 32 bytes in hex, without the sign of x. The last two are 0 and 1
 * plus p.
 */
const SMALL_ORDER_Y: ReadonlySet<string> = new Set([
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]);

/** `publicKey` is 32 bytes in hex. */
export function isSmallOrder(publicKey: string): boolean {
  const hex = publicKey.toLowerCase();
  // The sign of x is the highest bit of the last byte, so it is in the first of that byte's two
  // digits.
  const digit = Number.parseInt(hex[62]!, 16) & 0x7;
  return SMALL_ORDER_Y.has(`${hex.slice(0, 62)}${digit.toString(16)}${hex[63]}`);
}
