/**
 * What a fold costs, in the units of `domain/budget.ts`. Every copy, every new key, every step of a
 * path and every element looked at is charged, so that no handler can blow up memory or time:
 * neither by doubling its state nor by walking a long list for each event. What is charged for
 * memory is its bytes, which cost less time than as many units may. Spec: "Synchronous read /
 * rebuild budget"; states of at most `limits.stateBytesMax`.
 */

import { type Budget, newBudget } from "../budget.ts";
import { limits } from "../limits.ts";
import { StateTooLarge } from "./handler.ts";

/** What one fold may charge in all; a few seconds of the worst work a handler can ask for. */
export const FOLD_UNITS = 32 * limits.stateBytesMax;

/** Charged for an object, an array, a key or an element beside the text it holds: their heap. */
export const CONTAINER_UNITS = 64;
export const SLOT_UNITS = 16;
/** Charged for an operation carried out and for an element or a key looked at: their time. */
export const STEP_UNITS = 8;

/** Charged for a key of an object that is listed, and for what is done with it then: its time. */
export const KEY_UNITS = 24;
/** Characters and elements that take as long as one unit when they are compared or moved. */
const COMPARED_TOGETHER = 8;
const MOVED_TOGETHER = 2;

/** A full budget, for one fold. */
export function newFoldBudget(): Budget {
  return newBudget(FOLD_UNITS);
}

/** What comparing two texts costs that have so many characters in common. */
export function comparedUnits(characters: number): number {
  return Math.floor(characters / COMPARED_TOGETHER);
}

/** What moving so many elements of an array costs. */
export function movedUnits(elements: number): number {
  return Math.floor(elements / MOVED_TOGETHER);
}

/** Throws {@link StateTooLarge} for a container deeper than a state may nest; the root is 1. */
export function checkLevel(level: number): void {
  if (level > limits.stateDepthMax) {
    throw new StateTooLarge(`The state nests deeper than ${limits.stateDepthMax} levels`);
  }
}
