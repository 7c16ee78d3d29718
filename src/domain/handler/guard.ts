/**
 * Guards: rules of an event type that must hold whenever such an event is written.
 *
 * A guard is a predicate over the event, the state before it and the states of other aggregates.
 * It is total like a handler, and what it does is charged. See docs/reference/guards.md.
 */

import { type Budget, BudgetSpent, newPieceOf } from "../budget.ts";
import type { StoredEvent } from "../event.ts";
import { parseIdentifier, type StreamKey, streamKey } from "../identifier.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { refuse } from "../refusal.ts";
import type { Evaluation } from "./evaluation.ts";
import type { Handler } from "./handler.ts";
import type { Texts } from "../lookup/text_map.ts";

export interface Guard {
  /** What the writer is told if it does not hold. */
  readonly message: string;
  /** The aggregates of its `with`, in the order of its bindings. */
  readonly others: readonly GuardOther[];
  /** False if nothing in it can name the state of its own aggregate. */
  readonly looksAtState: boolean;
  /** Throws `BudgetSpent` when the budget is spent. */
  readonly holds: (evaluation: Evaluation) => boolean;
}

export interface GuardOther {
  readonly alias: string;
  readonly aggregateType: string;
  /** The id, as the event and the state before it give it. */
  readonly idOf: (evaluation: Evaluation) => JsonValue | undefined;
}

/** An event, and the state before it. */
export interface GuardedEvent {
  readonly state: JsonObject;
  readonly event: StoredEvent;
}

/**
 * The other aggregates that a guard looks at; undefined if the id of one is no identifier. Such a
 * guard does not hold.
 * @throws {BudgetSpent} like {@link guardHolds}.
 */
export function othersOf(
  { others }: Guard,
  { state, event }: GuardedEvent,
  singletons: Texts,
  budget: Budget,
): readonly { readonly key: StreamKey; readonly aggregateType: string }[] | undefined {
  const found: { key: StreamKey; aggregateType: string }[] = [];
  // Bounded: the aggregates that one guard of a spec names.
  for (const { aggregateType, idOf } of others) {
    const id = inPiece(budget, (piece) => idOf({ state, event, bindings: [], budget: piece }));
    const parsed = typeof id === "string" ? parseIdentifier(id, singletons) : undefined;
    if (parsed === undefined) return undefined;
    found.push({ key: streamKey(aggregateType, parsed.value), aggregateType });
  }
  return found;
}

/**
 * Whether the guard holds. `bindings`: the states of the other aggregates, in their order.
 * @throws {BudgetSpent} if that takes more than one time slice, or than the budget has left.
 */
export function guardHolds(
  { holds }: Pick<Guard, "holds">,
  { state, event }: GuardedEvent,
  bindings: JsonObject[],
  budget: Budget,
): boolean {
  return inPiece(budget, (piece) => holds({ state, event, bindings, budget: piece }));
}

/** The states of an aggregate in the past. Asking for them in the order of time is quickest. */
export interface PastStates {
  /**
   * The state after the events up to that second, or up to the one before it.
   * @throws {BudgetSpent} like {@link guardHolds}, for each event.
   */
  at(seconds: number, isBefore: boolean, budget: Budget): JsonObject;
  /** Moves to that state event by event, so that `at` has it. */
  reach(seconds: number, isBefore: boolean, budget: Budget): Generator<void, JsonObject, void>;
}

interface PastState {
  state: JsonObject;
  folded: number;
  seconds: number;
}

export function openPastStates(
  handlers: ReadonlyMap<string, Handler>,
  events: readonly StoredEvent[],
): PastStates {
  const reached = new Map<boolean, PastState>();

  function* reach(
    seconds: number,
    isBefore: boolean,
    budget: Budget,
  ): Generator<void, JsonObject, void> {
    let past = reached.get(isBefore);
    if (past === undefined || past.seconds > seconds) past = { state: {}, folded: 0, seconds };
    // If the budget is spent on the way, the next one begins again.
    reached.delete(isBefore);
    past.seconds = seconds;
    // Charged: each event by its handler.
    for (; past.folded < events.length; past.folded++) {
      const event = events[past.folded]!;
      const { timestamp } = event.metadata;
      if (isBefore ? timestamp >= seconds : timestamp > seconds) break;
      const handler = handlers.get(event.type);
      if (handler === undefined) continue;
      const { state } = past;
      past.state = inPiece(budget, (piece) => handler(state, event, piece));
      yield;
    }
    reached.set(isBefore, past);
    return past.state;
  }

  return {
    at(...moment) {
      const steps = reach(...moment);
      // Bounded: `reach` charges its steps.
      for (;;) {
        const step = steps.next();
        if (step.done) return step.value;
      }
    },
    reach,
  };
}

/**
 * Whether the guard held for an event that is stored. Others are as they were when the second of
 * the event began or when it ended: their order within the second is not known. `others`: in their
 * order, undefined for the aggregate of the event itself.
 * @throws {BudgetSpent} like {@link guardHolds}.
 */
export function guardHeld(
  guard: Guard,
  guarded: GuardedEvent,
  others: readonly (PastStates | undefined)[],
  budget: Budget,
): boolean {
  const { timestamp } = guarded.event.metadata;
  return (others.length === 0 ? [true] : [true, false]).some((isBefore) => {
    const states = others.map((other) => other?.at(timestamp, isBefore, budget) ?? guarded.state);
    return guardHolds(guard, guarded, states, budget);
  });
}

/** Lets `run` have as much of the budget as fits into one time slice. */
export function inPiece<T>(budget: Budget, run: (piece: Budget) => T): T {
  const piece = newPieceOf(budget);
  const given = piece.left;
  try {
    return run(piece);
  } finally {
    budget.left -= given - piece.left;
  }
}

/** The refusal of a write whose guards or preconditions take too much work. */
export function refuseGuardWork(error: unknown, limit: number) {
  if (!(error instanceof BudgetSpent)) throw error;
  const message = "Judging the guards and preconditions takes more work than one write may";
  return refuse({ kind: "fold_budget_exceeded", message, bytes: limit, limit });
}
