/**
 * Deliveries with a span for each try, in the trace of the write that caused them.
 *
 * Receivers get the span's `traceparent`. The span names the receiver's host but never its
 * path, which may hold a secret.
 */

import type { TryAnswer } from "../domain/listener/delivery.ts";
import type { WebhookSender } from "../domain/listener/sender.ts";
import type { SpanAttributes, Tracer } from "../domain/measures/tracer.ts";

export function traceSender(sender: WebhookSender, tracer: Tracer): WebhookSender {
  return {
    send(webhook) {
      const attributes = describeRequest(new URL(webhook.url));
      return tracer.outgoing("deliver", attributes, webhook.cause, (traceparent) => {
        const headers = { ...webhook.headers, traceparent };
        return sender.send({ ...webhook, headers });
      }, describeAnswer);
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
