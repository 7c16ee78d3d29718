/**
 * The actions of an event: what it sets off, with every template resolved.
 *
 * Actions are computed from the event alone, before it is stored, and commit with it. See
 * docs/reference/reactions.md.
 */

import type { Budget } from "../budget.ts";
import type { StoredEvent } from "../event.ts";
import type { JsonObject } from "../json.ts";
import type { Steps } from "../fairness/pieces.ts";
import type { StreamKey } from "../identifier.ts";
import type { ModuleAnswers, ModuleQuestion } from "./module_question.ts";

/**
 * An event to write. Its type and data are checked when it is written, against the spec then
 * current.
 */
export interface Emission {
  /** In canonical form, so it names the stream. */
  readonly key: StreamKey;
  readonly aggregateType: string;
  readonly id: string;
  readonly eventType: string;
  readonly data: JsonObject;
}

/** Cancels a scheduled event when an event of this type is written to this stream. */
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

/** Why one entry of `implications` failed; the other entries are not affected. */
export interface ReactionFailure {
  /** Dotted location of the entry in the spec. */
  readonly path: string;
  readonly message: string;
  /** What a module did wrong, for the error record; absent if no module is to blame. */
  readonly cause?: JsonObject;
}

export interface Reactions {
  readonly actions: readonly Action[];
  readonly failures: readonly ReactionFailure[];
  /**
   * Questions that modules must answer before the actions are complete; absent if there are
   * none.
   */
  readonly questions?: readonly ModuleQuestion[];
}

/** The work that all events of one write may still spend on computing their actions. */
export type ReactionWork = Budget;

/**
 * The compiled `implications` of one event type. Calling them is bounded and never throws.
 * Without `work` the event gets a full budget of its own.
 *
 * The computation stops as soon as the write is certain to be refused: there are more actions
 * than `limits.implicationActionsMax`, or their keys, types and data exceed
 * `limits.writeStoredBytesMax`. The caller notices when it counts the actions of the write and
 * the bytes they store.
 *
 * If the result has questions, call again with their answers added to those already given.
 */
export interface CompiledReactions {
  (event: StoredEvent, work?: ReactionWork, answers?: ModuleAnswers): Reactions;
  /** The same computation, which can pause between time slices. */
  readonly steps: (
    event: StoredEvent,
    work?: ReactionWork,
    answers?: ModuleAnswers,
  ) => Steps<Reactions>;
}
