/**
 * What browsers may do from pages of other origins. Every origin may read and write with a key;
 * origins that the settings name may use every method and header of the API. Documented in
 * `src/http/README.md`, "Browsers".
 */

/** For every origin: the contract's three. */
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

/** Seconds for which a browser need not ask again; Chromium takes no more than this. */
const PREFLIGHT_SECONDS = "7200";

export interface Cors {
  /** 204; needs no key and asks for no path. */
  answerPreflight(requestId: string, origin: string | null): Response;
  /** Lets the page that asked read the headers of an answer. */
  expose(response: Response, origin: string | null): void;
}

/**
 * @param origins those that may do everything, such as `https://app.example.com`.
 * @param headerPrefix what stands for `SVC` in header names.
 */
export function createCors(origins: readonly string[], headerPrefix: string): Cors {
  const named = new Set(origins);
  const exposed = exposedHeaders(headerPrefix);

  return {
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

/** All that answers carry and that browsers would hide. */
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
