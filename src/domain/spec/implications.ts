/** Compiles the `implications` of all event types of a spec, and checks them together. */

import { isJsonObject, type JsonObject, type JsonValue } from "../json.ts";
import type { CompiledReactions } from "../reaction/action.ts";
import { compileReactions } from "../reaction/compile_reactions.ts";
import type { ImpliedTypes } from "../reaction/implied_types.ts";
import type { DeclaredTypes, NamedEvent } from "../reaction/terms.ts";
import type { ModuleCall } from "../wasm/module_call.ts";
import type { FaultList } from "./fault_list.ts";
import { warnOfImplicationCycles } from "./implication_cycles.ts";

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
  readonly watched: ReadonlySet<string>;
  /** The module calls of everything compiled so far. */
  readonly moduleCalls: readonly ModuleCall[];
  /** Call this when all implications have been compiled. */
  warnOfCycles(warnings: FaultList): void;
}

/** A compiler serves one document, whose types the implications may name. */
export function createImplicationsCompiler(
  document: JsonObject,
  singletons: ReadonlySet<string>,
): ImplicationsCompiler {
  const declared = declaredTypes(document);
  const declaredEvents = new Set([...declared.values()].flatMap((names) => [...names]));
  const watched = new Set<string>();
  const named = new Map<string, readonly NamedEvent[]>();
  const moduleCalls: ModuleCall[] = [];

  function compile(
    definition: JsonValue | undefined,
    { aggregateType, eventType, path }: ImplicationsTrigger,
    faults: FaultList,
  ): CompiledImplications | undefined {
    if (definition === undefined) return undefined;
    const terms = { triggerType: aggregateType, declared, declaredEvents, singletons };
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
export function declaredTypes(document: JsonObject): DeclaredTypes {
  const types = isJsonObject(document.aggregate_types) ? document.aggregate_types : {};
  return new Map(
    Object.entries(types).map(([name, type]) => {
      const events = isJsonObject(type) && isJsonObject(type.events) ? type.events : {};
      return [name, new Set(Object.keys(events).filter((event) => !event.startsWith("_")))];
    }),
  );
}

function refuseSystemEvent(path: string, faults: FaultList): void {
  faults.add(
    "system_event_implications",
    path,
    "Event types beginning with '_' are written by the platform and set nothing off.",
    "Remove the implications; a handler may stay.",
  );
}
