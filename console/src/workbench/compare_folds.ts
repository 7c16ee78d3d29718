/** Folds one stream under the deployed and under an edited handler, and finds where they part. */

import type { StoredEvent } from "../../../src/domain/event.ts";
import { newFoldBudget } from "../../../src/domain/handler/budget.ts";
import { compileHandler } from "../../../src/domain/handler/compile_handler.ts";
import { fold } from "../../../src/domain/handler/fold.ts";
import type { Handler } from "../../../src/domain/handler/handler.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import { isSame } from "../shell/state_changes.ts";
import { createTimeline, type Handlers, type State, type Timeline } from "../shell/stream_fold.ts";
import { readHandlerText } from "./handler_text.ts";

export type EditedHandlers =
  | { readonly ok: true; readonly handlers: Handlers }
  | { readonly ok: false; readonly faults: readonly HandlerFault[] };

export interface HandlerFault {
  /** Where in the handler; empty if the text is no JSON. */
  readonly path: string;
  readonly message: string;
  readonly hint?: string;
}

/** All states of a stream, under both handlers. */
export interface Folded {
  readonly deployed: Timeline;
  readonly edited: Timeline;
  /** How many events were folded. */
  readonly length: number;
}

export interface Comparison extends Folded {
  /** The first length at which the states differ; undefined if they never do. */
  readonly firstDifference: number | undefined;
}

/** The deployed handlers with another one for `eventType`, which `text` has as JSON. */
export function editHandlers(deployed: Handlers, eventType: string, text: string): EditedHandlers {
  const read = readHandlerText(text);
  if (!read.ok) return { ok: false, faults: [{ path: "", message: read.error }] };
  const compiled = compileHandler(read.definition, "handler");
  if (!compiled.ok) return { ok: false, faults: compiled.violations };
  return { ok: true, handlers: new Map(deployed).set(eventType, compiled.handler) };
}

/**
 * `events` begin with the first of the stream. Only the handler of `eventType` differs, so states
 * that are the same can part only behind an event of that type. Works in pieces of a few
 * milliseconds. Gives the states first, for where they part may take long to find.
 */
export function* compareFolds(
  deployedHandlers: Handlers,
  editedHandlers: Handlers,
  events: readonly StoredEvent[],
  eventType: string,
): Generator<Folded | void, Comparison> {
  const deployed = createTimeline(deployedHandlers, events);
  yield* deployed.prepare();
  const length = events.length;
  if (deployedHandlers.get(eventType) === editedHandlers.get(eventType)) {
    return { deployed, edited: deployed, length, firstDifference: undefined };
  }
  const edited = createTimeline(editedHandlers, events);
  yield* edited.prepare();
  yield { deployed, edited, length };
  const firstDifference = yield* findFirst(deployed, editedHandlers, events, eventType);
  return { deployed, edited, length, firstDifference };
}

/**
 * Until they part, the states are the same, so one event is folded onto the same state by both.
 * What it leaves as it was is then shared between the results, and need not be compared.
 */
function* findFirst(
  deployed: Timeline,
  editedHandlers: Handlers,
  events: readonly StoredEvent[],
  eventType: string,
): Generator<void, number | undefined> {
  const edited = editedHandlers.get(eventType)!;
  for (let index = 0; index < events.length; index++) {
    const event = events[index]!;
    if (event.type !== eventType) continue;
    const before = deployed.stateAt(index);
    // Both would be refused, also with all further events.
    if (before === undefined) return undefined;
    if (!isSame(deployed.stateAt(index + 1), foldOne(edited, before, event))) return index + 1;
    yield;
  }
  return undefined;
}

/** Leaves `state` as it is: the handler may change nothing that it has not made itself. */
function foldOne(handler: Handler, state: JsonObject, event: StoredEvent): State {
  const handlers = new Map([[
    event.type,
    (...[from, of, budget]: Parameters<Handler>) => handler(from, of, budget, new WeakSet()),
  ]]);
  const folded = fold(handlers, state, [event], newFoldBudget());
  return folded.ok ? folded.value : undefined;
}
