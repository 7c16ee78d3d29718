/** Where a server listens, and where its clients reach it, as its settings say. */

import ipaddr from "ipaddr.js";
import type { Environment } from "./domain/tenant.ts";

/** The settings that decide. */
export interface Listening {
  readonly host: string;
  /** The port of production; staging and test listen on the next two. */
  readonly port: number;
  /** If set, all environments share one port and the Host header selects one. Lowercase. */
  readonly baseDomain?: string;
  /** Paths of PEM files. */
  readonly tls?: { readonly certPath: string; readonly keyPath: string };
  /** Address ranges in CIDR form. */
  readonly trustedProxies: readonly string[];
}

/** The warning to print if API keys would travel in plain text; undefined if they would not. */
export function plainTextWarning(config: Listening): string | undefined {
  if (config.tls !== undefined || isLoopback(config.host)) return undefined;
  return `DAYBOOK_HOST is ${config.host}, which others can reach, and there is no TLS here: ` +
    "API keys travel in the clear unless TLS ends in front of this server. " +
    "Set DAYBOOK_TLS_CERT and DAYBOOK_TLS_KEY, or put a TLS proxy in front.";
}

/**
 * Whether `/metrics` may be open to programs on this machine. The server must be unreachable
 * from other machines, and no setting may suggest a proxy in front of it: behind a proxy, every
 * caller would look local.
 */
export function opensMetricsLocally(config: Listening): boolean {
  const isBehindProxy = config.trustedProxies.length > 0 || config.baseDomain !== undefined;
  return isLoopback(config.host) && !isBehindProxy;
}

/** The base URL of each environment of the instance `slug`, as clients reach it. */
export function baseUrls(config: Listening, slug: string): Record<Environment, string> {
  const { baseDomain, port } = config;
  if (baseDomain === undefined) {
    const start = `${config.tls ? "https" : "http"}://${reachableHost(config.host)}`;
    const at = (offset: number) => `${start}:${port + offset}`;
    return { production: at(0), staging: at(1), test: at(2) };
  }
  const [scheme, ending] = publicScheme(config, baseDomain);
  const at = (label: string) => `${scheme}://${label}.${baseDomain}${ending}`;
  return { production: at(slug), staging: at(`${slug}-staging`), test: at(`${slug}-test`) };
}

/**
 * Scheme and port under a base domain. Without TLS here, a proxy is assumed to end it on port
 * 443.
 */
function publicScheme({ tls, port }: Listening, baseDomain: string): [string, string] {
  if (tls !== undefined) return ["https", port === 443 ? "" : `:${port}`];
  const isLocal = baseDomain === "localhost" || baseDomain.endsWith(".localhost");
  return isLocal ? ["http", port === 80 ? "" : `:${port}`] : ["https", ""];
}

/** The host as written in a URL. A wildcard address becomes localhost: nobody can connect to it. */
export function reachableHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "localhost";
  return host.includes(":") ? `[${host}]` : host;
}

export function isLoopback(host: string): boolean {
  if (host === "localhost" || host.endsWith(".localhost")) return true;
  return ipaddr.isValid(host) && ipaddr.process(host).range() === "loopback";
}
