/**
 * Deliveries with a span for each try, in the trace of the write that they tell of. Receivers get
 * its `traceparent`. The span names the receiver's host, never the whole URL: it may hold a secret.
 */

import type { TryAnswer } from "../domain/listener/delivery.ts";
import type { WebhookSender } from "../domain/listener/sender.ts";
import type { SpanAttributes, Tracer } from "../domain/tracer.ts";

export function traceSender(sender: WebhookSender, tracer: Tracer): WebhookSender {
  return {
    send(webhook) {
      const attributes = { "server.address": new URL(webhook.url).hostname };
      return tracer.outgoing("deliver", attributes, webhook.cause, (traceparent) => {
        const headers = { ...webhook.headers, traceparent };
        return sender.send({ ...webhook, headers });
      }, describeAnswer);
    },
    close: () => sender.close(),
  };
}

function describeAnswer(answer: TryAnswer): SpanAttributes {
  if ("failure" in answer) return { "error.type": answer.failure };
  return { "http.response.status_code": answer.status };
}
