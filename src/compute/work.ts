/** Chooses what a compute process does for each kind of job. */

import type { Work } from "./job.ts";
import { foldWork } from "./fold_work.ts";
import type { ComputeKind, HeadOf } from "./messages.ts";
import { rowWork } from "./row_work.ts";

export function beginWork(head: HeadOf<ComputeKind>): Work {
  switch (head.kind) {
    case "fold":
      return foldWork(head);
    case "row":
      return rowWork(head);
  }
}
