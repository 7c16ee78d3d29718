/**
 * The transactions that the program writes, each made from the seed and its number alone. So
 * the content after any number of them is known without a store.
 */

import { createRandom } from "../crash/random.ts";

/** One step of a transaction, in order. */
export type Step =
  | { readonly kind: "set"; readonly key: string; readonly value: string }
  | { readonly kind: "clear"; readonly key: string }
  /** Clears all keys from one to before another, which no record of the redo log can express. */
  | { readonly kind: "clear_range"; readonly from: string; readonly to: string };

/** Every transaction sets this key to its number. */
export const LAST = "last";

const KEYS = 40;
/** More than a record of the redo log may hold, given the sizes in `store_program.ts`. */
const LARGE_CHARACTERS = 9_000;

function keyOf(index: number): string {
  return `k${String(index).padStart(2, "0")}`;
}

/** The steps of transaction `number`, counted from 1. */
export function stepsOf(seed: number, number: number): Step[] {
  const random = createRandom(seed).fork(number);
  const steps: Step[] = [];
  if (random.chance(0.008)) {
    const from = random.below(KEYS);
    steps.push({ kind: "clear_range", from: keyOf(from), to: keyOf(from + random.below(6)) });
  }
  for (let left = 1 + random.below(4); left > 0; left--) {
    const key = keyOf(random.below(KEYS));
    const characters = random.chance(0.008) ? LARGE_CHARACTERS : random.below(700);
    if (random.chance(0.2)) steps.push({ kind: "clear", key });
    else steps.push({ kind: "set", key, value: `${number}.`.padEnd(characters, key) });
  }
  return [...steps, { kind: "set", key: LAST, value: String(number) }];
}

/** What the store holds after the first `count` transactions, sorted by key. */
export function contentAfter(seed: number, count: number): [key: string, value: string][] {
  const content = new Map<string, string>();
  for (let number = 1; number <= count; number++) {
    for (const step of stepsOf(seed, number)) {
      if (step.kind === "set") content.set(step.key, step.value);
      else if (step.kind === "clear") content.delete(step.key);
      else for (const key of [...content.keys()]) if (isWithin(key, step)) content.delete(key);
    }
  }
  return [...content].sort(([a], [b]) => a < b ? -1 : 1);
}

function isWithin(key: string, { from, to }: { from: string; to: string }): boolean {
  return key >= from && key < to;
}
