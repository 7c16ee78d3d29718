/**
 * Sends deliveries over HTTP and HTTPS.
 *
 * This is the only code that connects to addresses chosen by users. It reaches only the public
 * internet unless the settings allow more, follows no redirects, uses no proxy, and bounds time
 * and bytes. See docs/reference/listeners.md.
 */

import dns from "node:dns/promises";
import https from "node:https";
import { Buffer } from "node:buffer";
import type { TryAnswer, TryFailure } from "../domain/listener/delivery.ts";
import type { Webhook, WebhookSender } from "../domain/listener/webhook.ts";
import { isPublicAddress, literalAddress } from "../domain/listener/public_address.ts";
import { limits } from "../domain/limits.ts";
import type { Host } from "../host.ts";
import { openNameService } from "./name_service.ts";
import {
  AddressRefused,
  guardedLookup,
  NameNotFound,
  type Resolve,
  type ResolvedAddress,
} from "./guard.ts";
import type { SpanAttributes, Tracer } from "../domain/measures/tracer.ts";
import http, { type IncomingMessage } from "node:http";

export interface SenderSettings {
  readonly allowPrivate: boolean;
  /** Absent: the system's name service. */
  readonly resolve?: Resolve;
}

/** Connections are reused for at most this long, because a name's addresses may change. */
const CONNECTION_AGE_MS_MAX = 60_000;
/** Longer than any try, so it never ends a delivery under way. */
const CONNECTION_IDLE_MS_MAX = 20_000;
/** How long the body may take after the head. Until then the try counts as under way. */
const BODY_MS_MAX = 1_000;
/** Bytes of all heads of an answer together: of early hints and the like, and the last one. */
const HEADS_BYTES_MAX = 64 * 1024;
/** Heads with a status of 1xx before the answer. */
const EARLY_HEADS_MAX = 8;
/** A body whose head does not give its length is read up to this, with the marks of its chunks. */
const UNMEASURED_BODY_BYTES_MAX = 2 * 1024;
/** Bytes that are parsed at once: 57 of the shortest heads, or 170 of the shortest chunks. */
const PART_BYTES = 1024;
/**
 * Codes for a certificate that is untrusted, expired or for another name, and for data that is
 * not TLS.
 */
const TLS_CODE = /CERT|^ERR_(TLS|SSL)_|^UNABLE_TO_/;

export function webhookSender(
  host: Pick<Host, "nowMs" | "startTimer">,
  { allowPrivate, resolve = resolveBySystem }: SenderSettings,
): WebhookSender {
  const names = openNameService(resolve);
  // As many idle sockets as may be in use at once; otherwise most would be reopened each time.
  const options = {
    keepAlive: true,
    maxFreeSockets: limits.deliveriesPerListenerMax,
    timeout: CONNECTION_IDLE_MS_MAX,
  };
  const plain = agingAgent(new http.Agent(options), host);
  const secure = agingAgent(new https.Agent(options), host);

  /** `again`: the other side closed a kept-alive connection before it answered. */
  function tryOnce(
    webhook: Webhook,
    isFresh: boolean,
    milliseconds: number,
  ): Promise<TryAnswer | "again"> {
    const { owner, url, headers, body } = webhook;
    const isSecure = url.startsWith("https:");
    const agent = isFresh ? false : isSecure ? secure : plain;
    return new Promise((settle) => {
      const sent = (isSecure ? https : http).request(url, {
        method: "POST",
        headers: writtenHeaders(url, headers, body),
        agent,
        lookup: guardedLookup(names.of(owner), allowPrivate),
      });
      let status: number | undefined;
      let stopTimer = host.startTimer(milliseconds, () => cut({ failure: "timeout" }));
      const read = { bytes: 0, bytesMax: HEADS_BYTES_MAX, heads: 0 };

      /** Once there is a head, its status is the answer, whatever becomes of the body. */
      function end(answer: TryAnswer | "again"): void {
        stopTimer();
        settle(status === undefined ? answer : { status });
      }

      function cut(answer: TryAnswer): void {
        end(answer);
        sent.destroy();
      }

      sent.on("socket", (socket) => {
        readInParts(socket, (bytes) => {
          read.bytes += bytes;
          if (read.bytes > read.bytesMax) cut({ failure: "bad_answer" });
        });
      });
      sent.on("information", () => {
        if (++read.heads > EARLY_HEADS_MAX) cut({ failure: "bad_answer" });
      });
      sent.on("response", (answer) => {
        status = answer.statusCode!;
        stopTimer();
        stopTimer = host.startTimer(BODY_MS_MAX, () => cut({ failure: "timeout" }));
        read.bytesMax = read.bytes + bodyBytesMax(answer);
        answer.on("error", () => {});
        answer.on("close", () => end({ failure: "connection_failed" }));
        answer.resume();
      });
      sent.on("error", (error) => {
        end(sent.reusedSocket ? "again" : { failure: failureOf(error) });
      });
      sent.end(body);
    });
  }

  async function send(webhook: Webhook): Promise<TryAnswer> {
    const address = literalAddress(new URL(webhook.url));
    if (!allowPrivate && address !== undefined && !isPublicAddress(address)) {
      return { failure: "address_refused" };
    }
    const beganMs = host.nowMs();
    const answer = await tryOnce(webhook, false, limits.deliveryTryMsMax);
    if (answer !== "again") return answer;
    const passedMs = Math.max(0, host.nowMs() - beganMs);
    const leftMs = Math.max(0, limits.deliveryTryMsMax - passedMs);
    return await tryOnce(webhook, true, leftMs) as TryAnswer;
  }

  function close(): void {
    plain.destroy();
    secure.destroy();
  }

  return { send, close };
}

/**
 * Headers as a flat list of names and values, which the runtime sends unchanged. Given an
 * object, a tracing runtime would add a span of its own with the whole URL, which may hold a
 * secret.
 */
function writtenHeaders(url: string, headers: Webhook["headers"], body: string): string[] {
  const all = {
    host: new URL(url).host,
    ...headers,
    "content-length": String(Buffer.byteLength(body)),
  };
  return Object.entries(all).flat();
}

/** Resolves as the machine does, including its hosts file. */
async function resolveBySystem(name: string): Promise<readonly ResolvedAddress[]> {
  return await dns.lookup(name, { all: true });
}

/** Closes connections that have outlived the time for which a name's addresses are trusted. */
function agingAgent<A extends http.Agent>(agent: A, host: Pick<Host, "nowMs">): A {
  const bornMs = new WeakMap<object, number>();
  const keep = agent.keepSocketAlive.bind(agent);
  agent.keepSocketAlive = (socket) => {
    const nowMs = host.nowMs();
    const sinceMs = bornMs.get(socket) ?? nowMs;
    bornMs.set(socket, sinceMs);
    return nowMs - sinceMs < CONNECTION_AGE_MS_MAX && keep(socket);
  };
  return agent;
}

/** Bytes of an answer's body that are read, and discarded, so that the connection can be kept. */
function bodyBytesMax({ headers }: IncomingMessage): number {
  const length = headers["content-length"];
  if (length === undefined) return UNMEASURED_BODY_BYTES_MAX;
  return Number(length) > limits.deliveryAnswerBytesMax ? 0 : limits.deliveryAnswerBytesMax;
}

/**
 * Hands on what arrives in small parts, of which `onPart` is told before. Nothing more is parsed
 * once the socket is destroyed. What arrives at once may hold thousands of heads or chunks.
 */
function readInParts(socket: IncomingMessage["socket"], onPart: (bytes: number) => void): void {
  const { push } = Object.getPrototypeOf(socket) as IncomingMessage["socket"];
  socket.push = (read: Uint8Array | null, encoding) => {
    if (read === null) return push.call(socket, read, encoding);
    let isWanted = true;
    for (let at = 0; at < read.length && !socket.destroyed; at += PART_BYTES) {
      const part = read.subarray(at, at + PART_BYTES);
      onPart(part.length);
      if (!socket.destroyed) isWanted = push.call(socket, part, encoding);
    }
    return isWanted;
  };
}

function failureOf(error: Error & { readonly code?: string }): TryFailure {
  if (error instanceof AddressRefused) return "address_refused";
  if (error instanceof NameNotFound) return "name_not_found";
  if (error.code?.startsWith("HPE_")) return "bad_answer";
  return TLS_CODE.test(error.code ?? "") ? "tls_failed" : "connection_failed";
}

/**
 * Deliveries with a span for each try, in the trace of the write that caused them.
 *
 * Receivers get the span's `traceparent`. The span names the receiver's host but never its
 * path, which may hold a secret.
 */
export function traceSender(sender: WebhookSender, tracer: Tracer): WebhookSender {
  return {
    send(webhook) {
      const attributes = describeRequest(new URL(webhook.url));
      const request = { attributes, cause: webhook.cause, describe: describeAnswer };
      return tracer.outgoing("deliver", request, (traceparent) => {
        const headers = { ...webhook.headers, traceparent };
        return sender.send({ ...webhook, headers });
      });
    },
    close: () => sender.close(),
  };
}

const PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

/** Attributes of OpenTelemetry's semantic conventions for HTTP clients, version 1.23. */
function describeRequest({ protocol, hostname, port, origin }: URL): SpanAttributes {
  return {
    "http.request.method": "POST",
    "server.address": hostname,
    "server.port": port === "" ? PORTS[protocol]! : Number(port),
    "url.full": `${origin}/REDACTED`,
  };
}

function describeAnswer(answer: TryAnswer): SpanAttributes {
  if ("failure" in answer) return { "error.type": answer.failure };
  return { "http.response.status_code": answer.status };
}
