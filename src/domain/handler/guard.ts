/**
 * Guards: rules of an event type that must hold whenever such an event is written.
 *
 * A guard is a predicate over the event, the state before it and the states of other aggregates.
 * It is total like a handler, and what it does is charged. See docs/reference/guards.md.
 */

import { type Budget, BudgetSpent, newBudget, PIECE_UNITS } from "../budget.ts";
import type { StoredEvent } from "../event.ts";
import { parseIdentifier, type StreamKey, streamKey } from "../identifier.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { refuse } from "../refusal.ts";
import type { Evaluation } from "./evaluation.ts";

export interface Guard {
  /** What the writer is told if it does not hold. */
  readonly message: string;
  /** The aggregates of its `with`, in the order of its bindings. */
  readonly others: readonly GuardOther[];
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
  singletons: ReadonlySet<string>,
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

/** Lets `run` have as much of the budget as fits into one time slice. */
export function inPiece<T>(budget: Budget, run: (piece: Budget) => T): T {
  const given = Math.min(PIECE_UNITS, Math.max(0, budget.left));
  const piece = newBudget(given);
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
