/**
 * Decides which addresses a delivery may go to: only those on the public internet.
 *
 * The author of a spec must not reach what only the server can reach: the server itself, its
 * network, its cloud's metadata. Addresses that are not known to be public are refused. So are
 * IPv6 ranges that embed an IPv4 address (6to4, Teredo, translation), because a public receiver
 * has an address of its own.
 */

import ipaddr from "ipaddr.js";

/** The whole public IPv6 internet. Everything outside serves other purposes. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3");

/**
 * Addresses that look public but are answered by the cloud that the server runs in: the wire
 * server of Azure, which hands out its machines' secrets, and the service networks of IBM
 * Cloud.
 */
const OF_CLOUDS = ["168.63.129.16/32", "161.26.0.0/16", "166.8.0.0/14"]
  .map((range) => ipaddr.IPv4.parseCIDR(range));

/** `::1.2.3.4`, which is not routed anywhere. The library reads it as `::ffff:1.2.3.4`. */
const IPV4_COMPATIBLE = /^::[0-9]+\./;

/** True for a public address: IPv4 in four decimal parts, or IPv6 without brackets. */
export function isPublicAddress(text: string): boolean {
  const isV4 = ipaddr.IPv4.isValidFourPartDecimal(text);
  // A zone (`%eth0`) names a network of this machine.
  if (!isV4 && (text.includes("%") || !text.includes(":") || !ipaddr.IPv6.isValid(text))) {
    return false;
  }
  if (IPV4_COMPATIBLE.test(text)) return false;
  // IPv4 in an IPv6 socket (`::ffff:1.2.3.4`) reaches that IPv4 address.
  const address = ipaddr.process(text);
  if (address.range() !== "unicast") return false;
  if (address instanceof ipaddr.IPv4) return !OF_CLOUDS.some((range) => address.match(range));
  return address.match(GLOBAL_UNICAST);
}

/**
 * The host of a URL if it is an address, in the form that {@link isPublicAddress} reads;
 * undefined if it is a name. Octal, hexadecimal, short and numeric forms do not occur, because
 * URL parsing writes them out.
 */
export function literalAddress({ hostname }: URL): string | undefined {
  if (hostname.startsWith("[")) return hostname.slice(1, -1);
  return ipaddr.IPv4.isValidFourPartDecimal(hostname) ? hostname : undefined;
}
