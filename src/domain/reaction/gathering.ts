/** The actions of one event while they are computed, and when there are too many of them. */

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
