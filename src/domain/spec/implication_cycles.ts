/**
 * Warns of implications that may form an endless cycle.
 *
 * Only types written in the spec itself are followed; a path could lead anywhere. See
 * docs/reference/reactions.md.
 */

import type { NamedEvent } from "../reaction/terms.ts";
import type { FaultList } from "./fault_list.ts";

/** Maximum number of events of a cycle that a warning names. */
const SHOWN_MAX = 12;

interface Edge {
  readonly to: string;
  /** Dotted location of the entry. */
  readonly path: string;
  readonly scheduled: boolean;
}

/** An event type on the current path of the search. */
interface Stop {
  readonly name: string;
  /** The edge it was reached by; undefined for the first. */
  readonly via: Edge | undefined;
  readonly edges: readonly Edge[];
  next: number;
}

/**
 * Searches depth first from each event type to those it implies, and warns of each edge back to
 * a type on the current path. This gives at least one warning for every group of types that
 * imply each other. `named` holds the events each type implies, by
 * `<aggregate_type>.<event_type>`. Linear in the number of implications.
 */
export function warnOfImplicationCycles(
  named: ReadonlyMap<string, readonly NamedEvent[]>,
  warnings: FaultList,
): void {
  const finished = new Set<string>();
  const way: Stop[] = [];
  /** The index of each stop on the current path. */
  const depths = new Map<string, number>();
  function enter(name: string, via: Edge | undefined): void {
    if (finished.has(name)) return;
    depths.set(name, way.length);
    way.push({ name, via, edges: edgesFrom(named.get(name) ?? []), next: 0 });
  }
  for (const start of named.keys()) {
    enter(start, undefined);
    for (let stop = way.at(-1); stop !== undefined; stop = way.at(-1)) {
      if (warnings.isFull()) return;
      const edge = stop.edges[stop.next++];
      if (edge === undefined) {
        finished.add(stop.name);
        depths.delete(stop.name);
        way.pop();
      } else if (depths.has(edge.to)) warn(way.slice(depths.get(edge.to)), edge, warnings);
      else enter(edge.to, edge);
    }
  }
}

/** One edge to each event type; it counts as immediate if any of its entries has no delay. */
function edgesFrom(named: readonly NamedEvent[]): Edge[] {
  const edges = new Map<string, Edge>();
  for (const { path, aggregateType, eventType, scheduled } of named) {
    const to = `${aggregateType}.${eventType}`;
    if (edges.get(to)?.scheduled ?? true) edges.set(to, { to, path, scheduled });
  }
  return [...edges.values()];
}

function warn(cycle: readonly Stop[], last: Edge, warnings: FaultList): void {
  const names = cycle.map(({ name }) => name);
  const shown = names.length > SHOWN_MAX ? [...names.slice(0, SHOWN_MAX), "..."] : names;
  const first = cycle[1]?.via ?? last;
  const waits = last.scheduled || cycle.slice(1).some(({ via }) => via!.scheduled);
  warnings.add(
    "implication_cycle",
    first.path,
    `The implications go round: ${[...shown, names[0]].join(" -> ")}.`,
    waits
      ? "Let a condition or a cancel_on end it; else it goes on for ever, one delay after another."
      : "Let a condition end it; else it ends after eight rounds of events, with an error record.",
  );
}
