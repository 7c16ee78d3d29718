/**
 * What a written event sets off, with every template resolved: it is computed from the event alone,
 * before the event is stored, and commits with it. Decisions 11 and 12.
 */

import type { Budget } from "../budget.ts";
import type { StoredEvent } from "../event.ts";
import type { JsonObject } from "../json.ts";
import type { Steps } from "../pieces.ts";
import type { StreamKey } from "../stream_key.ts";
import type { ModuleAnswers, ModuleQuestion } from "./module_question.ts";

/** An event to be written; type and data are checked when that happens, by the spec of then. */
export interface Emission {
  /** Canonical, so it names its stream. */
  readonly key: StreamKey;
  readonly aggregateType: string;
  readonly id: string;
  readonly eventType: string;
  readonly data: JsonObject;
}

/** A later event of that type in that stream ends the wait. */
export interface CancelRule {
  readonly key: StreamKey;
  readonly eventType: string;
}

export type Action =
  | { readonly kind: "emit"; readonly emission: Emission }
  | {
    readonly kind: "schedule";
    readonly delayMs: number;
    readonly emission: Emission;
    readonly cancelOn: readonly CancelRule[];
  };

/** Why one entry of `implications` came to nothing; the others are not touched by it. */
export interface ReactionFailure {
  /** Dotted location of the entry in the spec. */
  readonly path: string;
  readonly message: string;
  /** What a module did, for the error record; absent where none was to blame. */
  readonly cause?: JsonObject;
}

export interface Reactions {
  readonly actions: readonly Action[];
  readonly failures: readonly ReactionFailure[];
  /** What modules are to be asked before the rest is of use; absent where nothing is. */
  readonly questions?: readonly ModuleQuestion[];
}

/** What the events of one write may still spend on computing their actions; they share it. */
export type ReactionWork = Budget;

/**
 * The `implications` of one event type, compiled. Total and bounded; never throws. Without `work`
 * the event has a full share of its own.
 *
 * It stops as soon as the write is sure to be refused: then there are more actions than
 * `limits.implicationActionsMax`, or their keys, types and data are larger than
 * `limits.writeStoredBytesMax`. Who counts the actions of a write and the bytes they store sees it.
 *
 * Where it gives questions it is to be called again, with the answers added to those it was given.
 */
export interface CompiledReactions {
  (event: StoredEvent, work?: ReactionWork, answers?: ModuleAnswers): Reactions;
  /** The same; it may rest where it computes much. */
  readonly steps: (
    event: StoredEvent,
    work?: ReactionWork,
    answers?: ModuleAnswers,
  ) => Steps<Reactions>;
}
