/**
 * Which events a reader of the feed wants: `order,order.was_placed,product.*`. See
 * docs/reference/feed.md.
 */

import { limits } from "../limits.ts";
import { accept, type Outcome, refuse } from "../refusal.ts";
import type { CompiledSpec } from "../spec/compiled.ts";

/** By aggregate type: its event types; undefined for all of them. */
export type FeedFilter = ReadonlyMap<string, ReadonlySet<string> | undefined>;

/** Refuses names that the spec does not have. */
export function parseFeedTypes(text: string, spec: CompiledSpec): Outcome<FeedFilter> {
  const names = text.split(",", limits.feedTypesMax + 1);
  if (names.length > limits.feedTypesMax) {
    return refuseTypes(`types has more than ${limits.feedTypesMax} names`);
  }
  const filter = new Map<string, Set<string> | undefined>();
  for (const name of names) {
    const dot = name.indexOf(".");
    const aggregate = dot === -1 ? name : name.slice(0, dot);
    const event = dot === -1 ? "*" : name.slice(dot + 1);
    const type = spec.aggregateTypes.get(aggregate);
    if (type === undefined) return refuseTypes(`types: there is no aggregate type '${aggregate}'`);
    if (event === "*") {
      filter.set(aggregate, undefined);
      continue;
    }
    if (!type.events.has(event)) {
      return refuseTypes(`types: '${aggregate}' has no event type '${event}'`);
    }
    if (!filter.has(aggregate)) filter.set(aggregate, new Set());
    filter.get(aggregate)?.add(event);
  }
  return accept(filter);
}

function refuseTypes(message: string) {
  return refuse({ kind: "bad_request", message, path: "types" });
}
