/**
 * Which URLs a listener may have. Whether the address behind one is public is checked
 * elsewhere.
 */

import { limits } from "../limits.ts";

/** Absolute, `http:` or `https:`, without user and fragment, in the URL standard's spelling. */
export function isWebhookUrl(text: string): boolean {
  if (text.length > limits.listenerUrlCharactersMax || !URL.canParse(text)) return false;
  const url = new URL(text);
  const isHttp = url.protocol === "https:" || url.protocol === "http:";
  return isHttp && url.href === text && url.username + url.password + url.hash === "";
}
