/**
 * A saga as declared under `modules.sagas`, checked and ready to be stepped. Decisions, section 13.
 *
 * Every function here is pure and total: what cannot be computed comes back as a reason.
 *
 * Bounded: `limits.sagaStepsMax` steps of one saga and the types that each awaits.
 */

import type { StoredEvent } from "../event.ts";
import type { JsonObject } from "../json.ts";
import type { Emission } from "../reaction/action.ts";
import type { StreamKey } from "../stream_key.ts";

/**
 * All that a definition compiles from, small enough to be kept beside the sagas that run under it:
 * a later deploy does not change them.
 */
export interface KeptSagaDefinition {
  readonly name: string;
  readonly saga: JsonObject;
  /** Those the spec had, sorted: they decide what is an identifier. */
  readonly singletons: readonly string[];
}

export interface CompiledSaga {
  readonly name: string;
  readonly trigger: SagaTrigger;
  readonly steps: readonly CompiledSagaStep[];
  readonly kept: KeptSagaDefinition;
  /** SHA-256 (hex) of `kept` as canonical JSON. */
  readonly hash: string;
}

export interface SagaTrigger {
  readonly aggregateType: string;
  readonly eventType: string;
  /** Whether an event of that type starts a saga. */
  readonly holds: (event: StoredEvent) => boolean;
}

/** What the templates of a step see beside the trigger. */
export interface SagaSight {
  /** `$`: the event that started the saga. */
  readonly trigger: StoredEvent;
  /** `$prev`: the event that ended the step before; undefined where there is none. */
  readonly prev: StoredEvent | undefined;
  /** `$steps`: by name, the events that ended the earlier steps. */
  readonly steps: ReadonlyMap<string, StoredEvent>;
}

/** What a template comes to, or why it comes to nothing. */
export type Made<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string };

export interface CompiledSagaStep {
  readonly name: string;
  /** True where there is no condition. */
  readonly holds: (sight: SagaSight) => boolean;
  /** `else: "skip"`: a condition that does not hold leaves the step out. */
  readonly skips: boolean;
  readonly emit: (sight: SagaSight) => Made<Emission>;
  readonly await: CompiledAwait | undefined;
  readonly compensate: ((sight: SagaSight) => Made<Emission>) | undefined;
}

export interface CompiledAwait {
  readonly aggregateType: string;
  /** The awaited stream, given the id that the step emits to. */
  readonly key: (sight: SagaSight, emittedId: string) => Made<StreamKey>;
  readonly eventTypes: ReadonlySet<string>;
  readonly failureTypes: ReadonlySet<string>;
  readonly timeoutMs: number;
}

/** An event type that starts sagas or that some may wait for. */
export interface SagaEventType {
  readonly aggregateType: string;
  readonly eventType: string;
}

/** Every event type that must be shown to sagas of this definition; some perhaps twice. */
export function eventTypesOf(saga: CompiledSaga): SagaEventType[] {
  const { aggregateType, eventType } = saga.trigger;
  const types: SagaEventType[] = [{ aggregateType, eventType }];
  for (const { await: awaited } of saga.steps) {
    if (awaited === undefined) continue;
    for (const eventType of [...awaited.eventTypes, ...awaited.failureTypes]) {
      types.push({ aggregateType: awaited.aggregateType, eventType });
    }
  }
  return types;
}
