/**
 * Verifies that a request is a delivery of a listener: signed with its secret, and recent.
 *
 * Daybook signs each delivery twice. The headers of Standard Webhooks sign id, time and body;
 * `X-SVC-Signature` signs the body alone, so it cannot tell a replayed request from a new one. That
 * is why it has to be asked for. See docs/reference/listeners.md.
 */

import type { EventTypes, WebhookDelivery } from "./delivery.ts";

/**
 * The body as it was received. What a framework has parsed and written again has other bytes, and
 * no signature fits them.
 *
 * @example
 * ```ts
 * import type { RawBody } from "@daybook/client/webhooks";
 *
 * const body: RawBody = new TextEncoder().encode('{"id":"dlv_1"}');
 * console.log(body);
 * ```
 */
export type RawBody = string | Uint8Array | ArrayBuffer;

/**
 * The headers of a request: `Headers`, or an object such as `req.headers` of Node, in any case.
 *
 * @example
 * ```ts
 * import type { RequestHeaders } from "@daybook/client/webhooks";
 *
 * const headers: RequestHeaders = { "Webhook-Id": "dlv_1", "webhook-timestamp": "1767225600" };
 * console.log(headers);
 * ```
 */
export type RequestHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * What a receiver knows, and how strict it is.
 *
 * @example
 * ```ts
 * import type { WebhookOptions } from "@daybook/client/webhooks";
 *
 * // While a secret is rotated, the old one and the new one are both right.
 * const options: WebhookOptions = { secret: ["the new secret, from today on", "the old secret"] };
 * console.log(options);
 * ```
 */
export interface WebhookOptions {
  /** The secret of the listener as it stands in the spec; several while it is rotated. */
  readonly secret: string | readonly string[];
  /** How far the time of sending may be from now, in either direction; 300 if not given. */
  readonly toleranceSeconds?: number;
  /**
   * `standard`, if not given: the headers `webhook-id`, `webhook-timestamp` and
   * `webhook-signature`. `body`: `X-SVC-Signature`, which does not sign the time; whoever uses it
   * has to remember the ids that were handled.
   */
  readonly scheme?: "standard" | "body";
  /** What stands in place of `SVC`, where the server has `DAYBOOK_HEADER_PREFIX`. */
  readonly headerPrefix?: string;
  /** The clock, in milliseconds; `Date.now` if not given. */
  readonly now?: () => number;
}

/**
 * Why a request was refused. Answer each with a 4xx, except `secret_missing` and `body_not_raw`:
 * these are faults of the receiver itself, and a 500 has the delivery tried again.
 *
 * @example
 * ```ts
 * import type { WebhookRefusal } from "@daybook/client/webhooks";
 *
 * function statusFor(reason: WebhookRefusal): number {
 *   return reason === "secret_missing" || reason === "body_not_raw" ? 500 : 401;
 * }
 * console.log(statusFor("signature_mismatch"));
 * ```
 */
export type WebhookRefusal =
  /** No secret was given, or an empty one. */
  | "secret_missing"
  /** The body was parsed, or read by somebody else before. */
  | "body_not_raw"
  /** A header is missing. A delivery that was sent without a signature must not be believed. */
  | "signature_missing"
  /** The body, the id or the time was changed, or it was signed with another secret. */
  | "signature_mismatch"
  /** `webhook-timestamp` is not a time. */
  | "timestamp_malformed"
  /** It was sent too long ago: perhaps it is replayed. */
  | "timestamp_too_old"
  /** It will be sent in the future: one of the two clocks is wrong. */
  | "timestamp_too_new"
  /** It is signed, but no delivery of Daybook: something else has the same secret. */
  | "body_malformed";

/**
 * The outcome: the delivery, or why the request was refused.
 *
 * @example
 * ```ts
 * import type { WebhookVerdict } from "@daybook/client/webhooks";
 *
 * function describe(verdict: WebhookVerdict): string {
 *   return verdict.ok ? verdict.delivery.event.type : `${verdict.reason}: ${verdict.message}`;
 * }
 * console.log(describe({ ok: false, reason: "signature_missing", message: "no header" }));
 * ```
 */
export type WebhookVerdict<Types extends EventTypes = EventTypes> =
  | { readonly ok: true; readonly delivery: WebhookDelivery<Types> }
  | { readonly ok: false; readonly reason: WebhookRefusal; readonly message: string };

const encoder = new TextEncoder();
const TOLERANCE_SECONDS = 300;

/**
 * Verifies a delivery. Takes a `Request`, whose body it reads, or a body as received and its
 * headers. Whatever is wrong with the request is returned, not thrown. Signatures are compared in
 * constant time, before anything of the body is looked at.
 *
 * A delivery may come more than once: remember `delivery.id`, and answer 200 to a known one.
 *
 * @example
 * ```ts
 * import { verifyWebhook } from "@daybook/client/webhooks";
 *
 * async function receive(request: Request): Promise<Response> {
 *   const verdict = await verifyWebhook(request, { secret: "a secret of 16 characters or more" });
 *   if (!verdict.ok) return new Response(verdict.reason, { status: 401 });
 *   console.log(verdict.delivery.event.type);
 *   return new Response();
 * }
 * const forged = new Request("https://shop.example/hook", { method: "POST", body: "{}" });
 * console.log((await receive(forged)).status); // 401
 * ```
 */
export function verifyWebhook<Types extends EventTypes = EventTypes>(
  request: Request,
  options: WebhookOptions,
): Promise<WebhookVerdict<Types>>;
export function verifyWebhook<Types extends EventTypes = EventTypes>(
  body: RawBody,
  headers: RequestHeaders,
  options: WebhookOptions,
): Promise<WebhookVerdict<Types>>;
export async function verifyWebhook(
  request: Request | RawBody,
  headersOrOptions: RequestHeaders | WebhookOptions,
  optionsAfter?: WebhookOptions,
): Promise<WebhookVerdict> {
  const options = optionsAfter ?? headersOrOptions as WebhookOptions;
  const headers = optionsAfter ? headersOrOptions as RequestHeaders : (request as Request).headers;
  const secrets = [options.secret].flat().filter((secret) => secret);
  if (secrets.length === 0) return refuse("secret_missing", "no secret was given");
  const body = optionsAfter ? bytesOf(request as RawBody) : await bodyOf(request as Request);
  if (!body) return refuse("body_not_raw", "give the body as received: it was parsed or read");

  const prefix = options.headerPrefix ?? "SVC";
  const isStandard = options.scheme !== "body";
  const name = isStandard ? "webhook-signature" : `x-${prefix}-signature`;
  const given = headerIn(headers, name);
  if (!given) return refuse("signature_missing", `there is no ${name}`);
  if (!isStandard) {
    const isSigned = await isOneOf([given], secrets, (secret) => hexMac(secret, body));
    return isSigned ? accept(body) : mismatch(name);
  }

  const [id, time] = [headerIn(headers, "webhook-id"), headerIn(headers, "webhook-timestamp")];
  if (!id || !time) {
    return refuse("signature_missing", "webhook-id or webhook-timestamp is missing");
  }
  if (!/^\d{1,12}$/.test(time)) {
    return refuse("timestamp_malformed", "webhook-timestamp is no time");
  }
  const signed = joined(encoder.encode(`${id}.${time}.`), body);
  const isSigned = await isOneOf(
    given.split(" "),
    secrets,
    async (secret) => `v1,${await base64Mac(secret, signed)}`,
  );
  if (!isSigned) return mismatch(name);
  const age = Math.floor((options.now ?? Date.now)() / 1000) - Number(time);
  const tolerance = options.toleranceSeconds ?? TOLERANCE_SECONDS;
  // Written so that a tolerance that is no number refuses everything.
  if (!(age <= tolerance)) return refuse("timestamp_too_old", `it was sent ${age} s ago`);
  if (!(-age <= tolerance)) return refuse("timestamp_too_new", `it was sent in ${-age} s from now`);
  return accept(body);
}

function refuse(reason: WebhookRefusal, message: string): WebhookVerdict {
  return { ok: false, reason, message };
}

function mismatch(name: string): WebhookVerdict {
  return refuse("signature_mismatch", `${name} does not fit this body and secret`);
}

function accept(body: Uint8Array): WebhookVerdict {
  try {
    const delivery = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    if (typeof delivery.id === "string" && typeof delivery.event.type === "string") {
      return { ok: true, delivery };
    }
  } catch {
    // Refused below.
  }
  return refuse("body_malformed", "it is signed, but it is no delivery of Daybook");
}

/** The body's bytes; undefined if somebody has read it before, or it breaks off. */
async function bodyOf(request: Request): Promise<Uint8Array | undefined> {
  try {
    return new Uint8Array(await request.arrayBuffer());
  } catch {
    return undefined;
  }
}

/** Undefined for what is neither text nor bytes, for example a body that was parsed. */
function bytesOf(body: unknown): Uint8Array | undefined {
  if (typeof body === "string") return encoder.encode(body);
  if (ArrayBuffer.isView(body)) {
    return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  }
  // The buffer may be of another realm, so its kind is asked for by name.
  const isBuffer = Object.prototype.toString.call(body) === "[object ArrayBuffer]";
  return isBuffer ? new Uint8Array(body as ArrayBuffer) : undefined;
}

function headerIn(headers: RequestHeaders, name: string): string | undefined {
  if (typeof headers.get === "function") return headers.get(name) ?? undefined;
  const wanted = name.toLowerCase();
  for (const [one, value] of Object.entries(headers)) {
    if (one.toLowerCase() === wanted) return [value].flat().join(", ");
  }
  return undefined;
}

/** Whether one of the given signatures is the one that a secret makes. */
async function isOneOf(
  given: readonly string[],
  secrets: readonly string[],
  sign: (secret: string) => Promise<string>,
): Promise<boolean> {
  let isFound = false;
  for (const secret of secrets) {
    const right = await sign(secret);
    for (const one of given) isFound = isEqual(one, right) || isFound;
  }
  return isFound;
}

/** Takes the same time wherever the two differ. */
function isEqual(given: string, right: string): boolean {
  let difference = given.length ^ right.length;
  for (let at = 0; at < right.length; at++) {
    // Behind the end the code is NaN, which counts as 0.
    difference |= given.charCodeAt(at) ^ right.charCodeAt(at);
  }
  return difference === 0;
}

async function hexMac(secret: string, message: Uint8Array): Promise<string> {
  const mac = await macOf(encoder.encode(secret), message);
  return Array.from(mac, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function base64Mac(secret: string, message: Uint8Array): Promise<string> {
  return btoa(String.fromCharCode(...await macOf(standardKey(secret), message)));
}

async function macOf(key: Uint8Array, message: Uint8Array): Promise<Uint8Array> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const { subtle } = crypto;
  const imported = await subtle.importKey("raw", key as BufferSource, algorithm, false, ["sign"]);
  return new Uint8Array(await subtle.sign("HMAC", imported, message as BufferSource));
}

/**
 * The key of a Standard Webhooks signature: the bytes that stand in base64 behind `whsec_`. Any
 * other secret stands for its UTF-8 bytes.
 */
function standardKey(secret: string): Uint8Array {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1];
  try {
    if (encoded) return Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
  } catch {
    // It only looks like base64.
  }
  return encoder.encode(secret);
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const whole = new Uint8Array(first.length + second.length);
  whole.set(first);
  whole.set(second, first.length);
  return whole;
}
