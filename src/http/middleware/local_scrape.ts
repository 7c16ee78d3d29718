/**
 * Whether `GET /metrics` comes from a program on the same machine, so that it needs no token. A
 * server that listens on a loopback address may stand behind a proxy, and a browser on the machine
 * may be made to ask by any page: both leave marks. Decided in "Operations".
 */

import ipaddr from "ipaddr.js";
import type { Connection } from "../call.ts";

/** What proxies add, and browsers to a request that a page of another origin makes. */
const MARKS = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
  "origin",
] as const;

/** `connection` tells the other end; without one nothing is known, and so nothing is believed. */
export function isLocalScrape(headers: Headers, connection: Connection): boolean {
  const peer = connection?.remoteAddr;
  if (peer === undefined || !("hostname" in peer) || !isLoopback(peer.hostname)) return false;
  if (MARKS.some((name) => headers.has(name))) return false;
  // A name that was made to point here would be another one.
  return isLoopback(hostOf(headers.get("host") ?? ""));
}

function hostOf(header: string): string {
  return header.replace(/:[0-9]*$/, "").replace(/^\[(.*)\]$/, "$1");
}

function isLoopback(host: string): boolean {
  if (host.toLowerCase() === "localhost") return true;
  return ipaddr.isValid(host) && ipaddr.process(host).range() === "loopback";
}
