/** Which of the newest events of a stream edited guards would refuse, on the states before them. */

import { BudgetSpent, newBudget, PIECE_UNITS } from "../../../src/domain/budget.ts";
import type { StoredEvent } from "../../../src/domain/event.ts";
import { type Guard, guardHolds } from "../../../src/domain/handler/guard.ts";
import type { JsonValue } from "../../../src/domain/json.ts";
import { createFaultList } from "../../../src/domain/spec/fault_list.ts";
import { compileGuards } from "../../../src/domain/spec/guards.ts";
import { createTimeline, type Handlers } from "../shell/stream_fold.ts";
import { ownMember } from "../shell/own_member.ts";
import type { HandlerFault } from "./compare_folds.ts";
import { readHandlerText } from "./handler_text.ts";

/** So many of the newest events are judged. */
export const JUDGED_MAX = 1_000;

export type EditedGuards =
  | { readonly ok: true; readonly guards: readonly Guard[] }
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
}

/** Guards as JSON text, checked as a deploy does. */
export function readGuards(text: string, spec: unknown): EditedGuards {
  const read = readHandlerText(text);
  if (!read.ok) return { ok: false, faults: [{ path: "", message: read.error }] };
  const singletons = ownMember(spec, "singletons");
  const names = Array.isArray(singletons) ? singletons as string[] : [];
  const terms = {
    types: Object.keys(Object(ownMember(spec, "aggregate_types"))),
    singletons: new Set(["global", ...names]),
  };
  const faults = createFaultList();
  const guards = compileGuards(read.definition as JsonValue, terms, "guards", faults);
  return faults.faults.length > 0 ? { ok: false, faults: faults.faults } : { ok: true, guards };
}

/** Guards that look at other aggregates are passed over. Works in pieces of a few milliseconds. */
export function* judgeEvents(
  handlers: Handlers,
  guards: readonly Guard[],
  events: readonly StoredEvent[],
  eventType: string,
): Generator<void, JudgedEvents> {
  const timeline = createTimeline(handlers, events);
  yield* timeline.prepare();
  const failed: FailedEvent[] = [];
  let judged = 0;
  for (let index = Math.max(0, events.length - JUDGED_MAX); index < events.length; index++) {
    const event = events[index]!;
    const state = timeline.stateAt(index);
    if (event.type !== eventType || state === undefined) continue;
    judged++;
    const guard = guards.findIndex((one) =>
      one.others.length === 0 && !holds(one, { state, event })
    );
    if (guard !== -1) failed.push({ index, guard, message: guards[guard]!.message });
    yield;
  }
  return { judged, failed };
}

function holds(guard: Guard, guarded: Parameters<typeof guardHolds>[1]): boolean {
  try {
    return guardHolds(guard, guarded, [], newBudget(PIECE_UNITS));
  } catch (error) {
    if (!(error instanceof BudgetSpent)) throw error;
    return false;
  }
}
