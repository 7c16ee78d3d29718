/**
 * Limits concurrent delivery tries of one listener and of one instance.
 *
 * So slow or silent endpoints leave other listeners and instances what they need.
 */

import { limits } from "../limits.ts";

/** A listener may take at most the free slots divided by this, so it cannot use them up alone. */
const SHARE_OF_FREE = 8;

/** Whether a listener may begin one more try. `own` of the `all` tries under way are its own. */
export function allowsAnother(own: number, all: number): boolean {
  const free = limits.deliveriesUnderWayMax - all;
  return own < Math.min(limits.deliveriesPerListenerMax, Math.ceil(free / SHARE_OF_FREE));
}

/**
 * The same for all listeners of one instance together. An instance may have as many tries as
 * are free, minus those kept for instances that have none. An instance alone therefore gets
 * three eighths of all.
 */
export function allowsInstance(own: number, all: number): boolean {
  const free = limits.deliveriesUnderWayMax - all;
  return own === 0 ? free > 0 : own < free - limits.deliveriesKeptForOthers;
}
