/**
 * Recognises a `GET /metrics` from a program on the same machine, which needs no token.
 *
 * A server that listens on a loopback address may stand behind a proxy, and any web page can
 * make a browser on the machine send a request. Both leave marks in the headers. See
 * docs/reference/monitoring.md.
 */

import ipaddr from "ipaddr.js";
import type { Connection } from "../call.ts";

/** Headers added by proxies, or by browsers to a request from a page of another origin. */
const MARKS = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
  "origin",
] as const;

/** Without the address of the peer in `connection`, the answer is false. */
export function isLocalScrape(headers: Headers, connection: Connection): boolean {
  const peer = connection?.remoteAddr;
  if (peer === undefined || !("hostname" in peer) || !isLoopback(peer.hostname)) return false;
  if (MARKS.some((name) => headers.has(name))) return false;
  // The host must be loopback by name: DNS rebinding would use another name that points here.
  return isLoopback(hostOf(headers.get("host") ?? ""));
}

function hostOf(header: string): string {
  return header.replace(/:[0-9]*$/, "").replace(/^\[(.*)\]$/, "$1");
}

function isLoopback(host: string): boolean {
  if (host.toLowerCase() === "localhost") return true;
  return ipaddr.isValid(host) && ipaddr.process(host).range() === "loopback";
}
