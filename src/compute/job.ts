/** One job of a compute process, from the pieces of its input to its result. */

import type { ComputeKind, ResultOf } from "./messages.ts";

/** One job, as the compute process sees it. */
export interface Work<K extends ComputeKind = ComputeKind> {
  /**
   * Takes the next piece of the input and owns its bytes. Returns true if the result is known
   * without the rest.
   */
  take(name: string, piece: Uint8Array<ArrayBuffer>): boolean;
  /** Called once, when the input is complete or `take` has returned true. */
  end(): WorkEnd<K>;
}

export interface WorkEnd<K extends ComputeKind = ComputeKind> {
  readonly result: ResultOf<K>;
  /** The bytes of the result, cut into any pieces. */
  readonly pieces: readonly Uint8Array[];
}
