/**
 * Judges the guards of a new spec on stored events, each on the states at its time: that of its own
 * aggregate, and those of others that the guard looks at. See docs/reference/check-data.md.
 */

import {
  type Budget,
  BudgetSpent,
  type Clock,
  newTimedBudget,
  PIECE_UNITS,
} from "../../domain/budget.ts";
import type { Pieces } from "../../domain/fairness/pieces.ts";
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
import type { StreamHead } from "../../store/streams/stream_head.ts";
import { readHead } from "../../store/streams/streams.ts";
import { TextMap, TextSet } from "../../domain/lookup/text_map.ts";

/** What one check knows for judging. */
export interface PastJudging {
  readonly engine: Engine;
  readonly tenant: number;
  /** The new spec. */
  readonly spec: CompiledSpec;
  readonly draft: DataCheckDraft;
  /** Counts stored bytes that are read. */
  noteRead(bytes: number): void;
  readonly pieces: Pieces;
  readonly clock: Clock;
  /** Whether the check has done or read as much as it may. */
  isOver(): boolean;
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
/** A guard that takes longer is left out, so a busy machine may take its time. */
const PIECE_MS_MAX = 100;
/** Aggregates whose events are held at a time, because guards look at them, and their bytes. */
const PASTS_MAX = 16;
const PASTS_BYTES_MAX = 2 * limits.dataCheckStreamBytesMax;
/** The stored bytes of such an aggregate that are read at a time. */
const PAST_CHUNK_BYTES = 64 * 1024;

interface Past {
  /** Undefined for an aggregate that is too long. */
  readonly states: PastStates | undefined;
  /** Stored bytes of its events. */
  readonly bytes: number;
}

interface Judging extends PastJudging {
  /** Aggregates that guards look at; what was looked at last is the last. */
  readonly pasts: TextMap<Past, StreamKey>;
}

/** An event that is judged, and the others that its guards have looked at. */
interface JudgedEvent extends GuardedEvent {
  readonly others: TextSet<StreamKey>;
}

export function openPastJudge(parts: PastJudging): PastJudge {
  const judging: Judging = { ...parts, pasts: new TextMap() };
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
  const budget = newTimedBudget(judging.clock, WALK_UNITS_MAX, PIECE_MS_MAX);
  let state: JsonObject = {};
  let isOver = false;

  async function judge(event: StoredEvent, id: string): Promise<void> {
    const failed: NamedGuard[] = [];
    let judged = 0;
    const others = new TextSet<StreamKey>();
    for (const [number, guard] of (guarded!.get(event.type) ?? []).entries()) {
      if (!isTried(type!, guard, aggregateTypes)) continue;
      await judging.pieces.rest();
      const holds = await held(judging, guard, { state, event, others }, budget);
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

/** Whether the guard held; undefined if it looks at more than a check may. */
async function held(
  judging: Judging,
  guard: Guard,
  guarded: JudgedEvent,
  budget: Budget,
): Promise<boolean | undefined> {
  const named = othersOf(guard, guarded, judging.spec.singletons, budget);
  if (named === undefined) return false;
  const { event: { key: own, metadata: { timestamp } }, others: looked } = guarded;
  for (const { key } of named) if (key !== own) looked.add(key);
  // Such an event cannot be written.
  if (looked.size > limits.guardOthersMax) return undefined;
  const pasts = new TextMap<PastStates, StreamKey>();
  let bytes = 0;
  for (const { key, aggregateType } of named) {
    if (key === own || pasts.has(key)) continue;
    const past = await pastOf(judging, key, aggregateType);
    bytes += past?.bytes ?? 0;
    if (past?.states === undefined || bytes > PASTS_BYTES_MAX) return undefined;
    pasts.set(key, past.states);
  }
  for (const past of pasts.values()) {
    for (const isBefore of [true, false]) {
      for (const _ of past.reach(timestamp, isBefore, budget)) {
        const rest = judging.pieces.rest();
        if (rest !== undefined) await rest;
      }
    }
  }
  return guardHeld(guard, guarded, named.map(({ key }) => pasts.get(key)), budget);
}

/** Undefined if the check is over. */
async function pastOf(
  judging: Judging,
  key: StreamKey,
  aggregateType: string,
): Promise<Past | undefined> {
  const { engine, tenant, pasts } = judging;
  await judging.pieces.rest();
  if (judging.isOver()) return undefined;
  const known = pasts.get(key);
  pasts.delete(key);
  if (known !== undefined) {
    pasts.set(key, known);
    return known;
  }
  const head = await engine.snapshot((tx) => readHead(tx, tenant, key));
  if (head.bytes > limits.dataCheckStreamBytesMax) {
    const long: Past = { states: undefined, bytes: 0 };
    keepPast(pasts, key, long);
    return long;
  }
  makeRoom(pasts, head.bytes);
  const events = await readPast(judging, key, head);
  if (events === undefined) return undefined;
  const { handlers } = judging.spec.aggregateTypes.get(aggregateType)!;
  const past: Past = { states: openPastStates(handlers, events), bytes: head.bytes };
  keepPast(pasts, key, past);
  return past;
}

function keepPast(pasts: Judging["pasts"], key: StreamKey, past: Past): void {
  makeRoom(pasts, past.bytes);
  pasts.set(key, past);
}

/** Forgets what was looked at first, until one more fits. */
function makeRoom(pasts: Judging["pasts"], bytes: number): void {
  let sum = bytes;
  for (const past of pasts.values()) sum += past.bytes;
  for (const [key, past] of pasts) {
    if (pasts.size < PASTS_MAX && sum <= PASTS_BYTES_MAX) return;
    pasts.delete(key);
    sum -= past.bytes;
  }
}

/** All events, in windows; undefined if the check is over or the stream was rewritten meanwhile. */
async function readPast(
  { engine, tenant, noteRead, pieces, isOver }: Judging,
  key: StreamKey,
  { length: to, generation }: StreamHead,
): Promise<readonly StoredEvent[] | undefined> {
  const events: StoredEvent[] = [];
  while (events.length < to) {
    if (isOver()) return undefined;
    const window = { from: events.length, to, bytesMax: PAST_CHUNK_BYTES, generation };
    const stored = await engine.snapshot((tx) => readEvents(tx, tenant, key, window));
    if (stored.length === 0) return undefined;
    for (const { raw, bytes } of stored) {
      events.push(decodeEvent(raw));
      noteRead(bytes);
      const rest = pieces.rest();
      if (rest !== undefined) await rest;
    }
  }
  return events;
}
