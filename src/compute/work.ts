/** What a process that computes does for each kind of job. */

import { foldWork } from "./fold_work.ts";
import type { ComputeKind, HeadOf, ResultOf } from "./messages.ts";
import { rowWork } from "./row_work.ts";

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

export function beginWork(head: HeadOf<ComputeKind>): Work {
  switch (head.kind) {
    case "fold":
      return foldWork(head);
    case "row":
      return rowWork(head);
  }
}
