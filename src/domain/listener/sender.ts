/**
 * The port through which deliveries use the network, one try at a time.
 *
 * `webhook/sender.ts` implements it.
 */

import type { TryAnswer } from "./delivery.ts";

export interface Webhook {
  /** The instance that sends it. */
  readonly owner: string;
  /** Absolute, `http:` or `https:`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** `traceparent` of the write that this event comes from, if that was traced. */
  readonly cause?: string;
}

export interface WebhookSender {
  /** Makes one try. Whatever goes wrong outside is returned as an answer, never thrown. */
  send(webhook: Webhook): Promise<TryAnswer>;
  /** Closes all connections. Tries under way fail. */
  close(): void;
}

/** How a process delivers. */
export interface WebhookSettings {
  readonly sender: WebhookSender;
  /** Replaces `SVC` in header names. */
  readonly headerPrefix: string;
  /** Whether specs may name listeners at addresses that are not public. */
  readonly allowPrivate: boolean;
}
