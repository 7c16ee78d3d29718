/**
 * The messages between the pool and a compute process. A job is a head, an input in pieces, and
 * a result whose bytes are fetched in pieces too. So no frame is larger than a piece, however
 * large the job is.
 */

import type { Refusal } from "../domain/refusal.ts";
import type { StreamKey } from "../domain/identifier.ts";
import type { AnswerMessage } from "../runners/runner_process.ts";

/**
 * The closed list of job kinds, with the head and the result of each. A new kind needs a line
 * here, a file for its work, and a line in `work.ts`.
 */
export interface ComputeKinds {
  readonly fold: { readonly head: FoldHead; readonly result: FoldResult };
  readonly row: { readonly head: RowHead; readonly result: RowResult };
}

export type ComputeKind = keyof ComputeKinds;
export type HeadOf<K extends ComputeKind> = ComputeKinds[K]["head"];
export type ResultOf<K extends ComputeKind> = ComputeKinds[K]["result"];

/**
 * Folds events into a state. The pieces of the input come in this order: `handlers`, an object
 * with the handler definitions by event type; `base`, the state to begin with, or no piece for
 * the empty state; `events`, the texts of the events, each followed by a line feed.
 */
export interface FoldHead {
  readonly kind: "fold";
  /** Identifies the handlers: equal hashes mean equal definitions. */
  readonly foldHash: string;
  /** The budget of the fold. */
  readonly units: number;
  /** The size of all `base` pieces together. */
  readonly baseBytes: number;
}

/** The bytes of the result are the state as JSON text. */
export type FoldResult =
  | { readonly ok: true }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Computes a row as far as the known states allow. The pieces of the input: `definition`, an
 * object with the document of the projection and with the aggregate types and singletons that
 * it knows; `states`, one after the other in the order of the head.
 */
export interface RowHead {
  readonly kind: "row";
  readonly key: string;
  /** Streams with the size of their states in bytes; 0 for a stream without events. */
  readonly states: readonly (readonly [stream: StreamKey, bytes: number])[];
}

/** The bytes of a `data` result are the columns of the row as JSON text. */
export type RowResult =
  | { readonly kind: "data" }
  /** All streams that the next step needs, known or not. */
  | { readonly kind: "wanted"; readonly streams: readonly StreamKey[] }
  | { readonly kind: "refused"; readonly refusal: Refusal };

export type ComputeRequest =
  /** Begins a new job and drops what is left of the one before. */
  | { readonly kind: "begin"; readonly head: HeadOf<ComputeKind> }
  /** The body is the next piece of the input. */
  | { readonly kind: "piece"; readonly name: string }
  /** The input is complete. */
  | { readonly kind: "end" }
  /** Asks for the next bytes of the result. */
  | { readonly kind: "more" };

export type ComputeAnswer =
  & AnswerMessage
  & (
    | { readonly kind: "begun" }
    /** `isOver`: the result is known without the rest of the input. */
    | { readonly kind: "taken"; readonly isOver: boolean }
    /** The body holds the first of `bytes` bytes. */
    | { readonly kind: "done"; readonly result: ResultOf<ComputeKind>; readonly bytes: number }
    | { readonly kind: "bytes" }
    /** A bug in Daybook: no user input leads here. */
    | { readonly kind: "broken"; readonly reason: string }
  );

/** The largest piece in bytes, of an input and of a result. */
export const PIECE_BYTES_MAX = 512 * 1024;
