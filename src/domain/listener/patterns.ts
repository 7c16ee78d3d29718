/**
 * Which events a listener hears: `order.was_placed`, `order.*` (all events of a type, those of the
 * system too) or `*` (all). Decisions, section 14.
 */

import type { Listener } from "./definition.ts";

const NOBODY: readonly string[] = [];

/** The names of the enabled listeners that hear an event, in the order of the spec. */
export type ListenerIndex = (aggregateType: string, eventType: string) => readonly string[];

/** Made once for a spec, so that a write pays one look-up for each event. */
export function indexListeners(listeners: Iterable<Listener>): ListenerIndex {
  const enabled = [...listeners].filter((listener) => listener.enabled);
  if (enabled.length === 0) return () => NOBODY;
  const known = new Map<string, readonly string[]>();
  return function listenersOf(aggregateType, eventType) {
    const event = `${aggregateType}.${eventType}`;
    let names = known.get(event);
    if (names === undefined) {
      names = enabled.filter(({ events }) => isHeard(events, aggregateType, event))
        .map(({ name }) => name);
      // Types come from the spec, so they are few.
      known.set(event, names);
    }
    return names;
  };
}

function isHeard(patterns: readonly string[], aggregateType: string, event: string): boolean {
  return patterns.some((pattern) =>
    pattern === "*" || pattern === event || pattern === `${aggregateType}.*`
  );
}
