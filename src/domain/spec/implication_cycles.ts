/**
 * Warns of implications that may go round for ever. Decisions, section 11: "cycles get a warning".
 * Only types that stand in the spec itself are looked at; a path may lead anywhere.
 */

import type { NamedEvent } from "../reaction/terms.ts";
import type { FaultList } from "./fault_list.ts";

/** Events of a cycle that a warning names. */
const SHOWN_MAX = 12;

interface Edge {
  readonly to: string;
  /** Dotted location of the entry. */
  readonly path: string;
  readonly scheduled: boolean;
}

/** An event type on the way from where the search began. */
interface Stop {
  readonly name: string;
  /** How it was reached; undefined for the first. */
  readonly via: Edge | undefined;
  readonly edges: readonly Edge[];
  next: number;
}

/**
 * Goes from each event type to those it implies, in depth first, and warns of each step back to a
 * type on the way: at least one for every group of types that imply each other. `named` has what
 * each type implies, by `<aggregate_type>.<event_type>`. Linear in the number of implications.
 */
export function warnOfImplicationCycles(
  named: ReadonlyMap<string, readonly NamedEvent[]>,
  warnings: FaultList,
): void {
  const finished = new Set<string>();
  const way: Stop[] = [];
  /** Where on the way each of its stops is. */
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

/** One edge to each event type: at once where one of its entries does not wait. */
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
