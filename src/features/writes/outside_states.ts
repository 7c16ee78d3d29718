/**
 * States that take long to fold. A transaction that needs some ends, they are folded outside of it,
 * and it runs again. And those that are too long, or were computed by modules.
 */

import { type Budget, BudgetSpent } from "../../domain/budget.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { JsonObject } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { parseJsonInTime } from "../../domain/parse_json_steps.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { CompiledAggregateType } from "../../domain/spec/compiled.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { readSnapshotHeader } from "../../store/streams/snapshots.ts";
import type { StreamHead } from "../../store/streams/stream_head.ts";
import { readHead } from "../../store/streams/streams.ts";
import type { FoldedState } from "../states/folded_state.ts";
import type { AggregateReader } from "../states/read_aggregate.ts";

export interface ConditionTools {
  readonly engine: Pick<Engine, "snapshot">;
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

/**
 * Folds states that a transaction needs, one after the other; after too many runs, refuses them. Of
 * a state that is too long, only the refusal is kept.
 */
export async function foldOutside(
  tools: ConditionTools,
  tenant: number,
  { needed }: StatesNeeded,
  mayRunAgain: boolean,
  outside: OutsideStates,
): Promise<void> {
  for (const looked of needed) {
    const folded = mayRunAgain ? await foldOne(tools, tenant, looked) : refuse(TOO_FAST);
    outside.set(nameOf(looked.key, looked.type), folded);
  }
}

async function foldOne(
  { engine, reader }: ConditionTools,
  tenant: number,
  { key, type }: Looked,
): Promise<Outcome<FoldedState>> {
  const bytes = type.cached ? await storedBytes(engine, tenant, key, type) : 0;
  const bytesMax = limits.guardStateCharactersMax * UTF8_BYTES_MAX;
  if (bytes > bytesMax) return refuseState(bytes, "bytes");
  const options = { synchronous: false, bytesMax: limits.foldBytesMax };
  const folded = await reader.readFolded(tenant, key, type, options);
  if (!folded.ok) return folded;
  const { head: { length, bytes: headBytes, generation }, stateJson } = folded.value;
  if (stateJson.length > limits.guardStateCharactersMax) return refuseState(stateJson.length);
  return accept({ length, bytes: headBytes, generation, stateJson });
}

/** What a character of a state takes in a snapshot at most. */
const UTF8_BYTES_MAX = 3;

/** The bytes of the state in the store; 0 if it has no snapshot, or one of before. */
async function storedBytes(
  engine: ConditionTools["engine"],
  tenant: number,
  key: StreamKey,
  { foldHash }: CompiledAggregateType,
): Promise<number> {
  const [head, header] = await engine.snapshot((tx) =>
    Promise.all([readHead(tx, tenant, key), readSnapshotHeader(tx, tenant, key, foldHash)])
  );
  if (header?.length !== head.length || header.generation !== head.generation) return 0;
  return header.stateBytes;
}

const TOO_FAST = {
  kind: "modules_unavailable",
  message: "Others write to these aggregates faster than guards can judge them",
  retryAfterMs: 1_000,
} as const;

/**
 * A state that modules have computed.
 * @throws {BudgetSpent} when the time of the piece is over.
 */
export function parseState(text: string, { time }: Budget): Outcome<JsonObject> {
  if (text.length > limits.guardStateCharactersMax) return refuseState(text.length);
  const state = parseJsonInTime(text, time?.isLate ?? (() => false));
  if (state === undefined) throw lateState();
  return accept(state);
}

/**
 * For a state that takes long to make, at this head.
 * @throws {BudgetSpent} if it was folded outside, so that nothing is left but to read it.
 */
export function checkTimely(outside: Outcome<FoldedState> | undefined, head: StreamHead): void {
  if (!outside?.ok) return;
  const { length, generation } = outside.value;
  if (length === head.length && generation === head.generation) throw lateState();
}

function lateState(): BudgetSpent {
  return new BudgetSpent("The state takes too long to read", "late");
}

export function refuseState(size: number, unit = "characters") {
  const limit = limits.guardStateCharactersMax;
  const message = `A state has ${size} ${unit} of JSON, more than the ${limit} characters that ` +
    "guards and preconditions may look at";
  return refuse({ kind: "fold_budget_exceeded", message, bytes: size, limit });
}
