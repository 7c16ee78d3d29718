/** What `GET /_sagas` shows of a saga. Times are Unix seconds. */

import type { ListPage } from "../list_page.ts";
import type { EventReference, SagaHistoryEntry, SagaInstance, SagaState } from "./instance.ts";

/** A saga in a list. */
export interface SagaSummary {
  readonly saga_id: string;
  readonly name: string;
  readonly state: SagaState;
  readonly started_at: number;
  /** The event that started it. */
  readonly trigger: EventReference;
}

export interface SagaView extends SagaSummary {
  readonly updated_at: number;
  /** Absent in end states. */
  readonly waiting_for?: SagaWaitView;
  /** Oldest first. */
  readonly history: readonly SagaHistoryEntry[];
}

export interface SagaWaitView {
  readonly step: string;
  /** The awaited stream; absent when the saga only pauses before it tries something again. */
  readonly key?: string;
  readonly event_types?: readonly string[];
  readonly until: number;
}

/** A saga that an event has started or moved on. */
export interface SagaEffectView extends Pick<SagaSummary, "saga_id" | "name" | "state"> {
  /** Whether the event started it; otherwise it moved it on. */
  readonly started: boolean;
  readonly steps: readonly SagaHistoryEntry[];
}

export type SagaPage = ListPage<SagaSummary>;

const MS_PER_SECOND = 1000;

export function summarizeSaga(instance: SagaInstance): SagaSummary {
  const { id, name, state, startedAt, trigger } = instance;
  return { saga_id: id, name, state, started_at: startedAt, trigger };
}

/** `steps` are the names of the definition's steps, in order. */
export function viewSaga(instance: SagaInstance, steps: readonly string[]): SagaView {
  return {
    ...summarizeSaga(instance),
    updated_at: instance.updatedAt,
    waiting_for: viewWait(instance, steps),
    history: instance.history,
  };
}

function viewWait(
  { waiting }: SagaInstance,
  steps: readonly string[],
): SagaWaitView | undefined {
  // A stored saga never waits for a write: the transaction that requests the write also answers it.
  if (waiting === undefined || waiting.kind === "write") return undefined;
  const step = steps[waiting.step] ?? String(waiting.step);
  const until = Math.ceil(waiting.dueMs / MS_PER_SECOND);
  if (waiting.kind === "pause") return { step, until };
  return { step, key: waiting.key, event_types: waiting.eventTypes, until };
}
