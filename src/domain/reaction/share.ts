/**
 * Limits each template and condition to a share of its event's budget.
 *
 * A single template or condition is computed without a pause, so the limit keeps it from
 * holding up others. The computation can pause between them.
 */

import { type Evaluation } from "../handler/evaluation.ts";
import { limits } from "../limits.ts";

/** The same function, limited to `limits.pieceReactionWorkBytesMax` of the budget. */
export function withinShare<T>(
  compute: (evaluation: Evaluation) => T,
): (evaluation: Evaluation) => T {
  return (evaluation) => {
    const { budget } = evaluation;
    const kept = budget.left - limits.pieceReactionWorkBytesMax;
    if (kept <= 0) return compute(evaluation);
    budget.left -= kept;
    try {
      return compute(evaluation);
    } finally {
      budget.left += kept;
    }
  };
}
