/** Collects the actions of one event while they are computed, and tells when they are too many. */

import type { Budget } from "../budget.ts";
import { limits } from "../limits.ts";
import type { Action } from "./action.ts";
import type { JsonObject } from "../json.ts";
import type { SizedEmission } from "./emission.ts";
import type { ModuleAnswers } from "./module_question.ts";

export interface Gathering {
  readonly actions: Action[];
  /** The least number of bytes that storing the actions takes. */
  bytes: number;
  readonly answers: ModuleAnswers;
  /** An entry with several parts pauses once less than this is left of the budget. */
  restBelow: number;
  /** The part at which a paused entry continues; undefined when it starts or is done. */
  next?: number;
  /** The cause of a failure that a module is to blame for. */
  cause?: JsonObject;
}

/** True once the write is certain to be refused: computing more would only cost memory. */
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

/** Maximum parts of an entry computed in one time slice, however little they charge. */
const PARTS_MAX = 1_000;

/** Ends the time slice before the part `next`, after too many `parts` or too much work. */
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
