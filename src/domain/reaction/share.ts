/**
 * What is computed in one piece has a share of the budget of its event, so that no single template
 * or condition holds up others. Between such pieces the computing rests.
 */

import { type Evaluation } from "../handler/evaluation.ts";
import { limits } from "../limits.ts";

/** The same function; it takes at most `limits.pieceReactionWorkBytesMax` of the budget. */
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
