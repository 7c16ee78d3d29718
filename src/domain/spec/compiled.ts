/** A spec that has been checked: what writes and reads ask, ready to be asked. */

import { nameHint } from "../nearest_name.ts";
import type { Budget } from "../budget.ts";
import type { Steps } from "../pieces.ts";
import type { GeoReader } from "../geo/attachment.ts";
import type { JsonObject } from "../json.ts";
import { type DataFault, type FaultPlace, refuse } from "../refusal.ts";
import type { Handler } from "../handler/handler.ts";
import type { Listener } from "../listener/definition.ts";
import type { ListenerIndex } from "../listener/patterns.ts";
import type { CompiledSaga } from "../saga/definition.ts";
import type { CompiledReactions } from "../reaction/action.ts";
import type { ImpliedTypes } from "../reaction/implied_types.ts";
import type { ResolvedBlob } from "../wasm/blob.ts";
import type { ModuleCall } from "../wasm/module_call.ts";

export interface CompiledSpec {
  /**
   * SHA-256 (hex) of the document as canonical JSON (keys sorted), annotations included; empty for
   * an environment before its first deploy.
   */
  readonly hash: string;
  readonly document: JsonObject;
  readonly aggregateTypes: ReadonlyMap<string, CompiledAggregateType>;
  readonly agentTypes: ReadonlySet<string>;
  readonly targetTypes: ReadonlySet<string>;
  /** Declared singletons and `global`. */
  readonly singletons: ReadonlySet<string>;
  /** `<aggregate_type>.<event_type>` of each event that a `cancel_on` of this spec names. */
  readonly watched: ReadonlySet<string>;
  /** `modules.sagas` by name. */
  readonly sagas: ReadonlyMap<string, CompiledSaga>;
  /** `modules.listeners` by name. */
  readonly listeners: ReadonlyMap<string, Listener>;
  /** Which of them hear an event. */
  readonly listenersOf: ListenerIndex;
  /** All calls of WebAssembly modules in it. */
  readonly moduleCalls: readonly ModuleCall[];
  /** What they resolve to, by the text of the reference. Empty until bound (`bind_blobs.ts`). */
  readonly blobs: ReadonlyMap<string, ResolvedBlob>;
}

export interface CompiledAggregateType {
  readonly name: string;
  readonly events: ReadonlyMap<string, CompiledEventType>;
  /** By event type; system events with a handler are in, events without one are not. */
  readonly handlers: ReadonlyMap<string, Handler>;
  /** What `handlers` were compiled from, as the spec has it. */
  readonly handlerDefinitions: JsonObject;
  /** Events that a WebAssembly module folds, by event type; these are not in `handlers`. */
  readonly wasmHandlers: ReadonlyMap<string, ModuleCall>;
  /** Those of the spec, where this type has `wasmHandlers`. */
  readonly blobs: ReadonlyMap<string, ResolvedBlob>;
  /** False for types in `modules.never_cache`. */
  readonly cached: boolean;
  /** SHA-256 (hex) of its handlers by event type, as the spec has them. */
  readonly definitionHash: string;
  /**
   * SHA-256 (hex) of all that decides how this type folds: the same, with the modules that its
   * handlers resolve to.
   */
  readonly foldHash: string;
}

export interface CompiledEventType {
  readonly name: string;
  /**
   * The faults of `data`, at most `limits.schemaDetailsMax`; empty when it is valid. `work` is
   * shared by the events of one write.
   */
  readonly validateData: (data: JsonObject, work?: Budget) => readonly DataFault[];
  /** Makes `validateData` ready. Left out, the first event does it, in one piece. */
  readonly prepare: () => Steps<void>;
  readonly allowSkipOcc: boolean;
  readonly hasImplications: boolean;
  /** What an event of this type sets off; absent where it declares no implications. */
  readonly reactions?: CompiledReactions;
  /** Which events it may imply; absent where that is none. */
  readonly mayImply?: ImpliedTypes;
  /** Finds its point in valid data; absent where it declares none. */
  readonly locate?: GeoReader;
}

/** Refuses an aggregate type that `spec` does not have, and tells whether there is one at all. */
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
