/** Which addresses are public, by IANA's registries of special-purpose addresses. */

import assert from "node:assert/strict";
import { isPublicAddress, literalAddress } from "../../../src/domain/listener/public_address.ts";
import golden from "../../golden/listeners/addresses.json" with { type: "json" };

/** First and last address of each range that is not global; their outer neighbours are global. */
const SPECIAL_V4: readonly (readonly [first: string, last: string])[] = [
  ["0.0.0.0", "0.255.255.255"],
  ["10.0.0.0", "10.255.255.255"],
  ["100.64.0.0", "100.127.255.255"],
  ["127.0.0.0", "127.255.255.255"],
  ["169.254.0.0", "169.254.255.255"],
  ["172.16.0.0", "172.31.255.255"],
  ["192.0.0.0", "192.0.0.255"],
  ["192.0.2.0", "192.0.2.255"],
  ["192.168.0.0", "192.168.255.255"],
  ["198.18.0.0", "198.19.255.255"],
  ["198.51.100.0", "198.51.100.255"],
  ["203.0.113.0", "203.0.113.255"],
  ["224.0.0.0", "255.255.255.255"],
];

function toNumber(address: string): number {
  return address.split(".").reduce((sum, part) => sum * 256 + Number(part), 0);
}

function toText(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".");
}

for (const [first, last] of SPECIAL_V4) {
  Deno.test(`${first} to ${last} is refused to its ends, and so are those addresses in IPv6`, () => {
    const [from, to] = [toNumber(first), toNumber(last)];
    for (const number of [from, from + 1, Math.floor((from + to) / 2), to - 1, to]) {
      const address = toText(number);
      assert.ok(!isPublicAddress(address), address);
      assert.ok(!isPublicAddress(`::ffff:${address}`), address);
      assert.ok(!isPublicAddress(`::${address}`), address);
    }
    if (from > 0) assert.ok(isPublicAddress(toText(from - 1)), "the address before");
    if (to < 2 ** 32 - 1) assert.ok(isPublicAddress(toText(to + 1)), "the address behind");
  });
}

Deno.test("each special range of IANA's registries and each service of a cloud is refused", () => {
  for (const { address, public: isPublic, why } of golden) {
    assert.equal(isPublicAddress(address), isPublic, `${address}: ${why}`);
  }
});

Deno.test("addresses of the public internet are public", () => {
  const addresses = ["93.184.216.34", "1.1.1.1", "223.255.255.254", "2606:4700::1111"];
  for (const address of [...addresses, "2a00:1450::1", "::ffff:93.184.216.34"]) {
    assert.ok(isPublicAddress(address), address);
  }
});

Deno.test("IPv6 ranges that are not global are refused", () => {
  const addresses = ["::", "::1", "fe80::1", "febf::1", "fec0::1", "fc00::1", "fdff::1", "ff02::1"];
  const more = ["64:ff9b::1", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002::1"];
  for (
    const address of [...addresses, ...more, "3fff::1", "4000::1", "5f00::1", "::ffff:0:1.1.1.1"]
  ) {
    assert.ok(!isPublicAddress(address), address);
  }
});

Deno.test("what is no address in full is not public", () => {
  const texts = ["", "localhost", "127.1", "0x7f000001", "2130706433", "017700000001", "1.1.1"];
  for (
    const text of [...texts, "1.1.1.1 ", "[::1]", "2606:4700::1111%eth0", "1.1.1.1.1", "٣.1.1.1"]
  ) {
    assert.ok(!isPublicAddress(text), text);
  }
});

Deno.test("the host of a URL is an address or a name", () => {
  assert.equal(literalAddress(new URL("http://[::1]:80/")), "::1");
  assert.equal(literalAddress(new URL("http://0x7f.1/")), "127.0.0.1");
  assert.equal(literalAddress(new URL("http://example.com/")), undefined);
});
