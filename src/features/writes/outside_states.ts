/**
 * States that take long to fold. A transaction that needs some ends, they are folded outside of it,
 * and it runs again. And those that are too long, or were computed by modules.
 */

import type { StreamKey } from "../../domain/identifier.ts";
import type { JsonObject } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { CompiledAggregateType } from "../../domain/spec/compiled.ts";
import type { Host } from "../../host.ts";
import type { FoldedState } from "../states/fold_stream.ts";
import type { AggregateReader } from "../states/read_aggregate.ts";

export interface ConditionTools {
  readonly reader: Pick<AggregateReader, "readSmallAt" | "readFolded" | "keepState">;
  readonly host: Host;
}

/** States that were folded outside of the transaction, by name, or why there are none. */
export type OutsideStates = Map<string, Outcome<FoldedState>>;

/** A stream whose state is looked at. */
export interface Looked {
  readonly key: StreamKey;
  readonly type: CompiledAggregateType;
}

/** The transaction has to wait for states that take long to fold. */
export class StatesNeeded extends Error {
  override readonly name = "StatesNeeded";
  constructor(readonly needed: readonly Looked[]) {
    super("states are to be folded first");
  }
}

export function nameOf(key: StreamKey, { foldHash }: CompiledAggregateType): string {
  return `${key} ${foldHash}`;
}

/** Folds states that a transaction needs; after too many runs, refuses them. */
export async function foldOutside(
  { reader }: ConditionTools,
  tenant: number,
  { needed }: StatesNeeded,
  mayRunAgain: boolean,
  outside: OutsideStates,
): Promise<void> {
  const options = { synchronous: false, bytesMax: limits.foldBytesMax };
  await Promise.all(needed.map(async ({ key, type }) => {
    const folded = mayRunAgain
      ? await reader.readFolded(tenant, key, type, options)
      : refuse(TOO_FAST);
    if (!folded.ok) return void outside.set(nameOf(key, type), folded);
    const { head: { length, bytes, generation }, stateJson } = folded.value;
    outside.set(nameOf(key, type), accept({ length, bytes, generation, stateJson }));
  }));
}

const TOO_FAST = {
  kind: "modules_unavailable",
  message: "Others write to these aggregates faster than guards can judge them",
  retryAfterMs: 1_000,
} as const;

/** A state that modules have computed. */
export function parseState(text: string): Outcome<JsonObject> {
  const isShort = text.length <= limits.guardStateCharactersMax;
  return isShort ? accept(JSON.parse(text)) : refuseState(text.length);
}

export function refuseState(characters: number) {
  const limit = limits.guardStateCharactersMax;
  const message = `A state has ${characters} characters of JSON, more than the ${limit} that ` +
    "guards and preconditions may look at";
  return refuse({ kind: "fold_budget_exceeded", message, bytes: characters, limit });
}
