/** Counts what maps and sets of texts read while work runs: each look-up reads a whole text. */

import type { Steps } from "../../src/domain/fairness/pieces.ts";
import { TextMap } from "../../src/domain/lookup/text_map.ts";

export interface LookedUp<T> {
  readonly value: T;
  /** Characters of all texts that were looked up, each time anew. */
  readonly total: number;
  /** The same between two pauses, at most. */
  readonly longest: number;
  readonly pauses: number;
}

/** Runs all steps. */
export function lookedUp<T>(steps: Steps<T>): LookedUp<T> {
  const { get, has, set } = TextMap.prototype;
  let [total, longest, pauses] = [0, 0, 0];
  TextMap.prototype.get = function (text) {
    total += text.length;
    return get.call(this, text);
  };
  TextMap.prototype.has = function (text) {
    total += text.length;
    return has.call(this, text);
  };
  TextMap.prototype.set = function (text, value) {
    total += text.length;
    return set.call(this, text, value);
  };
  try {
    for (;;) {
      const before = total;
      const step = steps.next();
      longest = Math.max(longest, total - before);
      if (step.done) return { value: step.value, total, longest, pauses };
      pauses++;
    }
  } finally {
    Object.assign(TextMap.prototype, { get, has, set });
  }
}
