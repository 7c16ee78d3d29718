/** The actions of one event while they are computed, and when there are too many of them. */

import type { Budget } from "../budget.ts";
import { limits } from "../limits.ts";
import type { Action } from "./action.ts";
import type { JsonObject } from "../json.ts";
import type { SizedEmission } from "./emission.ts";
import type { ModuleAnswers } from "./module_question.ts";

export interface Gathering {
  readonly actions: Action[];
  /** Bytes that storing them takes at least. */
  bytes: number;
  readonly answers: ModuleAnswers;
  /** An entry with parts rests where less than that is left of the budget. */
  restBelow: number;
  /** The part with which such an entry goes on; undefined where it begins or is done. */
  next?: number;
  /** Of the failure that a module is to blame for. */
  cause?: JsonObject;
}

/** True once the write is sure to be refused: computing more would only cost memory. */
export function isOverfull({ actions, bytes }: Gathering): boolean {
  return actions.length > limits.implicationActionsMax || bytes > limits.writeStoredBytesMax;
}

export function gatherEmit(gathering: Gathering, { emission, bytes }: SizedEmission): void {
  gathering.actions.push({ kind: "emit", emission });
  gathering.bytes += bytes;
}

export function gatherSchedule(
  gathering: Gathering,
  action: Extract<Action, { kind: "schedule" }>,
  bytes: number,
): void {
  gathering.actions.push(action);
  // Bounded: `limits.cancelRulesMax`.
  const rules = action.cancelOn.reduce((sum, each) => sum + each.key.length, 0);
  gathering.bytes += bytes + rules;
}

/** Parts of an entry that are computed in one piece, however little they charge. */
const PARTS_MAX = 1_000;

/** Ends a piece of an entry, before the part `next`, where it has computed `parts`, or much. */
export function mayRest(
  gathering: Gathering,
  budget: Budget,
  next: number,
  parts: number,
): boolean {
  if (parts < PARTS_MAX && budget.left >= gathering.restBelow) return false;
  gathering.next = next;
  return true;
}
