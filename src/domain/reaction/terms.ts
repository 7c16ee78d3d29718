/**
 * The context in which implications are compiled, and what the compiler learns from them.
 *
 * It collects the events that implications name: for the check for cycles, and for the event
 * types that a scheduled event waits for.
 */

import type { ModuleCall } from "../wasm/module_call.ts";
import { addFault, type Site } from "../handler/evaluation.ts";
import { excerpt } from "../handler/path.ts";
import { isTypeName, TYPE_NAME_HINT } from "../type_name.ts";
import { didYouMean } from "../nearest_name.ts";
import type { Texts, TextSet } from "../lookup/text_map.ts";

/** Writable event types by aggregate type, as the spec declares them. */
export type DeclaredTypes = ReadonlyMap<string, ReadonlySet<string>>;

/** An event that an entry writes, if both of its types are known at deploy. */
export interface NamedEvent {
  /** Dotted location of the entry. */
  readonly path: string;
  readonly aggregateType: string;
  readonly eventType: string;
  /** True if it is written only after a delay. */
  readonly scheduled: boolean;
}

export interface Terms {
  /** The aggregate type whose events trigger the entries. */
  readonly triggerType: string;
  readonly declared: DeclaredTypes;
  /** All event types of all aggregate types. */
  readonly declaredEvents: ReadonlySet<string>;
  readonly singletons: Texts;
  /** Filled while compiling. */
  readonly named: NamedEvent[];
  /**
   * Whether an entry may write, without a delay, events whose types are known only from the
   * trigger.
   */
  isOpen: boolean;
  /** `<aggregate_type>.<event_type>` of each `cancel_on`; filled while compiling. */
  readonly watched: TextSet;
  /** The module calls; filled while compiling. */
  readonly moduleCalls: ModuleCall[];
}

/** Reports an aggregate type that the spec does not declare; true if it is declared. */
export function checkAggregateType(name: string, site: Site, terms: Terms): boolean {
  if (terms.declared.has(name)) return true;
  addFault(
    site,
    "unknown_aggregate_type",
    `"${excerpt(name)}" is not an aggregate type of this spec`,
    didYouMean(name, terms.declared.keys(), "Name a declared aggregate type"),
  );
  return false;
}

/**
 * Reports an event type that could not be written: a reserved one, or one that `aggregateType`
 * does not declare. If `aggregateType` is unknown, any aggregate type may declare it.
 */
export function checkEventType(
  name: string,
  aggregateType: string | undefined,
  site: Site,
  terms: Terms,
): void {
  if (name.startsWith("_")) {
    addFault(
      site,
      "event_type_reserved",
      `"${excerpt(name)}" is reserved: event types beginning with '_' are written by the platform`,
      "Name an event type that this spec declares for writing",
    );
    return;
  }
  const declared = aggregateType === undefined
    ? terms.declaredEvents
    : terms.declared.get(aggregateType);
  if (declared === undefined || declared.has(name)) return;
  const owner = aggregateType === undefined ? "any aggregate type" : `"${aggregateType}"`;
  addFault(
    site,
    "unknown_event_type",
    `"${excerpt(name)}" is not an event type of ${owner}`,
    didYouMean(name, declared, isTypeName(name) ? "Name a declared event type" : TYPE_NAME_HINT),
  );
}
