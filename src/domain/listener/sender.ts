/** What deliveries need of the network: one try at a time. The real one is `webhook/sender.ts`. */

import type { TryAnswer } from "./delivery.ts";

export interface Webhook {
  /** The instance that sends it. */
  readonly owner: string;
  /** Absolute, of `http:` or `https:`. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** `traceparent` of the write that this tells of, where that was traced. */
  readonly cause?: string;
}

export interface WebhookSender {
  /** One try. Whatever goes wrong out there is an answer. */
  send(webhook: Webhook): Promise<TryAnswer>;
  /** Ends all connections; tries under way fail. */
  close(): void;
}

/** How a process delivers. */
export interface WebhookSettings {
  readonly sender: WebhookSender;
  /** What stands for `SVC` in header names. */
  readonly headerPrefix: string;
  /** Whether specs may name listeners at addresses that are not public. */
  readonly allowPrivate: boolean;
}
