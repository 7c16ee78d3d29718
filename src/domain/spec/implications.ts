/** Compiles the `implications` of all event types of a spec, and checks them together. */

import { type Steps } from "../fairness/pieces.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import type { CompiledReactions } from "../reaction/action.ts";
import { compileReactions } from "../reaction/compile_reactions.ts";
import type { ImpliedTypes } from "../reaction/implied_types.ts";
import type { NamedEvent, Terms } from "../reaction/terms.ts";
import type { ModuleCall } from "../wasm/module_call.ts";
import type { FaultList } from "./fault_list.ts";
import { TextMap, type Texts, TextSet } from "../lookup/text_map.ts";

/** The event type whose definition contains the implications. */
export interface ImplicationsTrigger {
  readonly aggregateType: string;
  readonly eventType: string;
  /** Dotted location of the definition. */
  readonly path: string;
}

/** What an event type sets off, and which types it may imply. */
export interface CompiledImplications {
  readonly reactions: CompiledReactions;
  readonly mayImply: ImpliedTypes;
}

export interface ImplicationsCompiler {
  /** Undefined if there are no implications or a fault was reported. */
  compile(
    definition: JsonValue | undefined,
    trigger: ImplicationsTrigger,
    faults: FaultList,
  ): CompiledImplications | undefined;
  /** `<aggregate_type>.<event_type>` of each `cancel_on` compiled so far. */
  readonly watched: Texts;
  /** The module calls of everything compiled so far. */
  readonly moduleCalls: readonly ModuleCall[];
  /** Call this when all implications have been compiled. */
  warnOfCycles(warnings: FaultList): Steps<void>;
}

/** The names that implications and sagas may use. */
export type Vocabulary = Pick<Terms, "declared" | "declaredEvents" | "singletons">;

/** A compiler serves one document, whose types the implications may name. */
export function createImplicationsCompiler(vocabulary: Vocabulary): ImplicationsCompiler {
  const watched = new TextSet();
  const named = new TextMap<readonly NamedEvent[]>();
  const moduleCalls: ModuleCall[] = [];

  function compile(
    definition: JsonValue | undefined,
    { aggregateType, eventType, path }: ImplicationsTrigger,
    faults: FaultList,
  ): CompiledImplications | undefined {
    if (definition === undefined) return undefined;
    const terms = { triggerType: aggregateType, ...vocabulary };
    const place = `${path}.implications`;
    const compiled = compileReactions(definition, place, terms);
    if (!compiled.ok) {
      faults.addAll(compiled.violations);
      return undefined;
    }
    if (Array.isArray(definition) && definition.length === 0) return undefined;
    if (eventType.startsWith("_")) {
      refuseSystemEvent(place, faults);
      return undefined;
    }
    for (const each of compiled.watched) watched.add(each);
    moduleCalls.push(...compiled.moduleCalls);
    named.set(`${aggregateType}.${eventType}`, compiled.named);
    const { reactions, mayImply } = compiled;
    return { reactions, mayImply };
  }

  return {
    compile,
    watched,
    moduleCalls,
    warnOfCycles: (warnings) => warnOfImplicationCycles(named, warnings),
  };
}

/** The writable event types, as far as the document has the right form. */
export function* declaredTypesSteps(
  document: JsonObject,
): Steps<Pick<Vocabulary, "declared" | "declaredEvents">> {
  const declared = new Map<string, ReadonlySet<string>>();
  const declaredEvents = new Set<string>();
  const types = isJsonObject(document.aggregate_types) ? document.aggregate_types : {};
  for (const name of Object.keys(types)) {
    const type = types[name]!;
    const names = new Set<string>();
    declared.set(name, names);
    yield;
    for (const event of Object.keys(eventsOf(type))) {
      yield;
      if (event.startsWith("_")) continue;
      names.add(event);
      declaredEvents.add(event);
    }
  }
  return { declared, declaredEvents };
}

function eventsOf(type: JsonValue): JsonObject {
  return isJsonObject(type) && isJsonObject(type.events) ? type.events : {};
}

function refuseSystemEvent(path: string, faults: FaultList): void {
  faults.add(
    "system_event_implications",
    path,
    "Event types beginning with '_' are written by the platform and set nothing off.",
    "Remove the implications; a handler may stay.",
  );
}

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
 * Warns of implications that may form an endless cycle. Only types written in the spec itself
 * are followed; a path could lead anywhere.
 *
 * Searches depth first from each event type to those it implies, and warns of each edge back to
 * a type on the current path. This gives at least one warning for every group of types that
 * imply each other. `named` holds the events each type implies, by
 * `<aggregate_type>.<event_type>`. Linear in the number of implications.
 */
export function* warnOfImplicationCycles(
  named: ReadonlyMap<string, readonly NamedEvent[]>,
  warnings: FaultList,
): Steps<void> {
  const finished = new TextSet();
  const way: Stop[] = [];
  /** The index of each stop on the current path. */
  const depths = new TextMap<number>();
  function enter(name: string, via: Edge | undefined): void {
    if (finished.has(name)) return;
    depths.set(name, way.length);
    way.push({ name, via, edges: edgesFrom(named.get(name) ?? []), next: 0 });
  }
  for (const start of named.keys()) {
    enter(start, undefined);
    for (let stop = way.at(-1); stop !== undefined; stop = way.at(-1)) {
      if (warnings.isFull()) return;
      yield;
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
  const edges = new TextMap<Edge>();
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
