/**
 * What the server would do with events, without a server: its own sources compile the spec, check
 * the writes and fold the states.
 */

import type { PartyReference, StoredEvent } from "../../../src/domain/event.ts";
import { newFoldBudget } from "../../../src/domain/handler/budget.ts";
import { fold } from "../../../src/domain/handler/fold.ts";
import { guardHolds, othersOf } from "../../../src/domain/handler/guard.ts";
import { encodeState } from "../../../src/domain/handler/state_text.ts";
import { parseIdentifier, streamKey } from "../../../src/domain/identifier.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import type { Refusal } from "../../../src/domain/refusal.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import type { CompiledAggregateType, CompiledSpec } from "../../../src/domain/spec/compiled.ts";
import { validateWrite } from "../../../src/domain/write/validate_write.ts";
import { describeRefusal } from "../../../src/http/reply.ts";
import { ScenarioError } from "./scenario_error.ts";

/** An event of a scenario, as it was given. */
export interface PlainEvent {
  readonly type: string;
  readonly data?: object;
  readonly metadata?: {
    readonly actor?: PartyReference;
    readonly target?: PartyReference;
    /** Unix seconds. */
    readonly timestamp?: number;
  };
}

/** A refusal as the server words it. */
export interface ServiceRefusal {
  readonly error: string;
  readonly error_type: string;
  readonly path?: string;
  readonly details?: readonly { readonly path: string; readonly message: string }[];
  /** Of the event that is refused. */
  readonly event_type: string;
}

/** One stream of one aggregate type, in memory. */
export interface ScenarioStream {
  /** Checks the events and appends them; or says why the server would refuse them. */
  append(events: readonly PlainEvent[]): ServiceRefusal | undefined;
  /** The state after all events. */
  state(): JsonObject;
}

export interface StreamOptions {
  readonly id: string;
  readonly actor: PartyReference;
  /** States of other aggregates, by key. */
  readonly others: Readonly<Record<string, object>>;
}

/** 2026-01-01T00:00:00Z: the time of a first event without one. Each next is a second later. */
const FIRST_TIMESTAMP = 1_767_225_600;

export function compileForTests(document: unknown): CompiledSpec {
  const { spec: inner } = document as { spec?: unknown };
  const compiled = compileSpec(inner ?? document);
  if (compiled.ok) return compiled.spec;
  const lines = compiled.violations.map(({ path, message, hint }) => `${path}: ${message} ${hint}`);
  throw new ScenarioError(`The server would refuse this spec:\n${lines.join("\n")}`);
}

export function openStream(
  spec: CompiledSpec,
  aggregateType: string,
  { id, actor, others }: StreamOptions,
): ScenarioStream {
  const type = spec.aggregateTypes.get(aggregateType);
  if (type === undefined) {
    const known = [...spec.aggregateTypes.keys()].join(", ");
    throw new ScenarioError(`The spec has no aggregate type "${aggregateType}": it has ${known}`);
  }
  const stored: StoredEvent[] = [];
  const states = statesOf(spec, others);

  /** The event as it would be stored, or its refusal. Markers of erasures need no check. */
  function check(event: PlainEvent, at: number): StoredEvent | Refusal {
    // As JSON, because that is what would be sent.
    const { type: name, data, metadata = {} } = JSON.parse(JSON.stringify(event)) as PlainEvent;
    const sent = { actor, timestamp: FIRST_TIMESTAMP + stored.length + at, ...metadata };
    const key = `${aggregateType}:${id}`;
    if (name.startsWith("_")) {
      return { key, type: name, data: (data ?? {}) as JsonObject, metadata: sent };
    }
    const target = { aggregateType, id, events: [{ type: name, data: data ?? {} }] };
    const request = { form: "single", targets: [target], metadata: sent, requestId: "" } as const;
    const checked = validateWrite(request, spec, "test");
    if (!checked.ok) return checked.refusal;
    const [{ key: canonical, events }] = checked.value.targets as [
      typeof checked.value.targets[number],
    ];
    const { dataJson, geo } = events[0]!;
    return {
      key: canonical,
      type: name,
      data: JSON.parse(dataJson),
      metadata: geo === undefined ? sent : { ...sent, geo },
    };
  }

  return {
    append(events) {
      const checked = events.map(check);
      const at = checked.findIndex((one) => "kind" in one);
      if (at !== -1) return refusalOf(checked[at] as Refusal, events[at]!);
      for (const [at, event] of (checked as StoredEvent[]).entries()) {
        const refusal = failedGuard({ spec, type, states }, stored, event);
        if (refusal !== undefined) {
          stored.length -= at;
          return refusalOf(refusal, events[at]!);
        }
        stored.push(event);
      }
      return undefined;
    },
    state: () => stateOf(type, stored),
  };
}

/** What the guards of a scenario see besides its stream. */
interface GuardScene {
  readonly spec: CompiledSpec;
  readonly type: CompiledAggregateType;
  readonly states: ReadonlyMap<string, JsonObject>;
}

/** The states of other aggregates, by the canonical form of their keys. */
function statesOf(
  spec: CompiledSpec,
  others: Readonly<Record<string, object>>,
): ReadonlyMap<string, JsonObject> {
  return new Map(
    Object.entries(others).map(([key, state]) => {
      const [type = "", id = ""] = key.split(":");
      const identifier = parseIdentifier(id, spec.singletons);
      if (identifier !== undefined && spec.aggregateTypes.has(type)) {
        return [streamKey(type, identifier.value), JSON.parse(JSON.stringify(state))];
      }
      throw new ScenarioError(`No aggregate of the spec has the key "${key}": write <type>:<id>`);
    }),
  );
}

function failedGuard(
  { spec, type, states }: GuardScene,
  before: readonly StoredEvent[],
  event: StoredEvent,
): Refusal | undefined {
  for (const [number, guard] of (type.guarded?.get(event.type) ?? []).entries()) {
    const guarded = { state: stateOf(type, before), event };
    const budget = newFoldBudget();
    const seen = othersOf(guard, guarded, spec.singletons, budget)
      ?.map(({ key }) => key === event.key ? guarded.state : states.get(key) ?? {});
    if (seen !== undefined && guardHolds(guard, guarded, seen, budget)) continue;
    const { message } = guard;
    return { kind: "guard_failed", message, guard: number, eventType: event.type };
  }
  return undefined;
}

function refusalOf(refusal: Refusal, event: PlainEvent): ServiceRefusal {
  return { ...describeRefusal(refusal).body, event_type: event.type } as unknown as ServiceRefusal;
}

function stateOf(type: CompiledAggregateType, events: readonly StoredEvent[]): JsonObject {
  const module = events.find((event) => type.wasmHandlers.has(event.type));
  if (module !== undefined) {
    throw new ScenarioError(
      `A WebAssembly module folds ${module.type}, which scenarios cannot run: use startDaybook()`,
    );
  }
  const folded = fold(type.handlers, {}, structuredClone(events), newFoldBudget());
  const text = folded.ok ? encodeState(folded.value) : folded;
  if (text.ok) return JSON.parse(text.value);
  throw new ScenarioError(
    `The server would refuse this state: ${describeRefusal(text.refusal).body.error}`,
  );
}
