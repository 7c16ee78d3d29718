/**
 * How many tries of one listener, and of one instance, may be under way, so that those that answer
 * slowly, or not at all, leave the others what they need.
 */

import { limits } from "../limits.ts";

/** A listener may take up to this part of what is free. So some of it always stays free. */
const SHARE_OF_FREE = 8;

/** Whether one more may begin, where `own` of `all` that are under way are the listener's. */
export function allowsAnother(own: number, all: number): boolean {
  const free = limits.deliveriesUnderWayMax - all;
  return own < Math.min(limits.deliveriesPerListenerMax, Math.ceil(free / SHARE_OF_FREE));
}

/**
 * The same for all listeners of an instance together: it may have as many as are free, without
 * those that are kept for instances that have none. So one alone takes three eighths of all.
 */
export function allowsInstance(own: number, all: number): boolean {
  const free = limits.deliveriesUnderWayMax - all;
  return own === 0 ? free > 0 : own < free - limits.deliveriesKeptForOthers;
}
