/** Which of the newest events of a stream edited guards would refuse, on the states before them. */

import { BudgetSpent, newBudget, PIECE_UNITS } from "../../../src/domain/budget.ts";
import type { StoredEvent } from "../../../src/domain/event.ts";
import { runAtOnce } from "../../../src/domain/fairness/pieces.ts";
import {
  type Guard,
  type GuardedEvent,
  guardHeld,
  othersOf,
  type PastStates,
} from "../../../src/domain/handler/guard.ts";
import type { JsonValue } from "../../../src/domain/json.ts";
import { createFaultList } from "../../../src/domain/spec/fault_list.ts";
import { compileGuards } from "../../../src/domain/spec/guards.ts";
import { createTimeline, type Handlers, type Timeline } from "../shell/stream_fold.ts";
import { ownMember } from "../shell/own_member.ts";
import type { HandlerFault } from "./compare_folds.ts";
import { readHandlerText } from "./handler_text.ts";

/** So many of the newest events are judged. */
export const JUDGED_MAX = 1_000;
/** So many other aggregates are read for them. */
export const OTHERS_MAX = 20;
/** What judging one event may cost, with the folds of other aggregates. */
const UNITS_MAX = 16 * PIECE_UNITS;

export type EditedGuards =
  | {
    readonly ok: true;
    readonly guards: readonly Guard[];
    readonly singletons: ReadonlySet<string>;
  }
  | { readonly ok: false; readonly faults: readonly HandlerFault[] };

export interface FailedEvent {
  readonly index: number;
  readonly guard: number;
  readonly message: string;
}

export interface JudgedEvents {
  /** Events of the type among the newest. */
  readonly judged: number;
  readonly failed: readonly FailedEvent[];
  /** Further ones, whose guards look at aggregates that could not be read. */
  readonly untried: number;
}

/** Guards as JSON text, checked as a deploy does. */
export function readGuards(text: string, spec: unknown): EditedGuards {
  const read = readHandlerText(text);
  if (!read.ok) return { ok: false, faults: [{ path: "", message: read.error }] };
  const singletons = ownMember(spec, "singletons");
  const names = Array.isArray(singletons) ? singletons as string[] : [];
  const terms = {
    types: new Set(Object.keys(Object(ownMember(spec, "aggregate_types")))),
    singletons: new Set(["global", ...names]),
  };
  const faults = createFaultList();
  const steps = compileGuards(read.definition as JsonValue, terms, "guards", faults);
  const guards = runAtOnce(steps);
  if (faults.faults.length > 0) return { ok: false, faults: faults.faults };
  return { ok: true, guards, singletons: terms.singletons };
}

/** The other aggregates that guards look at. */
export interface Others {
  readonly singletons: ReadonlySet<string>;
  /** By key; those that could not be read are absent. */
  readonly pasts: ReadonlyMap<string, PastStates>;
}

export interface EventsToJudge {
  readonly handlers: Handlers;
  readonly guards: readonly Guard[];
  /** Of one stream, from its first event on. */
  readonly events: readonly StoredEvent[];
  readonly eventType: string;
}

/** The aggregates that guards of the newest events look at, with their types; not too many. */
export function* findOthers(
  given: EventsToJudge,
  singletons: ReadonlySet<string>,
): Generator<void, ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const guards = given.guards.filter(({ others }) => others.length > 0);
  if (guards.length === 0) return found;
  for (const { guarded } of newestOf(given, yield* prepared(given))) {
    for (
      const { key, aggregateType } of guards.flatMap((guard) =>
        namedBy(guard, guarded, singletons) ?? []
      )
    ) {
      if (key !== guarded.event.key) found.set(key, aggregateType);
      if (found.size === OTHERS_MAX) return found;
    }
    yield;
  }
  return found;
}

/** Works in pieces of a few milliseconds. */
export function* judgeEvents(
  given: EventsToJudge,
  { singletons, pasts }: Others,
): Generator<void, JudgedEvents> {
  const failed: FailedEvent[] = [];
  let judged = 0;
  let untried = 0;
  for (const { index, guarded } of newestOf(given, yield* prepared(given))) {
    const verdicts = given.guards.map((guard) => verdictOf(guard, guarded, { singletons, pasts }));
    const guard = verdicts.indexOf(false);
    if (guard !== -1) failed.push({ index, guard, message: given.guards[guard]!.message });
    if (guard === -1 && verdicts.includes(undefined)) untried++;
    else judged++;
    yield;
  }
  return { judged, failed, untried };
}

function* prepared({ handlers, events }: EventsToJudge): Generator<void, Timeline> {
  const timeline = createTimeline(handlers, events);
  yield* timeline.prepare();
  return timeline;
}

function* newestOf({ events, eventType }: EventsToJudge, timeline: Timeline) {
  for (let index = Math.max(0, events.length - JUDGED_MAX); index < events.length; index++) {
    const event = events[index]!;
    const state = timeline.stateAt(index);
    if (event.type === eventType && state !== undefined) yield { index, guarded: { state, event } };
  }
}

function namedBy(guard: Guard, guarded: GuardedEvent, singletons: ReadonlySet<string>) {
  return within(() => othersOf(guard, guarded, singletons, newBudget(PIECE_UNITS)));
}

/** Undefined if it looks at an aggregate that could not be read. */
function verdictOf(
  guard: Guard,
  guarded: GuardedEvent,
  { singletons, pasts }: Others,
): boolean | undefined {
  const named = namedBy(guard, guarded, singletons);
  if (named === undefined) return false;
  const isKnown = named.every(({ key }) => key === guarded.event.key || pasts.has(key));
  if (!isKnown) return undefined;
  const others = named.map(({ key }) => pasts.get(key));
  return within(() => guardHeld(guard, guarded, others, newBudget(UNITS_MAX))) ?? false;
}

/** Undefined if a budget is spent: then the server would refuse the event. */
function within<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof BudgetSpent)) throw error;
    return undefined;
  }
}
