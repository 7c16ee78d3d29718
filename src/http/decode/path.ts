/**
 * Splits a request's address into host, path segments and query.
 *
 * Each segment is decoded once and by itself, so a percent-encoded slash is part of an id and
 * never a separator.
 */

export interface Address {
  /** Host name in lowercase, without port and final dot. */
  readonly host: string;
  /** Decoded path segments; undefined if the percent-encoding is broken. */
  readonly segments: readonly string[] | undefined;
  /** The text after `?`, as sent. */
  readonly query: string;
}

/** Parses an absolute `url`, as `Request.url` returns it. */
export function parseAddress(url: string): Address {
  const hostStart = url.indexOf("://") + 3;
  const hash = url.indexOf("#", hostStart);
  const end = hash < 0 ? url.length : hash;
  const mark = url.indexOf("?", hostStart);
  const pathEnd = mark < 0 || mark > end ? end : mark;
  const slash = url.indexOf("/", hostStart);
  const pathStart = slash < 0 || slash > pathEnd ? pathEnd : slash;
  return {
    host: hostName(url.slice(hostStart, pathStart)),
    segments: decodeSegments(url.slice(pathStart + 1, pathEnd)),
    query: pathEnd === end ? "" : url.slice(pathEnd + 1, end),
  };
}

/** Nearly all requests of a process name the same host, so the last one is cached. */
let lastAuthority = "";
let lastHost = "";

function hostName(authority: string): string {
  if (authority === lastAuthority) return lastHost;
  lastHost = authority.toLowerCase().replace(/:[0-9]*$/, "").replace(/\.$/, "");
  lastAuthority = authority;
  return lastHost;
}

function decodeSegments(path: string): readonly string[] | undefined {
  const segments = path.split("/");
  if (!path.includes("%")) return segments;
  try {
    return segments.map(decodeURIComponent);
  } catch {
    return undefined;
  }
}
