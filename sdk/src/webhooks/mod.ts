/** What `@daybook/client/webhooks` exports: verifying deliveries of listeners. */

export type {
  DeliveredEvent,
  DeliveryEnvelope,
  EventMetadata,
  EventTypes,
  WebhookDelivery,
} from "./delivery.ts";
export { verifyWebhook } from "./verify_webhook.ts";
export type {
  RawBody,
  RequestHeaders,
  WebhookOptions,
  WebhookRefusal,
  WebhookVerdict,
} from "./verify_webhook.ts";
