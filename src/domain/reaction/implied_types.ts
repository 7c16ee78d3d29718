/**
 * Tells which events an event type may imply.
 *
 * Pending events that the spec no longer implies after a deploy are dropped instead of written.
 */

import type { Emission } from "./action.ts";
import type { Terms } from "./terms.ts";

/** Whether an event of the type may imply an event like this one, without a delay. */
export type ImpliedTypes = (emission: Pick<Emission, "aggregateType" | "eventType">) => boolean;

/**
 * Derived from the implications. If an event or a module determines a type, any event is
 * possible.
 */
export function impliedTypes({ named, isOpen, moduleCalls }: Terms): ImpliedTypes {
  if (isOpen || moduleCalls.length > 0) return () => true;
  const names = new Set<string>();
  // Bounded: the implications of one type in a spec.
  for (const { aggregateType, eventType, scheduled } of named) {
    if (!scheduled) names.add(`${aggregateType}.${eventType}`);
  }
  return ({ aggregateType, eventType }) => names.has(`${aggregateType}.${eventType}`);
}
