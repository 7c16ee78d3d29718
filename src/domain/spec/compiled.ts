/** The types of a checked spec, in the form that writes and reads use. */

import { nameHint } from "../nearest_name.ts";
import type { Budget } from "../budget.ts";
import type { Steps } from "../fairness/pieces.ts";
import type { GeoReader } from "../geo/attachment.ts";
import type { JsonObject } from "../json.ts";
import { type DataFault, type FaultPlace, refuse } from "../refusal.ts";
import type { Guard } from "../handler/guard.ts";
import type { Handler } from "../handler/handler.ts";
import type { Listener } from "../listener/definition.ts";
import type { ListenerIndex } from "../listener/patterns.ts";
import type { CompiledSaga } from "../saga/definition.ts";
import type { CompiledReactions } from "../reaction/action.ts";
import type { ImpliedTypes } from "../reaction/implied_types.ts";
import type { ResolvedBlob } from "../wasm/blob.ts";
import type { ModuleCall } from "../wasm/module_call.ts";
import type { Texts } from "../lookup/text_map.ts";

export interface CompiledSpec {
  /**
   * SHA-256 (hex) of the document as canonical JSON (sorted keys), including annotations; empty
   * for an environment before its first deploy.
   */
  readonly hash: string;
  readonly document: JsonObject;
  readonly aggregateTypes: ReadonlyMap<string, CompiledAggregateType>;
  readonly agentTypes: Texts;
  readonly targetTypes: Texts;
  /** The declared singletons and `global`. */
  readonly singletons: Texts;
  /** `<aggregate_type>.<event_type>` of each event that a `cancel_on` of this spec names. */
  readonly watched: Texts;
  /** `modules.sagas` by name. */
  readonly sagas: ReadonlyMap<string, CompiledSaga>;
  /** `modules.listeners` by name. */
  readonly listeners: ReadonlyMap<string, Listener>;
  /** Finds the listeners whose patterns match an event. */
  readonly listenersOf: ListenerIndex;
  /** Whether any event may set something off: an implied event, a saga or a delivery. */
  readonly setsOff: boolean;
  /** All calls of WebAssembly modules in the spec. */
  readonly moduleCalls: readonly ModuleCall[];
  /**
   * The versions these resolve to, by the text of the reference. Empty until bound
   * (`bind_blobs.ts`).
   */
  readonly blobs: ReadonlyMap<string, ResolvedBlob>;
}

export interface CompiledAggregateType {
  readonly name: string;
  readonly events: ReadonlyMap<string, CompiledEventType>;
  /** By event type, including system events that have a handler. */
  readonly handlers: ReadonlyMap<string, Handler>;
  /** The definitions that `handlers` were compiled from, as the spec has them. */
  readonly handlerDefinitions: JsonObject;
  /** Module calls that fold events, by event type; these event types are not in `handlers`. */
  readonly wasmHandlers: ReadonlyMap<string, ModuleCall>;
  /** The blobs of the spec, if this type has `wasmHandlers`. */
  readonly blobs: ReadonlyMap<string, ResolvedBlob>;
  /** By event type, the guards of those that have any; absent if none has. */
  readonly guarded?: ReadonlyMap<string, readonly Guard[]>;
  /** False for types in `modules.never_cache`. */
  readonly cached: boolean;
  /** SHA-256 (hex) of the handler definitions by event type, as the spec has them. */
  readonly definitionHash: string;
  /**
   * SHA-256 (hex) of everything that determines how this type folds: the handler definitions
   * and the modules that they resolve to.
   */
  readonly foldHash: string;
}

export interface CompiledEventType {
  readonly name: string;
  /**
   * The faults of `data`, at most `limits.schemaDetailsMax`; empty if it is valid. The events
   * of one write share `work`.
   */
  readonly validateData: (data: JsonObject, work?: Budget) => readonly DataFault[];
  /**
   * Compiles the validator in time slices. If it is not called, the first event does so at
   * once.
   */
  readonly prepare: () => Steps<void>;
  readonly allowSkipOcc: boolean;
  readonly hasImplications: boolean;
  /** What an event of this type sets off; absent if it declares no implications. */
  readonly reactions?: CompiledReactions;
  /** The events it may imply; absent if there are none. */
  readonly mayImply?: ImpliedTypes;
  /** Finds the point in valid data; absent if the type declares none. */
  readonly locate?: GeoReader;
}

/** Refuses an aggregate type that `spec` lacks; says so if no spec has been deployed at all. */
export function refuseAggregateType(
  spec: CompiledSpec,
  aggregateType: string,
  place: FaultPlace = {},
) {
  const refusal = { kind: "aggregate_type_unknown", aggregateType, ...place } as const;
  if (spec.hash === "") return refuse({ ...refusal, beforeFirstSpec: true });
  const hint = nameHint(aggregateType, spec.aggregateTypes.keys());
  return refuse(hint === undefined ? refusal : { ...refusal, hint });
}

/** Kept with the types: there may be thousands, and each page would sort them again. */
const sortedNames = new WeakMap<CompiledSpec["aggregateTypes"], readonly string[]>();

/** The names of aggregate types in order: at most `count`, from the first one behind `start`. */
export function typesBehind(
  types: CompiledSpec["aggregateTypes"],
  start: string | undefined,
  count: number,
): readonly string[] {
  let names = sortedNames.get(types);
  if (names === undefined) sortedNames.set(types, names = [...types.keys()].sort());
  let [low, high] = [0, start === undefined ? 0 : names.length];
  // Bounded: each step halves what is left.
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (names[middle]! <= start!) low = middle + 1;
    else high = middle;
  }
  return names.slice(low, low + count);
}
