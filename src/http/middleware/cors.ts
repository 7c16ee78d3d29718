/**
 * Decides what browsers may do from pages of other origins (CORS).
 *
 * Every origin may read and write with a key. Origins named in the settings may use every
 * method and header of the API. See docs/reference/basics.md.
 */

import { TextSet } from "../../domain/lookup/text_map.ts";

/** Allowed for every origin. */
const OPEN_METHODS = "GET, POST, OPTIONS";
const OPEN_HEADERS = "Authorization, Content-Type";

const NAMED_METHODS = "GET, HEAD, POST, PATCH, DELETE, OPTIONS";
const NAMED_HEADERS = [
  "Authorization",
  "Content-Type",
  "Accept",
  "If-None-Match",
  "Last-Event-ID",
  "Traceparent",
  "Tracestate",
  "X-Idempotency-Key",
  "X-Request-Id",
].join(", ");

/** How many seconds a browser may cache a preflight; Chromium allows no more than this. */
const PREFLIGHT_SECONDS = "7200";

export interface Cors {
  /** Answers 204; needs no key, and the path need not exist. */
  answerPreflight(requestId: string, origin: string | null): Response;
  /** Whether answers differ by the origin that asks, even if none is named. */
  readonly varies: boolean;
  /** Lets the requesting page read the headers of an answer. */
  expose(response: Response, origin: string | null): void;
}

/**
 * @param origins those that may do everything, such as `https://app.example.com`.
 * @param headerPrefix replaces `SVC` in header names.
 */
export function createCors(origins: readonly string[], headerPrefix: string): Cors {
  const named = new TextSet(origins);
  const exposed = exposedHeaders(headerPrefix);

  return {
    varies: named.size > 0,
    answerPreflight(requestId, origin) {
      const isNamed = origin !== null && named.has(origin);
      const headers = new Headers({
        "access-control-allow-origin": isNamed ? origin : "*",
        "access-control-allow-methods": isNamed ? NAMED_METHODS : OPEN_METHODS,
        "access-control-allow-headers": isNamed ? NAMED_HEADERS : OPEN_HEADERS,
        "access-control-max-age": PREFLIGHT_SECONDS,
        "x-request-id": requestId,
      });
      if (named.size > 0) headers.set("vary", "Origin");
      return new Response(null, { status: 204, headers });
    },
    expose({ headers }, origin) {
      if (named.size > 0) headers.append("vary", "Origin");
      if (origin === null) return;
      if (named.has(origin)) headers.set("access-control-allow-origin", origin);
      headers.set("access-control-expose-headers", exposed);
    },
  };
}

/** All answer headers that browsers would otherwise hide. */
function exposedHeaders(prefix: string): string {
  return [
    "Allow",
    "Content-Disposition",
    "ETag",
    "Retry-After",
    "WWW-Authenticate",
    "X-Error-Id",
    "X-Idempotency-Replayed",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Scope",
    "X-RateLimit-Tier",
    "X-Request-Id",
    `X-${prefix}-Limit-Exceeded`,
    `X-${prefix}-Limit-Warning`,
    `X-${prefix}-Projection-Lag`,
  ].join(", ");
}
