/** Folds one stream under the deployed and under an edited handler, and finds where they part. */

import type { StoredEvent } from "../../../src/domain/event.ts";
import { compileHandler } from "../../../src/domain/handler/compile_handler.ts";
import type { JsonValue } from "../../../src/domain/json.ts";
import { type Change, CHANGES_MAX, changesBetween } from "../shell/state_changes.ts";
import { createTimeline, type Handlers, type State, type Timeline } from "../shell/stream_fold.ts";

export type EditedHandlers =
  | { readonly ok: true; readonly handlers: Handlers }
  | { readonly ok: false; readonly faults: readonly HandlerFault[] };

export interface HandlerFault {
  /** Where in the handler; empty if the text is no JSON. */
  readonly path: string;
  readonly message: string;
  readonly hint?: string;
}

export interface Comparison {
  readonly deployed: Timeline;
  readonly edited: Timeline;
  /** How many events were folded. */
  readonly length: number;
  /** The first length at which the states differ; undefined if they never do. */
  readonly firstDifference: number | undefined;
}

/** As long as a whole spec may be. */
const TEXT_CHARACTERS_MAX = 1_048_576;

/** The deployed handlers with another one for `eventType`, which `text` has as JSON. */
export function editHandlers(deployed: Handlers, eventType: string, text: string): EditedHandlers {
  if (text.length > TEXT_CHARACTERS_MAX) {
    return { ok: false, faults: [{ path: "", message: "The text is too long for a handler." }] };
  }
  let definition: JsonValue;
  try {
    definition = JSON.parse(text);
  } catch (error) {
    return { ok: false, faults: [{ path: "", message: (error as Error).message }] };
  }
  const compiled = compileHandler(definition, "handler");
  if (!compiled.ok) return { ok: false, faults: compiled.violations };
  return { ok: true, handlers: new Map(deployed).set(eventType, compiled.handler) };
}

/**
 * `events` begin with the first of the stream. Only the handler of `eventType` differs, so states
 * that are the same can part only behind an event of that type. Works in pieces of one event.
 */
export function* compareFolds(
  deployedHandlers: Handlers,
  editedHandlers: Handlers,
  events: readonly StoredEvent[],
  eventType: string,
): Generator<void, Comparison> {
  const deployed = createTimeline(deployedHandlers, events);
  const edited = createTimeline(editedHandlers, events);
  yield* deployed.prepare();
  yield* edited.prepare();
  const firstDifference = yield* findFirst(deployed, edited, events, eventType);
  return { deployed, edited, length: events.length, firstDifference };
}

function* findFirst(
  deployed: Timeline,
  edited: Timeline,
  events: readonly StoredEvent[],
  eventType: string,
): Generator<void, number | undefined> {
  const states = deployed.statesBetween(0, events.length);
  const others = edited.statesBetween(0, events.length);
  let [before, otherBefore] = [states.next().value as State, others.next().value as State];
  for (const [index, { type }] of events.entries()) {
    const [state, other] = [states.next().value as State, others.next().value as State];
    if (type === eventType) {
      const hasSameChanges = isSame(
        changesBetween(before, state),
        changesBetween(otherBefore, other),
      );
      if (!hasSameChanges && changesBetween(state, other).length > 0) return index + 1;
    }
    [before, otherBefore] = [state, other];
    yield;
  }
  return undefined;
}

/**
 * Whether both changes lead from the same state to the same one. What an event leaves as it was is
 * shared between the states, so this is quick, where comparing the whole states is not.
 */
function isSame(changes: readonly Change[], others: readonly Change[]): boolean {
  if (changes.length !== others.length || changes.length >= CHANGES_MAX) return false;
  return changes.every(({ path, after }, index) => {
    const other = others[index]!;
    return JSON.stringify(path) === JSON.stringify(other.path) &&
      (after === undefined) === (other.after === undefined) &&
      changesBetween(after, other.after).length === 0;
  });
}
