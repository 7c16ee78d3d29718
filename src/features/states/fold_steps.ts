/**
 * Folds events with the handlers of an aggregate type.
 *
 * Handlers in the spec's own language run here as long as that fits into one time slice,
 * otherwise in a compute process. Handlers that are modules run in the module processes.
 */

import { Buffer } from "node:buffer";
import {
  type Budget,
  BudgetSpent,
  checkTime,
  type Clock,
  newPieceBudget,
  PIECE_UNITS,
} from "../../domain/budget.ts";
import { decodeEvent, type StoredEvent } from "../../domain/event.ts";
import { fold, refuseFold } from "../../domain/handler/fold.ts";
import { encodeState } from "../../domain/handler/state_text.ts";
import type { JsonObject } from "../../domain/json.ts";
import { parseJsonInTime } from "../../domain/parse_json_steps.ts";
import { limits } from "../../domain/limits.ts";
import { accept, type Outcome, type Refusal, refuse } from "../../domain/refusal.ts";
import type { CompiledAggregateType } from "../../domain/spec/compiled.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { CallPurpose } from "../../domain/wasm/trace.ts";
import type { Host } from "../../host.ts";
import type { ComputeRunner } from "./run_compute.ts";
import type { ModuleEvent, ModuleRunner } from "../modules/run_modules.ts";

/** Events, and beside them the texts that they were decoded from. */
export interface FoldEvents {
  readonly events: readonly StoredEvent[];
  readonly stored: readonly { readonly raw: string }[];
}

export type Folded =
  | { readonly ok: true }
  /** `index`: the position of the event among those taken, if it is known. */
  | { readonly ok: false; readonly refusal: Refusal; readonly index?: number };

/** A fold in progress. After a refusal it must not be used. */
export interface Folding {
  take(events: FoldEvents): Promise<Folded>;
  /** The state as JSON text; refused if it is larger than a state may be. */
  stateJson(): Outcome<string>;
}

/** Runs the handlers that do not run in this thread. */
export interface HandlerRunners {
  readonly modules: ModuleRunner;
  readonly compute: ComputeRunner;
}

/** The largest base state and the largest input of events that are folded in this thread. */
export const STATE_CHARACTERS_HERE_MAX = 256 * 1024;
export const EVENT_BYTES_HERE_MAX = 1024 * 1024;

const FOLDED: Folded = { ok: true };

/** A fold in this thread that may take at most one time slice. */
export interface QuickFold {
  /** Undefined if it would take longer; a process must then fold from the beginning. */
  take(events: readonly StoredEvent[]): Outcome<JsonObject> | undefined;
  stateJson(): Outcome<string>;
}

/** `base`: at most {@link STATE_CHARACTERS_HERE_MAX} characters; undefined: the empty state. */
export function openQuickFold(
  clock: Clock,
  { handlers }: CompiledAggregateType,
  base: string | undefined,
): QuickFold {
  let left = PIECE_UNITS;
  let state = parseBase(clock, base);
  return {
    take(events) {
      if (state === undefined) return undefined;
      const budget = newPieceBudget(clock, left);
      const folded = fold(handlers, state, events, budget);
      left = budget.left;
      if (folded.ok) state = folded.value;
      else if (left < 0) return undefined;
      return folded;
    },
    stateJson: () => encodeState(state!),
  };
}

/** The state to begin with; undefined if reading it takes more than a time slice. */
function parseBase(clock: Clock, base: string | undefined): JsonObject | undefined {
  return base === undefined ? {} : parseJsonInTime(base, newPieceBudget(clock).time.isLate);
}

/** The events; undefined if decoding them takes more than a time slice. */
export function decodeInTime(
  clock: Clock,
  stored: FoldEvents["stored"],
): StoredEvent[] | undefined {
  const { time: { isLate } } = newPieceBudget(clock);
  const events: StoredEvent[] = [];
  for (const { raw } of stored) {
    if (isLate()) return undefined;
    events.push(decodeEvent(raw));
  }
  return events;
}

export interface FoldStart {
  readonly tenant: number;
  readonly stream: StreamKey;
  readonly type: CompiledAggregateType;
  readonly base: string | undefined;
  readonly purpose: CallPurpose;
}

/**
 * Begins a fold of a type that has modules. `base`: the initial state; undefined: the empty
 * one.
 */
export function beginFold(
  { host, modules, compute }: HandlerRunners & { readonly host: Clock },
  { tenant, stream, type, base, purpose }: FoldStart,
): Folding {
  const { wasmHandlers, handlers, blobs } = type;
  let text = base ?? "{}";

  async function takeHere(events: readonly StoredEvent[], texts: readonly string[]) {
    const folded = foldQuickly(host, type, text, events) ??
      await compute.fold(tenant, {
        stream,
        type,
        base: text,
        events: async function* () {
          yield texts;
        },
        bytes: texts.reduce((sum, each) => sum + Buffer.byteLength(each), 0),
      });
    if (!folded.ok) return folded;
    text = folded.value;
    return FOLDED;
  }

  async function takeThere(events: readonly ModuleEvent[]): Promise<Folded> {
    const folded = await modules.fold(tenant, { purpose, blobs, stateJson: text, events });
    if (!folded.ok) return { ok: false, refusal: folded.refusal, index: folded.eventIndex };
    text = folded.value;
    return FOLDED;
  }

  async function take({ events, stored }: FoldEvents): Promise<Folded> {
    // Events without a handler do not split a run.
    const handled = events.map((event, index) => {
      return { event, raw: stored[index]!.raw, index, call: wasmHandlers.get(event.type) };
    }).filter(({ event, call }) => call !== undefined || handlers.has(event.type));
    for (let at = 0, end = 0; at < handled.length; at = end) {
      const isThere = handled[at]!.call !== undefined;
      while (end < handled.length && (handled[end]!.call !== undefined) === isThere) end++;
      const run = handled.slice(at, end);
      const folded: Folded = isThere
        ? await takeThere(run.map(({ event: { type }, raw, call }) => ({ call: call!, type, raw })))
        : await takeHere(run.map(({ event }) => event), run.map(({ raw }) => raw));
      if (folded.ok) continue;
      const { refusal, index } = folded;
      return index === undefined ? folded : { ok: false, ...describe(refusal, run[index]!) };
    }
    return FOLDED;
  }

  return { take, stateJson: () => accept(text) };
}

/** Undefined if it takes more than one time slice. */
function foldQuickly(
  clock: Clock,
  type: CompiledAggregateType,
  base: string,
  events: readonly StoredEvent[],
): Outcome<string> | undefined {
  if (base.length > STATE_CHARACTERS_HERE_MAX) return undefined;
  const quick = openQuickFold(clock, type, base);
  const folded = quick.take(events);
  return folded?.ok ? quick.stateJson() : folded;
}

/**
 * Each event when it is asked for, so that decoding is in the time of the fold.
 * @throws {BudgetSpent} when time is up, and for an event that modules fold.
 */
export function* eachInTime(
  events: readonly { readonly raw: string }[],
  decode: (raw: string) => StoredEvent,
  { wasmHandlers }: CompiledAggregateType,
  budget: Budget,
): Generator<StoredEvent, void> {
  for (const { raw } of events) {
    checkTime(budget);
    const event = decode(raw);
    if (wasmHandlers.has(event.type)) throw new BudgetSpent();
    yield event;
  }
}

/** Folds events of a type without modules at once; refused if it takes more than one time slice. */
export function foldAtOnce(
  clock: Clock,
  { handlers }: CompiledAggregateType,
  base: string | undefined,
  events: readonly StoredEvent[],
): Outcome<{ readonly state: JsonObject; readonly stateJson: string }> {
  const before = parseBase(clock, base);
  if (before === undefined) return refuseFold(new BudgetSpent(), 0);
  const folded = fold(handlers, before, events, newPieceBudget(clock));
  if (!folded.ok) return folded;
  const state = folded.value;
  const text = encodeState(state);
  return text.ok ? accept({ state, stateJson: text.value }) : text;
}

/** Adds the event at which a module was stopped. */
function describe(refusal: Refusal, { event, index }: { event: StoredEvent; index: number }) {
  if (refusal.kind !== "module_failed") return { refusal, index };
  const { key: event_key, type: event_type } = event;
  return { refusal: { ...refusal, context: { ...refusal.context, event_key, event_type } }, index };
}

/** The refusal if modules took longer than one request may. */
export function refuseSlowModules(bytes: number) {
  const message = `The WebAssembly handlers took more than the ${limits.wasmRequestMsMax} ms of ` +
    "one request. What a read has folded is kept: the next one goes on there";
  return refuse({ kind: "fold_budget_exceeded", message, bytes, limit: limits.foldBytesMax });
}

/** Modules get about as many events at a time as they fold in this time, and at most this many. */
const SLICE_MS = 100;
const SLICE_EVENTS_MAX = 512;
/** A rebuild begins with one. An event may take five seconds, and others wait for a slice. */
const REBUILD_SLICE_EVENTS_MAX = 32;

export interface SliceSize {
  next(): number;
}

/**
 * Adapts how many events modules get at a time, so that one call takes about a tenth of a
 * second.
 */
export function openSliceSize(host: Host, isRebuild: boolean): SliceSize {
  const sizeMax = isRebuild ? REBUILD_SLICE_EVENTS_MAX : SLICE_EVENTS_MAX;
  let size = isRebuild ? 1 : sizeMax / 8;
  let beganMs: number | undefined;
  return {
    next() {
      const nowMs = host.monotonicMs();
      const tookMs = nowMs - (beganMs ?? nowMs - SLICE_MS);
      beganMs = nowMs;
      if (tookMs < SLICE_MS) size = Math.min(sizeMax, 2 * size);
      else if (tookMs > 2 * SLICE_MS) size = Math.max(1, size >> 1);
      return size;
    },
  };
}
