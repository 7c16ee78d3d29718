/** One job of a process that computes, from the pieces of its input to its result. */

import type { ComputeKind, ResultOf } from "./messages.ts";

/** One job, as the process that computes sees it. */
export interface Work<K extends ComputeKind = ComputeKind> {
  /**
   * Takes the next piece of the input, whose bytes are its own. True where the result is known
   * without the rest.
   */
  take(name: string, piece: Uint8Array<ArrayBuffer>): boolean;
  /** Called once, when the input is complete or `take` has said so. */
  end(): WorkEnd<K>;
}

export interface WorkEnd<K extends ComputeKind = ComputeKind> {
  readonly result: ResultOf<K>;
  /** What goes with it, in any pieces. */
  readonly pieces: readonly Uint8Array[];
}
