/**
 * A saga as declared under `modules.sagas`, checked and ready to run. See
 * docs/reference/sagas.md.
 *
 * Every function here is pure and total: what cannot be computed is returned as a reason.
 *
 * Bounded: `limits.sagaStepsMax` steps of one saga and the event types that each step awaits.
 */

import type { Budget } from "../budget.ts";
import type { StoredEvent } from "../event.ts";
import type { JsonObject } from "../json.ts";
import type { Emission } from "../reaction/action.ts";
import type { StreamKey } from "../identifier.ts";

/**
 * Everything that compiling a definition needs. It is small enough to be stored with the sagas
 * that run under it, so that a later deploy does not change them.
 */
export interface KeptSagaDefinition {
  readonly name: string;
  readonly saga: JsonObject;
  /** The spec's singletons, sorted: they decide which texts are identifiers. */
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
  /** Whether an event of that type starts a saga; the conditions of one event share `budget`. */
  readonly holds: (event: StoredEvent, budget?: Budget) => boolean;
}

/** What the templates of a step can read. */
export interface SagaSight {
  /** `$`: the event that started the saga. */
  readonly trigger: StoredEvent;
  /** `$prev`: the event that completed the previous step; undefined if there is none. */
  readonly prev: StoredEvent | undefined;
  /** `$steps`: the events that completed the earlier steps, by step name. */
  readonly steps: ReadonlyMap<string, StoredEvent>;
  /** What the conditions of one transition share; absent: a condition has its own. */
  readonly budget?: Budget;
}

/** The value of a template, or why it has none. */
export type Made<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly reason: string };

export interface CompiledSagaStep {
  readonly name: string;
  /** Always true when the step has no condition. */
  readonly holds: (sight: SagaSight) => boolean;
  /** `else: "skip"`: the step is skipped when its condition does not hold. */
  readonly skips: boolean;
  readonly emit: (sight: SagaSight) => Made<Emission>;
  readonly await: CompiledAwait | undefined;
  readonly compensate: ((sight: SagaSight) => Made<Emission>) | undefined;
}

export interface CompiledAwait {
  readonly aggregateType: string;
  /** The awaited stream, given the id of the aggregate that the step emits to. */
  readonly key: (sight: SagaSight, emittedId: string) => Made<StreamKey>;
  readonly eventTypes: ReadonlySet<string>;
  readonly failureTypes: ReadonlySet<string>;
  readonly timeoutMs: number;
}

/** An event type that starts sagas, or that sagas may await. */
export interface SagaEventType {
  readonly aggregateType: string;
  readonly eventType: string;
}

/** All event types that sagas of this definition need to see, possibly with duplicates. */
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
