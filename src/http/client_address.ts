/**
 * Finds the real client address behind proxies.
 *
 * Only entries that a trusted proxy added to `X-Forwarded-For` are believed, so the header is
 * read from its right end. Anybody could have written the entries beyond the first untrusted
 * address.
 */

import ipaddr from "ipaddr.js";

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** A first address, and how many of its leading bits count. */
export type AddressRange = readonly [Address, number];

/** No real chain of proxies is longer; a longer one is an attempt to keep us busy. */
const HOPS_MAX = 32;
/** Enough for the longest chain: an IPv6 address with its port has fewer than 64 characters. */
const CHAIN_CHARACTERS_MAX = HOPS_MAX * 64;
const IPV4_WITH_PORT = /^(\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?$/;
const IPV6_IN_BRACKETS = /^\[([^\]]+)\](?::\d{1,5})?$/;
const MAPPED_PREFIX_BITS = 96;

/**
 * Parses ranges in CIDR form, which the configuration has already checked.
 * @throws {Error} for a text that is not a range.
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
 * The client's address in its shortest form (RFC 5952), with IPv4 as IPv4. `peer` is the other
 * end of the connection; if it is not an address (a local socket), it is returned unchanged.
 */
export function clientAddress(
  peer: string,
  forwardedFor: string | null | undefined,
  trusted: readonly AddressRange[],
): string {
  let address = parseAddress(peer);
  if (address === undefined) return peer;
  const chain = (forwardedFor ?? "").slice(-CHAIN_CHARACTERS_MAX);
  const hops = chain.split(",").slice(-HOPS_MAX).reverse();
  for (const hop of hops) {
    if (!isTrusted(address, trusted)) break;
    const next = parseAddress(hop.trim());
    // A malformed entry ends what can be believed: the proxy that sent it is the caller.
    if (next === undefined) break;
    address = next;
  }
  return address.toString();
}

/**
 * The network that rate limits count: an IPv4 address itself, or the first half of an IPv6
 * address, since one customer owns the whole second half.
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

/** Some proxies add the port. Zones such as `%eth0` mean nothing here and are dropped. */
function parseAddress(text: string): Address | undefined {
  const v4 = IPV4_WITH_PORT.exec(text)?.[1];
  if (v4 !== undefined) {
    return ipaddr.IPv4.isValidFourPartDecimal(v4) ? ipaddr.IPv4.parse(v4) : undefined;
  }
  const v6 = (IPV6_IN_BRACKETS.exec(text)?.[1] ?? text).split("%")[0]!;
  return v6.includes(":") && ipaddr.IPv6.isValid(v6) ? ipaddr.process(v6) : undefined;
}
