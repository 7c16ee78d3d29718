/**
 * What the pool asks of a process that computes, and what it answers. A job is a head, an input in
 * pieces, and a result with bytes that are fetched in pieces too: so no frame is larger than a
 * piece, however large the job.
 */

import type { Refusal } from "../domain/refusal.ts";
import type { StreamKey } from "../domain/stream_key.ts";
import type { AnswerMessage } from "../runners/runner_process.ts";

/**
 * The closed list of what can be computed: the head of each kind, and what it results in. A new
 * kind is a line here, a file for its work, and a line in `work.ts`.
 */
export interface ComputeKinds {
  readonly fold: { readonly head: FoldHead; readonly result: FoldResult };
  readonly row: { readonly head: RowHead; readonly result: RowResult };
}

export type ComputeKind = keyof ComputeKinds;
export type HeadOf<K extends ComputeKind> = ComputeKinds[K]["head"];
export type ResultOf<K extends ComputeKind> = ComputeKinds[K]["result"];

/**
 * Folds events into a state. Pieces of the input, in this order: `handlers`, an object with the
 * definitions by event type; `base`, the state to begin with, or none for the empty one; `events`,
 * texts of events, a line feed after each.
 */
export interface FoldHead {
  readonly kind: "fold";
  /** Names the handlers: the same name, the same definitions. */
  readonly foldHash: string;
  /** What the fold may charge. */
  readonly units: number;
  /** Of all pieces of `base`. */
  readonly baseBytes: number;
}

/** Bytes: the state as JSON text. */
export type FoldResult =
  | { readonly ok: true }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Computes a row as far as the states that are known allow. Pieces of the input: `definition`, an
 * object with the document of the projection, and with the aggregate types and the singletons that
 * it knows; `states`, one after the other in their order.
 */
export interface RowHead {
  readonly kind: "row";
  readonly key: string;
  /** Streams, and the bytes of their states; 0 for a stream without events. */
  readonly states: readonly (readonly [stream: StreamKey, bytes: number])[];
}

/** Bytes, of a row that is computed: its columns as JSON text. */
export type RowResult =
  | { readonly kind: "data" }
  /** All streams of the next step, known or not. */
  | { readonly kind: "wanted"; readonly streams: readonly StreamKey[] }
  | { readonly kind: "refused"; readonly refusal: Refusal };

export type ComputeRequest =
  /** A new job; what is left of the one before is forgotten. */
  | { readonly kind: "begin"; readonly head: HeadOf<ComputeKind> }
  /** The body is the next piece of the input. */
  | { readonly kind: "piece"; readonly name: string }
  /** The input is complete. */
  | { readonly kind: "end" }
  /** The next bytes of the result. */
  | { readonly kind: "more" };

export type ComputeAnswer =
  & AnswerMessage
  & (
    | { readonly kind: "begun" }
    /** `isOver`: the result is known without the rest of the input. */
    | { readonly kind: "taken"; readonly isOver: boolean }
    /** The body is the first of so many bytes. */
    | { readonly kind: "done"; readonly result: ResultOf<ComputeKind>; readonly bytes: number }
    | { readonly kind: "bytes" }
    /** A fault of ours: nothing that users bring leads here. */
    | { readonly kind: "broken"; readonly reason: string }
  );

/** The most bytes of one piece, on the way in and on the way out. */
export const PIECE_BYTES_MAX = 512 * 1024;
