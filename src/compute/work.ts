/** Chooses what a compute process does for each kind of job. */

import { foldWork } from "./fold_work.ts";
import type { ComputeKind, HeadOf, ResultOf } from "./messages.ts";
import { rowWork } from "./row_work.ts";

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

export function beginWork(head: HeadOf<ComputeKind>): Work {
  switch (head.kind) {
    case "fold":
      return foldWork(head);
    case "row":
      return rowWork(head);
  }
}
