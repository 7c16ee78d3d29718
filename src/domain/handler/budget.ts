/**
 * What a fold may spend. Every copy, every new key and every element looked at is charged, so
 * that no handler can blow up memory or time: neither by doubling its state nor by walking a long
 * list for each event. Spec: "Synchronous read / rebuild budget"; states of at most
 * `limits.stateBytesMax`.
 */

import { limits } from "../limits.ts";
import { type FoldBudget, StateTooLarge } from "./handler.ts";

/** What one fold may charge in all; a few seconds of the worst work a handler can ask for. */
export const FOLD_UNITS = 32 * limits.stateBytesMax;

/** Charged for an object, an array, a key or an element beside the text it holds: their heap. */
export const CONTAINER_BYTES = 64;
export const SLOT_BYTES = 16;
/** Charged for an operation carried out and for an element looked at: their time. */
export const STEP_BYTES = 8;

/** A full budget, for one fold. */
export function newFoldBudget(): FoldBudget {
  return { bytesLeft: FOLD_UNITS };
}

/** Takes `bytes` from the budget; throws {@link StateTooLarge} when they are not there. */
export function charge(budget: FoldBudget, bytes: number): void {
  budget.bytesLeft -= bytes;
  if (budget.bytesLeft < 0) {
    throw new StateTooLarge("Folding would copy more into the state than one fold may");
  }
}

/** Throws {@link StateTooLarge} for a container deeper than a state may nest; the root is 1. */
export function checkLevel(level: number): void {
  if (level > limits.stateDepthMax) {
    throw new StateTooLarge(`The state nests deeper than ${limits.stateDepthMax} levels`);
  }
}
