/**
 * What a fold costs, in the units of `domain/budget.ts`.
 *
 * A fold charges for every copy, new key, path step and element it looks at. No handler can
 * therefore exhaust memory or time, neither by doubling its state nor by walking a long list
 * for each event. Memory is charged one unit a byte, which is more than the time it takes. The
 * budget follows from the largest state allowed, `limits.stateBytesMax`. See
 * docs/reference/reading.md.
 */

import { type Budget, newBudget } from "../budget.ts";
import { limits } from "../limits.ts";
import { StateTooLarge } from "./handler.ts";

/**
 * Units one fold may charge in total; a few seconds of the most expensive work a handler can
 * ask for.
 */
export const FOLD_UNITS = 32 * limits.stateBytesMax;

/** Heap overhead: charged for each object or array, and for each key or element beside its text. */
export const CONTAINER_UNITS = 64;
export const SLOT_UNITS = 16;
/** Time: charged for each operation that runs and for each element or key that is examined. */
export const STEP_UNITS = 8;

/** Time: charged for each key of an object that is listed, including what is then done with it. */
export const KEY_UNITS = 24;
/** Comparing this many characters, or moving this many elements, takes as long as one unit. */
const COMPARED_TOGETHER = 8;
const MOVED_TOGETHER = 2;

/** A full budget, for one fold. */
export function newFoldBudget(): Budget {
  return newBudget(FOLD_UNITS);
}

/** Units for comparing two strings that have this many characters in common. */
export function comparedUnits(characters: number): number {
  return Math.floor(characters / COMPARED_TOGETHER);
}

/** Units for moving this many elements of an array. */
export function movedUnits(elements: number): number {
  return Math.floor(elements / MOVED_TOGETHER);
}

/**
 * Checks the level of a container, where the root of the state is level 1.
 *
 * @throws {StateTooLarge} when the container nests deeper than a state may.
 */
export function checkLevel(level: number): void {
  if (level > limits.stateDepthMax) {
    throw new StateTooLarge(`The state nests deeper than ${limits.stateDepthMax} levels`);
  }
}
