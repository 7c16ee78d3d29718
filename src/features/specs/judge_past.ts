/**
 * Judges the guards of a new spec on stored events, each on the states at its time: that of its own
 * aggregate, and those of others that the guard looks at. See docs/reference/check-data.md.
 */

import { type Budget, BudgetSpent, newBudget, PIECE_UNITS } from "../../domain/budget.ts";
import { decodeEvent, type StoredEvent } from "../../domain/event.ts";
import {
  type Guard,
  type GuardedEvent,
  guardHeld,
  inPiece,
  openPastStates,
  othersOf,
  type PastStates,
} from "../../domain/handler/guard.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { JsonObject } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import type { CompiledAggregateType, CompiledSpec } from "../../domain/spec/compiled.ts";
import type { DataCheckDraft, NamedGuard } from "../../domain/spec/data_check.ts";
import type { Engine } from "../../kv/engine.ts";
import { readEvents } from "../../store/streams/stream_events.ts";
import { readHead } from "../../store/streams/streams.ts";

/** What one check knows for judging. */
export interface PastJudging {
  readonly engine: Engine;
  readonly tenant: number;
  /** The new spec. */
  readonly spec: CompiledSpec;
  readonly draft: DataCheckDraft;
  /** Counts stored bytes that are read. */
  noteRead(bytes: number): void;
}

/** Judges one event of a stream after the other. */
export type GuardWalk = (event: StoredEvent, id: string) => Promise<void>;

export interface PastJudge {
  /** Undefined if the stream has nothing to judge. */
  walk(
    type: CompiledAggregateType | undefined,
    key: StreamKey,
    bytes: number,
  ): GuardWalk | undefined;
}

/** How many guards are not tried; undefined if the spec has none at all. */
export function untriedGuards({ aggregateTypes }: CompiledSpec): number | undefined {
  const tried = [...aggregateTypes.values()].flatMap((type) =>
    [...type.guarded?.values() ?? []].flat().map((guard) => isTried(type, guard, aggregateTypes))
  );
  return tried.length === 0 ? undefined : tried.filter((each) => !each).length;
}

/** Whether no modules compute the states that a guard looks at. */
function isTried(
  { wasmHandlers }: CompiledAggregateType,
  { others }: Guard,
  types: CompiledSpec["aggregateTypes"],
): boolean {
  return wasmHandlers.size === 0 &&
    others.every(({ aggregateType }) => types.get(aggregateType)!.wasmHandlers.size === 0);
}

/** What all guards of one stream may cost. */
const WALK_UNITS_MAX = 16 * PIECE_UNITS;
/** Aggregates whose events are held at a time, because guards look at them. */
const PASTS_MAX = 16;
/** More than such an aggregate stores: what is read is counted in another way. */
const READ_BYTES_MAX = 4 * limits.dataCheckStreamBytesMax;

interface Judging extends PastJudging {
  /** Aggregates that guards look at; undefined for one that is too long. */
  readonly pasts: Map<StreamKey, PastStates | undefined>;
}

export function openPastJudge(parts: PastJudging): PastJudge {
  const judging = { ...parts, pasts: new Map() };
  return { walk: (type, key, bytes) => openGuardWalk(judging, type, key, bytes) };
}

/**
 * Judges the guards of stored events, one after the other, each on the states at that time.
 * Undefined if there is nothing to judge.
 */
function openGuardWalk(
  judging: Judging,
  type: CompiledAggregateType | undefined,
  key: StreamKey,
  bytes: number,
): GuardWalk | undefined {
  const { draft, spec: { aggregateTypes } } = judging;
  if (type?.guarded === undefined || type.wasmHandlers.size > 0) return undefined;
  if (bytes > limits.dataCheckStreamBytesMax) {
    draft.leaveOut();
    return undefined;
  }
  const { guarded, handlers } = type;
  const budget = newBudget(WALK_UNITS_MAX);
  let state: JsonObject = {};
  let isOver = false;

  async function judge(event: StoredEvent, id: string): Promise<void> {
    const failed: NamedGuard[] = [];
    let judged = 0;
    for (const [number, guard] of (guarded!.get(event.type) ?? []).entries()) {
      if (!isTried(type!, guard, aggregateTypes)) continue;
      const holds = await held(judging, guard, { state, event }, budget);
      if (holds === undefined) draft.leaveOut();
      else judged++;
      if (holds !== false) continue;
      const eventType = `${type!.name}.${event.type}`;
      failed.push({ eventType, guard: number, message: guard.message });
    }
    if (judged > 0) draft.addJudged({ key, id }, failed);
    const handler = handlers.get(event.type);
    if (handler !== undefined) state = inPiece(budget, (piece) => handler(state, event, piece));
  }

  return async (event, id) => {
    if (isOver) return;
    try {
      await judge(event, id);
    } catch (error) {
      if (!(error instanceof BudgetSpent)) throw error;
      isOver = true;
      draft.leaveOut();
    }
  };
}

/** Whether the guard held; undefined if it looks at an aggregate that is too long. */
async function held(
  judging: Judging,
  guard: Guard,
  guarded: GuardedEvent,
  budget: Budget,
): Promise<boolean | undefined> {
  const named = othersOf(guard, guarded, judging.spec.singletons, budget);
  if (named === undefined) return false;
  const others: (PastStates | undefined)[] = [];
  for (const { key, aggregateType } of named) {
    const isOwn = key === guarded.event.key;
    const past = isOwn ? undefined : await pastOf(judging, key, aggregateType);
    if (!isOwn && past === undefined) return undefined;
    others.push(past);
  }
  return guardHeld(guard, guarded, others, budget);
}

async function pastOf(
  { engine, tenant, spec, pasts, noteRead }: Judging,
  key: StreamKey,
  aggregateType: string,
): Promise<PastStates | undefined> {
  if (pasts.has(key)) return pasts.get(key);
  const oldest = pasts.keys().next();
  if (pasts.size >= PASTS_MAX && !oldest.done) pasts.delete(oldest.value);
  const { length, bytes, generation } = await engine.snapshot((tx) => readHead(tx, tenant, key));
  let past: PastStates | undefined;
  if (bytes <= limits.dataCheckStreamBytesMax) {
    noteRead(bytes);
    const window = { from: 0, to: length, bytesMax: READ_BYTES_MAX, generation };
    const stored = await engine.snapshot((tx) => readEvents(tx, tenant, key, window));
    const { handlers } = spec.aggregateTypes.get(aggregateType)!;
    const events = stored.map(({ raw }) => decodeEvent(raw));
    if (events.length === length) past = openPastStates(handlers, events);
  }
  pasts.set(key, past);
  return past;
}
