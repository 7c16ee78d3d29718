/** A listener as a spec declares it under `modules.listeners`. See docs/reference/listeners.md. */

import { limits } from "../limits.ts";

export interface Listener {
  readonly name: string;
  /** Absolute, `http:` or `https:`, without user and fragment, in the URL standard's spelling. */
  readonly url: string;
  /** Must never be logged, shown or put into an error. */
  readonly secret: string;
  /** Event patterns, as declared. */
  readonly events: readonly string[];
  readonly enabled: boolean;
  /** What a delivery is: our own payload, or a CloudEvent. */
  readonly format: ListenerFormat;
}

export type ListenerFormat = "daybook" | "cloudevents";

/** Absolute, `http:` or `https:`, without user and fragment, in the URL standard's spelling. */
export function isWebhookUrl(text: string): boolean {
  if (text.length > limits.listenerUrlCharactersMax || !URL.canParse(text)) return false;
  const url = new URL(text);
  const isHttp = url.protocol === "https:" || url.protocol === "http:";
  return isHttp && url.href === text && url.username + url.password + url.hash === "";
}
