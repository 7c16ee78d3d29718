/**
 * Reads small states within the caller's transaction.
 *
 * All states read in one transaction belong to the same moment, and none costs a transaction of its
 * own. A state comes from memory and the few events since. Longer folds are left to
 * `read_aggregate.ts`, which yields to other work.
 */

import { type Clock, newPieceBudget } from "../../domain/budget.ts";
import { parseJsonInTime } from "../../domain/parse_json_steps.ts";
import { count, type Counters } from "../../domain/measures/counters.ts";
import type { JsonObject } from "../../domain/json.ts";
import type { CompiledAggregateType } from "../../domain/spec/compiled.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { ReadTransaction } from "../../kv/engine.ts";
import type { StreamHead } from "../../store/streams/stream_head.ts";
import { readEvents } from "../../store/streams/stream_events.ts";
import { decodeInTime, foldAtOnce } from "./fold_steps.ts";
import type { FoldedState } from "./folded_state.ts";
import { isUsable, type StateCache } from "./state_cache.ts";

export interface SmallReadRequest {
  readonly stream: StreamKey;
  readonly type: CompiledAggregateType;
  /** Whether to cache the folded state for the next read. */
  readonly remembers: boolean;
}

/** Where a state belongs, and what it may begin with. */
export interface SmallHead {
  readonly head: StreamHead;
  /** A state that the caller knows. */
  readonly known?: FoldedState;
  /** The length of a base state, in characters; 64 Ki if absent. */
  readonly charactersMax?: number;
}

/** A state that the caller owns, and the length of its JSON text. */
export interface SmallState {
  readonly state: JsonObject;
  readonly characters: number;
  /** The state in memory that it is, if it is one. */
  readonly known?: FoldedState;
}

/** Makes the state that was read, which takes a few milliseconds; undefined if that fails. */
export type SmallFold = () => SmallState | undefined;

/**
 * Reads the state at a head with events that the caller has read; at once if it is in memory.
 * Undefined if the fold would take long.
 */
export type SmallHeadReader = (
  tx: Pick<ReadTransaction, "get" | "getRange">,
  tenant: number,
  request: SmallReadRequest,
  at: SmallHead,
) => SmallFold | undefined | Promise<SmallFold | undefined>;

/** The stored bytes of events folded here; as many as other folds take at a time. */
const EVENT_BYTES_MAX = 64 * 1024;
/** The length of a base state, in characters. */
const STATE_CHARACTERS_MAX = 64 * 1024;
/** The size of the segments read for those events, with the data stored beside small events. */
const READ_BYTES_MAX = 1024 * 1024;

export interface SmallReaders {
  readonly readSmallAt: SmallHeadReader;
}

export function openSmallReader(
  cache: StateCache,
  counters: Counters,
  clock: Clock,
): SmallReaders {
  function readSmallAt(
    tx: Parameters<SmallHeadReader>[0],
    tenant: number,
    request: SmallReadRequest,
    at: SmallHead,
  ): ReturnType<SmallHeadReader> {
    const { stream, type } = request;
    const { head, known, charactersMax } = at;
    const base = newerState(findBase(tenant, stream, type, head), known, head);
    if (isLong(type, head, base, charactersMax)) return undefined;
    if (base?.length !== head.length) return readRest(tx, tenant, request, { head, base });
    count(counters.stateReads, "memory");
    const { stateJson } = base;
    return () => {
      const state = parseJsonInTime(stateJson, newPieceBudget(clock).time.isLate);
      return state && { state, characters: stateJson.length, known: base };
    };
  }

  /** Reads the events behind `base`. */
  async function readRest(
    tx: Parameters<SmallHeadReader>[0],
    tenant: number,
    { stream, type, remembers }: SmallReadRequest,
    { head, base }: { readonly head: StreamHead; readonly base: FoldedState | undefined },
  ): Promise<SmallFold | undefined> {
    const from = base?.length ?? 0;
    const { length: to, generation } = head;
    const window = { from, to, bytesMax: READ_BYTES_MAX, generation };
    const stored = await readEvents(tx, tenant, stream, window);
    if (stored.length < to - from) return undefined;
    return () => {
      const events = decodeInTime(clock, stored);
      if (events === undefined) return undefined;
      const folded = foldAtOnce(clock, type, base?.stateJson, events);
      if (!folded.ok) return undefined;
      count(counters.stateReads, base === undefined ? "events" : "memory");
      const { state, stateJson } = folded.value;
      if (remembers && type.cached) {
        const { length, bytes } = head;
        cache.set(tenant, stream, type.foldHash, { length, bytes, generation, stateJson });
      }
      return { state, characters: stateJson.length };
    };
  }

  function findBase(
    tenant: number,
    stream: StreamKey,
    { cached, foldHash }: CompiledAggregateType,
    head: StreamHead,
  ): FoldedState | undefined {
    const known = cached ? cache.get(tenant, stream, foldHash) : undefined;
    return known !== undefined && isUsable(known, head) ? known : undefined;
  }

  return { readSmallAt };
}

function newerState(
  base: FoldedState | undefined,
  known: FoldedState | undefined,
  head: StreamHead,
): FoldedState | undefined {
  if (known === undefined || !isUsable(known, head)) return base;
  return base !== undefined && base.length >= known.length ? base : known;
}

function isLong(
  { wasmHandlers }: CompiledAggregateType,
  head: StreamHead,
  base: FoldedState | undefined,
  charactersMax = STATE_CHARACTERS_MAX,
): boolean {
  if (wasmHandlers.size > 0 && base?.length !== head.length) return true;
  if (base !== undefined && base.stateJson.length > charactersMax) return true;
  return head.bytes - (base?.bytes ?? 0) > EVENT_BYTES_MAX;
}
