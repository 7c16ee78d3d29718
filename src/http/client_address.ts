/**
 * Who is really calling when proxies stand in front. Only what a trusted proxy has added to
 * `X-Forwarded-For` is believed, so the header is read from its right end; whatever lies beyond
 * the first address that is no trusted proxy, anybody could have written.
 */

import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A first address and how many of its leading bits count. */
export type AddressRange = readonly [Address, number];

/** No chain of proxies is longer; what is, is an attempt to keep us busy. */
const HOPS_MAX = 32;
const IPV4_WITH_PORT = /^(\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?$/;
const IPV6_IN_BRACKETS = /^\[([^\]]+)\](?::\d{1,5})?$/;
const MAPPED_PREFIX_BITS = 96;

/**
 * Ranges in CIDR form, as the configuration has checked them.
 * @throws {Error} for a text that is no range.
 */
export function parseAddressRanges(ranges: readonly string[]): AddressRange[] {
  return ranges.map((text) => {
    const [address, bits] = ipaddr.parseCIDR(text);
    // `::ffff:10.0.0.0/104` is 10.0.0.0/8: addresses are compared in their IPv4 form.
    const isMapped = address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress();
    return isMapped && bits >= MAPPED_PREFIX_BITS
      ? [address.toIPv4Address(), bits - MAPPED_PREFIX_BITS]
      : [address, bits];
  });
}

/**
 * The client's address in its shortest form (RFC 5952), IPv4 as IPv4. `peer` is the other end of
 * the connection; where it is no address (a local socket), it is given back as it is.
 */
export function clientAddress(
  peer: string,
  forwardedFor: string | null | undefined,
  trusted: readonly AddressRange[],
): string {
  let address = parseAddress(peer);
  if (address === undefined) return peer;
  const hops = (forwardedFor ?? "").split(",").slice(-HOPS_MAX).reverse();
  for (const hop of hops) {
    if (!isTrusted(address, trusted)) break;
    const next = parseAddress(hop.trim());
    // A malformed entry ends what can be believed: the proxy that passed it on is the caller.
    if (next === undefined) break;
    address = next;
  }
  return address.toString();
}

/**
 * Whose address it is as far as counting goes: an IPv4 address by itself, of IPv6 the first half,
 * for one customer has all of the second.
 */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const parsed = parseAddress(address);
  if (!(parsed instanceof ipaddr.IPv6)) return parsed?.toString() ?? address;
  return `${parsed.parts.slice(0, 4).map((part) => part.toString(16)).join(":")}::/64`;
}

function isTrusted(address: Address, trusted: readonly AddressRange[]): boolean {
  return trusted.some(([first, bits]) =>
    first.kind() === address.kind() && address.match(first, bits)
  );
}

/** Some proxies add the port; zones such as `%eth0` mean nothing here and are left out. */
function parseAddress(text: string): Address | undefined {
  const v4 = IPV4_WITH_PORT.exec(text)?.[1];
  if (v4 !== undefined) {
    return ipaddr.IPv4.isValidFourPartDecimal(v4) ? ipaddr.IPv4.parse(v4) : undefined;
  }
  const v6 = (IPV6_IN_BRACKETS.exec(text)?.[1] ?? text).split("%")[0]!;
  return v6.includes(":") && ipaddr.IPv6.isValid(v6) ? ipaddr.process(v6) : undefined;
}
