/** Seeded faults, in one of three commits, that a correct product hides from its clients. */

import { createRandom } from "../crash/random.ts";
import type { Fault } from "../support/faulty_engine.ts";

export interface HiddenFaults {
  /** For `faultyEngine`. */
  readonly plan: (commit: number) => Fault | undefined;
  /** How many there were, by kind. */
  readonly counts: Readonly<Record<"lost_landed" | "lost_not_landed" | "conflict", number>>;
}

export function hiddenFaults(seed: number): HiddenFaults {
  const random = createRandom(seed);
  const counts = { lost_landed: 0, lost_not_landed: 0, conflict: 0 };
  function plan(): Fault | undefined {
    const draw = random.next();
    if (draw < 0.12) {
      counts.lost_landed++;
      return { kind: "lose_reply", landed: true };
    }
    if (draw < 0.24) {
      counts.lost_not_landed++;
      return { kind: "lose_reply", landed: false };
    }
    if (draw > 0.34) return undefined;
    counts.conflict++;
    return { kind: "conflict", times: 1 + random.below(3) };
  }
  return { plan, counts };
}
