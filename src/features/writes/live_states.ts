/**
 * The states that the conditions of writes look at, within one transaction.
 *
 * A state comes from memory and the few events since, and moves on with what the transaction
 * appends. Whatever is looked at is guarded. A state that takes longer ends the transaction
 * ({@link StatesNeeded}): it is folded outside, and the transaction runs again.
 */

import { newBudget, PIECE_UNITS } from "../../domain/budget.ts";
import { decodeEvent, type StoredEvent } from "../../domain/event.ts";
import { fold } from "../../domain/handler/fold.ts";
import { encodeState } from "../../domain/handler/state_text.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { JsonObject } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { CompiledAggregateType } from "../../domain/spec/compiled.ts";
import type { Host } from "../../host.ts";
import type { Transaction } from "../../kv/engine.ts";
import type { StreamHead } from "../../store/streams/stream_head.ts";
import { readHead, type StreamAppender } from "../../store/streams/streams.ts";
import type { FoldedState } from "../states/fold_stream.ts";
import type { AggregateReader } from "../states/read_aggregate.ts";
import type { SmallState } from "../states/read_small.ts";

export interface ConditionTools {
  readonly reader: Pick<AggregateReader, "readSmallAt" | "readFolded" | "keepState">;
  readonly host: Host;
}

/** States that were folded outside of the transaction, by name, or why there are none. */
export type OutsideStates = Map<string, Outcome<FoldedState>>;

/** The transaction has to wait for states that take long to fold. */
export class StatesNeeded extends Error {
  override readonly name = "StatesNeeded";
  constructor(readonly key: StreamKey, readonly type: CompiledAggregateType) {
    super("a state is to be folded first");
  }
}

const RETRY_AFTER_MS = 1_000;
/** What a transaction folds and writes as text to keep its states: it does so in one turn. */
const KEPT_UNITS_MAX = PIECE_UNITS;

/** A stream that is looked at, with its state after `length` events. */
export interface Live {
  readonly key: StreamKey;
  readonly type: CompiledAggregateType;
  /** In the store. */
  readonly head: StreamHead;
  readonly appender: StreamAppender | undefined;
  state: JsonObject;
  length: number;
  isLost: boolean;
}

/** "later": the writes before have to be committed first. */
export type Judged<T> = Outcome<T> | "later";

export interface SceneStart {
  readonly tools: ConditionTools;
  readonly tenant: number;
  readonly outside: OutsideStates;
  /** Whether states as the store has them may be cached: not where `tx` has written before. */
  readonly remembers: boolean;
}

/** What is known at once needs no promise: a write pays for each. */
export type Soon<T> = T | Promise<T>;

export interface LiveStates {
  /** A stream with the state behind everything that the transaction has appended to it. */
  at(key: StreamKey, type: CompiledAggregateType): Soon<Judged<Live>>;
  /** Begins to read a state. */
  find(key: StreamKey, type: CompiledAggregateType): Soon<Outcome<Live>>;
  /** How many events a stream has by now. Guarded. */
  lengthOf(key: StreamKey): Promise<number>;
  /** The event in `raw`, of that stream. It is known when the state moves on with it. */
  decode(key: StreamKey, raw: string): StoredEvent;
  /** Characters of the states that are held. */
  characters(): number;
  /** Caches the states as the transaction leaves them, once it has committed; not too many. */
  keep(): void;
}

export function openLiveStates(
  { tools: { reader }, tenant, outside, remembers }: SceneStart,
  tx: Transaction,
  appenders: readonly StreamAppender[],
): LiveStates {
  const opened = new Map<StreamKey, StreamAppender>();
  for (const appender of appenders) opened.set(appender.key, appender);
  const lives = new Map<StreamKey, Soon<Outcome<Live>>>();
  const known: Live[] = [];
  let held = 0;
  /** The event of each stream that was judged last: its state moves on with it next. */
  const decoded = new Map<StreamKey, { readonly raw: string; readonly event: StoredEvent }>();

  async function lengthOf(key: StreamKey): Promise<number> {
    return (opened.get(key)?.head ?? await readHead(tx, tenant, key)).length;
  }

  function decode(key: StreamKey, raw: string): StoredEvent {
    const event = takeDecoded(key, raw);
    decoded.set(key, { raw, event });
    return event;
  }

  function takeDecoded(key: StreamKey, raw: string): StoredEvent {
    const last = decoded.get(key);
    return last?.raw === raw ? last.event : decodeEvent(raw);
  }

  function at(key: StreamKey, type: CompiledAggregateType): Soon<Judged<Live>> {
    const found = find(key, type);
    return found instanceof Promise ? found.then((one) => moved(one, type)) : moved(found, type);
  }

  function moved(found: Outcome<Live>, { foldHash }: CompiledAggregateType): Judged<Live> {
    if (!found.ok) return found;
    // Another write of the transaction was checked against a spec with other handlers.
    if (found.value.type.foldHash !== foldHash) return "later";
    return forward(found.value, takeDecoded) ? found : "later";
  }

  function find(key: StreamKey, type: CompiledAggregateType): Soon<Outcome<Live>> {
    const begun = lives.get(key);
    if (begun !== undefined) return begun;
    const appender = opened.get(key);
    const finding = appender === undefined
      ? readHead(tx, tenant, key).then((head) => load(key, type, head))
      : load(key, type, appender.before);
    lives.set(key, finding);
    return finding;
  }

  function load(
    key: StreamKey,
    type: CompiledAggregateType,
    head: StreamHead,
  ): Soon<Outcome<Live>> {
    const start = { key, type, head };
    if (head.length === 0) return begin(start, { state: {}, characters: 0 });
    const outer = outside.get(nameOf(key, type));
    if (outer !== undefined && !outer.ok) return outer;
    const charactersMax = limits.guardStateCharactersMax;
    if (outer !== undefined && outer.value.stateJson.length > charactersMax) {
      return refuseState(outer.value.stateJson.length);
    }
    // The head is guarded, and events do not change.
    const at = { head, known: outer?.value, charactersMax };
    const request = { stream: key, type, remembers };
    const state = reader.readSmallAt(tx.unguarded, tenant, request, at);
    return state instanceof Promise
      ? state.then((read) => begin(start, read))
      : begin(start, state);
  }

  function begin(
    { key, type, head }: Pick<Live, "key" | "type" | "head">,
    read: SmallState | undefined,
  ): Soon<Outcome<Live>> {
    // Never thrown at once: who asks for several states waits for all of them.
    if (read === undefined) return Promise.reject(new StatesNeeded(key, type));
    const { state, characters } = read;
    held += characters;
    const appender = opened.get(key);
    const live: Live = { key, type, head, appender, state, length: head.length, isLost: false };
    known.push(live);
    return accept(live);
  }

  function keep(): void {
    const budget = newBudget(KEPT_UNITS_MAX);
    for (const live of known) {
      const { key, type, head, appender } = live;
      if (!type.cached || appender?.added === undefined) continue;
      if (budget.left <= 0) break;
      if (!forward(live, takeDecoded, budget)) continue;
      const text = encodeState(live.state);
      if (!text.ok) continue;
      budget.left -= text.value.length;
      const { length, bytes, generation } = appender.head;
      const before = { ...head, stateJson: "" };
      const after = { length, bytes, generation, stateJson: text.value };
      reader.keepState(tenant, key, type, { before, after });
    }
  }

  return { at, find, lengthOf, decode, characters: () => held, keep };
}

/** False if that takes more than one time slice or the budget, or if modules have to do it. */
function forward(
  live: Live,
  decode: (key: StreamKey, raw: string) => StoredEvent,
  budget = newBudget(PIECE_UNITS),
): boolean {
  const { type, head, appender } = live;
  const added = appender?.added;
  if (added === undefined || live.isLost) return !live.isLost;
  const from = live.length - head.length;
  if (from === added.length) return true;
  const events = added.slice(from).map(({ raw }) => decode(live.key, raw));
  live.isLost = true;
  if (events.some((event) => type.wasmHandlers.has(event.type))) return false;
  const folded = fold(type.handlers, live.state, events, budget);
  if (!folded.ok) return false;
  live.isLost = false;
  live.state = folded.value;
  live.length = head.length + added.length;
  return true;
}

/** A state that modules have computed. */
export function parseState(text: string): Outcome<JsonObject> {
  const isShort = text.length <= limits.guardStateCharactersMax;
  return isShort ? accept(JSON.parse(text)) : refuseState(text.length);
}

function nameOf(key: StreamKey, { foldHash }: CompiledAggregateType): string {
  return `${key} ${foldHash}`;
}

function refuseState(characters: number) {
  const limit = limits.guardStateCharactersMax;
  const message = `A state has ${characters} characters of JSON, more than the ${limit} that ` +
    "guards and preconditions may look at";
  return refuse({ kind: "fold_budget_exceeded", message, bytes: characters, limit });
}

/** Folds a state that a transaction needs. The last one is refused. */
export async function foldOutside(
  { reader }: ConditionTools,
  tenant: number,
  { key, type }: StatesNeeded,
  mayRunAgain: boolean,
  outside: OutsideStates,
): Promise<void> {
  const name = nameOf(key, type);
  if (!mayRunAgain) {
    const message = "Others write to these aggregates faster than guards can judge them";
    const retryAfterMs = RETRY_AFTER_MS;
    outside.set(name, refuse({ kind: "modules_unavailable", message, retryAfterMs }));
    return;
  }
  const options = { synchronous: false, bytesMax: limits.foldBytesMax };
  const read = await reader.readFolded(tenant, key, type, options);
  if (!read.ok) return void outside.set(name, read);
  const { head: { length, bytes, generation }, stateJson } = read.value;
  outside.set(name, accept({ length, bytes, generation, stateJson }));
}
