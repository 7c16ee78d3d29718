/** Limits of requests by address: `src/http/middleware/address_net.ts`. */

import assert from "node:assert/strict";
import { clientAddress, parseAddressRanges } from "../../../src/http/client_address.ts";
import { ADDRESSES_MAX, createAddressNet } from "../../../src/http/middleware/address_net.ts";

const PROXIES = parseAddressRanges(["10.9.0.0/16"]);

function openNet(limit: number) {
  return createAddressNet((peer, forwarded) => clientAddress(peer, forwarded, PROXIES), limit);
}

Deno.test("an address may ask as often as the limit within a minute", () => {
  const net = openNet(3);
  const verdicts = [0, 10, 20, 30].map((nowMs) => net.take("192.0.2.1", null, nowMs));
  assert.deepEqual(verdicts.map(({ remaining }) => remaining), [2, 1, 0, 0]);
  assert.deepEqual(verdicts.map(({ isAdmitted }) => isAdmitted), [true, true, true, false]);
  assert.deepEqual(verdicts[3], {
    isAdmitted: false,
    limit: 3,
    remaining: 0,
    retryAfterMs: 64_970,
  });
  assert.equal(net.take("192.0.2.1", null, 64_999).isAdmitted, false);
  assert.equal(net.take("192.0.2.1", null, 65_000).isAdmitted, true);
});

Deno.test("what is refused does not count: who goes on asking is admitted again", () => {
  const net = openNet(1);
  net.take("192.0.2.1", null, 0);
  for (let nowMs = 1_000; nowMs < 65_000; nowMs += 1_000) {
    assert.equal(net.take("192.0.2.1", null, nowMs).isAdmitted, false);
  }
  assert.equal(net.take("192.0.2.1", null, 65_000).isAdmitted, true);
});

Deno.test("addresses are counted apart, those of one IPv6 network together", () => {
  const net = openNet(1);
  assert.equal(net.take("192.0.2.1", null, 0).isAdmitted, true);
  assert.equal(net.take("192.0.2.2", null, 0).isAdmitted, true);
  assert.equal(net.take("2001:db8:1:2::1", null, 0).isAdmitted, true);
  assert.equal(net.take("2001:db8:1:2:ffff:ffff:ffff:ffff", null, 0).isAdmitted, false);
  assert.equal(net.take("2001:db8:1:3::1", null, 0).isAdmitted, true);
  assert.equal(
    net.take("::ffff:192.0.2.1", null, 0).isAdmitted,
    false,
    "an IPv4 address in other clothes",
  );
});

Deno.test("it remembers so many addresses at most, and who asks all the time longest", () => {
  const net = openNet(2);
  const heavy = "192.0.2.1";
  net.take(heavy, null, 0);
  net.take(heavy, null, 0);
  for (let number = 0; number < 4 * ADDRESSES_MAX; number++) {
    const address = `172.${number >> 16 & 255}.${number >> 8 & 255}.${number & 255}`;
    assert.equal(net.take(address, null, 1_000).isAdmitted, true);
    if (number % 1_000 === 0) assert.equal(net.take(heavy, null, 1_000).isAdmitted, false);
  }
  assert.equal(net.count(), ADDRESSES_MAX);
});

Deno.test("behind a trusted proxy it is the client that counts, elsewhere the peer", () => {
  const net = openNet(1);
  const proxy = "10.9.0.1";
  assert.equal(net.take(proxy, "192.0.2.1", 0).isAdmitted, true);
  assert.equal(net.take(proxy, "192.0.2.2", 0).isAdmitted, true);
  assert.equal(net.take(proxy, "198.51.100.9, 192.0.2.1", 0).isAdmitted, false);
  assert.equal(net.take("192.0.2.3", "192.0.2.4", 0).isAdmitted, true);
  assert.equal(net.take("192.0.2.3", "192.0.2.5", 0).isAdmitted, false, "anybody writes a header");
  assert.equal(net.take("192.0.2.4", null, 0).isAdmitted, true);
});

Deno.test("the limit is the contract's where none is set", () => {
  const net = createAddressNet((peer) => peer);
  assert.equal(net.take("192.0.2.1", null, 0).limit, 30_000);
});
