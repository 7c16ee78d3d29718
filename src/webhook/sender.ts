/**
 * Sends deliveries over HTTP and HTTPS. The only place that connects to addresses which users name:
 * nothing but the public internet unless the settings allow it, no redirects, no proxy, everything
 * bounded in time and bytes. Decisions, section 14.
 */

import dns from "node:dns/promises";
import http, { type IncomingMessage } from "node:http";
import https from "node:https";
import { Buffer } from "node:buffer";
import type { TryAnswer, TryFailure } from "../domain/listener/delivery.ts";
import type { Webhook, WebhookSender } from "../domain/listener/sender.ts";
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

export interface SenderSettings {
  readonly allowPrivate: boolean;
  /** Left out: the system's name service. */
  readonly resolve?: Resolve;
}

/** A connection serves several deliveries, but not for longer than this: names move. */
const CONNECTION_AGE_MS_MAX = 60_000;
/** Longer than any try: what is under way is not ended by it. */
const CONNECTION_IDLE_MS_MAX = 20_000;
/** Certificates that are not trusted, are old or are of another name, and talk that is not TLS. */
const TLS_CODE = /CERT|^ERR_(TLS|SSL)_|^UNABLE_TO_/;

export function webhookSender(
  host: Pick<Host, "nowMs" | "startTimer">,
  { allowPrivate, resolve = resolveBySystem }: SenderSettings,
): WebhookSender {
  const names = openNameService(resolve);
  // As many as may be under way at once: else most of them would be opened anew each time.
  const options = {
    keepAlive: true,
    maxFreeSockets: limits.deliveriesPerListenerMax,
    timeout: CONNECTION_IDLE_MS_MAX,
  };
  const plain = agingAgent(new http.Agent(options), host);
  const secure = agingAgent(new https.Agent(options), host);

  /** `again`: a connection that had been kept was ended by the other side; nobody answered. */
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
      const stopTimer = host.startTimer(milliseconds, () => {
        settle({ failure: "timeout" });
        sent.destroy();
      });
      sent.on("response", (answer) => {
        settle({ status: answer.statusCode! });
        readAway(answer, stopTimer);
      });
      sent.on("error", (error) => {
        stopTimer();
        settle(sent.reusedSocket ? "again" : { failure: failureOf(error) });
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
 * Names and values in turn: headers in this form are sent as they are. From an object the runtime,
 * where it traces, would make a span of its own, with the whole URL, which may hold a secret.
 */
function writtenHeaders(url: string, headers: Webhook["headers"], body: string): string[] {
  const all = {
    host: new URL(url).host,
    ...headers,
    "content-length": String(Buffer.byteLength(body)),
  };
  return Object.entries(all).flat();
}

/** As the machine resolves names, its hosts file included. */
async function resolveBySystem(name: string): Promise<readonly ResolvedAddress[]> {
  return await dns.lookup(name, { all: true });
}

/** Ends connections that are older than a name may be trusted. */
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

/** What the answer says beyond its head is of no use; a connection that says too much is ended. */
function readAway(answer: IncomingMessage, stopTimer: () => void): void {
  let bytes = 0;
  answer.on("data", (chunk: Uint8Array) => {
    bytes += chunk.length;
    if (bytes > limits.deliveryAnswerBytesMax) answer.destroy();
  });
  answer.on("error", () => {});
  answer.on("close", stopTimer);
}

function failureOf(error: Error & { readonly code?: string }): TryFailure {
  if (error instanceof AddressRefused) return "address_refused";
  if (error instanceof NameNotFound) return "name_not_found";
  if (error.code?.startsWith("HPE_")) return "bad_answer";
  return TLS_CODE.test(error.code ?? "") ? "tls_failed" : "connection_failed";
}
