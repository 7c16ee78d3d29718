/** Which events an event type may imply: what a deploy has taken out is not written. */

import type { Emission } from "./action.ts";
import type { Terms } from "./terms.ts";

/** Whether an event like this one may be written at once because of an event of that type. */
export type ImpliedTypes = (emission: Pick<Emission, "aggregateType" | "eventType">) => boolean;

/** As its implications say. Where an event or a module tells the types, it may be any. */
export function impliedTypes({ named, isOpen, moduleCalls }: Terms): ImpliedTypes {
  if (isOpen || moduleCalls.length > 0) return () => true;
  const names = new Set<string>();
  // Bounded: the implications of one type in a spec.
  for (const { aggregateType, eventType, scheduled } of named) {
    if (!scheduled) names.add(`${aggregateType}.${eventType}`);
  }
  return ({ aggregateType, eventType }) => names.has(`${aggregateType}.${eventType}`);
}
