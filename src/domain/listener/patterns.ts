/**
 * Which events a listener receives, by its patterns.
 *
 * A pattern is `order.was_placed`, `order.*` (all events of a type, system events included) or
 * `*` (all events). See docs/reference/listeners.md.
 */

import type { Listener } from "./definition.ts";
import { TextMap } from "../lookup/text_map.ts";

const NOBODY: readonly string[] = [];

/** The names of the enabled listeners of an event, in the order of the spec. */
export type ListenerIndex = (aggregateType: string, eventType: string) => readonly string[];

/** Built once for each spec, so that a write pays one look-up for each event. */
export function indexListeners(listeners: Iterable<Listener>): ListenerIndex {
  const enabled = [...listeners].filter((listener) => listener.enabled);
  if (enabled.length === 0) return () => NOBODY;
  const known = new TextMap<readonly string[]>();
  return function listenersOf(aggregateType, eventType) {
    const event = `${aggregateType}.${eventType}`;
    let names = known.get(event);
    if (names === undefined) {
      names = enabled.filter(({ events }) => isHeard(events, aggregateType, event))
        .map(({ name }) => name);
      // Types come from the spec, so there are few.
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
