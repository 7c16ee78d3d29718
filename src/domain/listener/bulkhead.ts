/**
 * How many tries of one listener may be under way, so that one that answers slowly, or not at all,
 * leaves the others what they need. Decisions, section 14.
 */

import { limits } from "../limits.ts";

/** A listener may take up to this part of what is free. So some of it always stays free. */
const SHARE_OF_FREE = 8;

/** Whether one more may begin, where `own` of `all` that are under way are the listener's. */
export function allowsAnother(own: number, all: number): boolean {
  const free = limits.deliveriesUnderWayMax - all;
  return own < Math.min(limits.deliveriesPerListenerMax, Math.ceil(free / SHARE_OF_FREE));
}
