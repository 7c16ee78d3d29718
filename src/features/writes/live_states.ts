/**
 * The states that the conditions of writes look at, within one transaction.
 *
 * A state comes from memory and the few events since, and moves on with what the transaction
 * appends. Whatever is looked at is guarded. A state that takes longer ends the transaction
 * ({@link StatesNeeded}): it is folded outside, and the transaction runs again.
 *
 * A write is judged on these, moved on with its own earlier events.
 */

import { type Budget, newPieceBudget, PIECE_UNITS, spend } from "../../domain/budget.ts";
import { decodeEvent, type EncodedEvent, type StoredEvent } from "../../domain/event.ts";
import type { Pieces } from "../../domain/fairness/pieces.ts";
import { fold } from "../../domain/handler/fold.ts";
import { inPiece } from "../../domain/handler/guard.ts";
import { encodeState } from "../../domain/handler/state_text.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { JsonObject } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { accept, type Outcome } from "../../domain/refusal.ts";
import type { Awaiting, Soon } from "../../domain/soon.ts";
import type { CompiledAggregateType } from "../../domain/spec/compiled.ts";
import type { Transaction } from "../../kv/engine.ts";
import type { StreamHead } from "../../store/streams/stream_head.ts";
import { readHead, type StreamAppender } from "../../store/streams/streams.ts";
import type { FoldedState } from "../states/folded_state.ts";
import { eachInTime } from "../states/fold_steps.ts";
import type { SmallFold } from "../states/read_small.ts";
import {
  checkTimely,
  type ConditionTools,
  type Looked,
  nameOf,
  type OutsideStates,
  parseState,
  StatesNeeded,
} from "./outside_states.ts";
import type { PreparedTarget, PreparedWrite } from "./prepared_write.ts";
import { TextMap, type TextSet } from "../../domain/lookup/text_map.ts";

/** What a transaction folds and writes as text to keep its states: it does so in one turn. */
const KEPT_UNITS_MAX = PIECE_UNITS;

/** A stream that is looked at, with its state after `length` events. */
export interface Live extends Looked {
  /** In the store. */
  readonly head: StreamHead;
  readonly appender: StreamAppender | undefined;
  /** Makes the state; undefined once it is made. */
  fold: SmallFold | undefined;
  state: JsonObject;
  length: number;
  isLost: boolean;
  /** The state in memory that it was made of. */
  known: FoldedState | undefined;
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

export interface LiveStates {
  /** A stream with the state behind everything that the transaction has appended to it. */
  at(key: StreamKey, type: CompiledAggregateType): Soon<Judged<Live>>;
  /** Begins to read a state, which is made only when it is looked at. */
  find(key: StreamKey, type: CompiledAggregateType): Soon<Outcome<Live>>;
  /**
   * Reads states at once, because on a networked store each read waits for a round trip.
   * @throws {StatesNeeded} with all that take long.
   */
  findAll(streams: readonly Looked[]): Promise<void>;
  /** How many events a stream has by now. Guarded. */
  lengthOf(key: StreamKey): Promise<number>;
  /** An event of that stream. It is known when the state moves on with it. */
  decode(key: StreamKey, event: Pick<EncodedEvent, "raw" | "decoded">): StoredEvent;
  /** Characters of the states that are held. */
  characters(): number;
  /** Caches the states as the transaction leaves them, once it has committed; not too many. */
  keep(): void;
}

export function openLiveStates(
  { tools: { reader, host }, tenant, outside, remembers }: SceneStart,
  tx: Transaction,
  appenders: readonly StreamAppender[],
): LiveStates {
  const opened = new TextMap<StreamAppender, StreamKey>();
  for (const appender of appenders) opened.set(appender.key, appender);
  const lives = new TextMap<Soon<Outcome<Live>>, StreamKey>();
  const known: Live[] = [];
  let held = 0;
  /** The event of each stream that was judged last: its state moves on with it next. */
  const decoded = new TextMap<{ readonly raw: string; readonly event: StoredEvent }, StreamKey>();

  async function lengthOf(key: StreamKey): Promise<number> {
    return (opened.get(key)?.head ?? await readHead(tx, tenant, key)).length;
  }

  function decode(
    key: StreamKey,
    { raw, decoded: known }: Pick<EncodedEvent, "raw" | "decoded">,
  ): StoredEvent {
    const event = known ?? takeDecoded(key, raw);
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
    if (!make(found.value)) throw new StatesNeeded([found.value]);
    return forward(found.value, takeDecoded, newPieceBudget(host)) ? found : "later";
  }

  function make(live: Live): boolean {
    if (live.fold === undefined) return true;
    const made = live.fold();
    if (made === undefined) {
      checkTimely(outside.get(nameOf(live.key, live.type)), live.head);
      return false;
    }
    live.fold = undefined;
    live.state = made.state;
    live.known = made.known;
    held += made.characters;
    return true;
  }

  async function findAll(streams: readonly Looked[]): Promise<void> {
    const found = await Promise.allSettled(streams.map(({ key, type }) => find(key, type)));
    const needed: Looked[] = [];
    for (const each of found) {
      if (each.status === "fulfilled") continue;
      if (!(each.reason instanceof StatesNeeded)) throw each.reason;
      needed.push(...each.reason.needed);
    }
    if (needed.length > 0) throw new StatesNeeded(needed);
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
    if (head.length === 0) return begin(key, type, head, foldNothing);
    const outer = outside.size === 0 ? undefined : outside.get(nameOf(key, type));
    if (outer !== undefined && !outer.ok) return outer;
    const charactersMax = limits.guardStateCharactersMax;
    // The head is guarded, and events do not change.
    const at = { head, known: outer?.value, charactersMax };
    const request = { stream: key, type, remembers };
    const state = reader.readSmallAt(tx.unguarded, tenant, request, at);
    return state instanceof Promise
      ? state.then((read) => begin(key, type, head, read))
      : begin(key, type, head, state);
  }

  function begin(
    key: StreamKey,
    type: CompiledAggregateType,
    head: StreamHead,
    fold: SmallFold | undefined,
  ): Soon<Outcome<Live>> {
    // Never thrown at once: who asks for several states waits for all of them.
    if (fold === undefined) return Promise.reject(new StatesNeeded([{ key, type }]));
    const appender = opened.get(key);
    const { length } = head;
    const live: Live = {
      key,
      type,
      head,
      appender,
      fold,
      state: {},
      length,
      isLost: false,
      known: undefined,
    };
    known.push(live);
    return accept(live);
  }

  function keep(): void {
    const budget = newPieceBudget(host, KEPT_UNITS_MAX);
    for (const live of known) {
      const { key, type, head, appender } = live;
      if (!type.cached || live.fold !== undefined || appender?.added === undefined) continue;
      if (budget.left <= 0) break;
      if (!forward(live, takeDecoded, budget)) continue;
      const text = encodeState(live.state);
      if (!text.ok) continue;
      budget.left -= text.value.length;
      const { length, bytes, generation } = appender.head;
      const after = { length, bytes, generation, stateJson: text.value };
      reader.keepState(tenant, key, type, { before: head, after, known: live.known });
    }
  }

  return { at, find, findAll, lengthOf, decode, characters: () => held, keep };
}

function foldNothing() {
  return { state: {}, characters: 0 };
}

/** False if that takes more than one time slice or the budget, or if modules have to do it. */
function forward(
  live: Live,
  decode: (key: StreamKey, raw: string) => StoredEvent,
  budget: Budget,
): boolean {
  const { type, head, appender } = live;
  const added = appender?.added;
  if (added === undefined || live.isLost) return !live.isLost;
  const from = live.length - head.length;
  if (from === added.length) return true;
  live.isLost = true;
  const events = eachInTime(added.slice(from), (raw) => decode(live.key, raw), type, budget);
  const folded = fold(type.handlers, live.state, events, budget);
  if (!folded.ok) return false;
  live.isLost = false;
  live.state = folded.value;
  live.length = head.length + added.length;
  return true;
}

/** Units for one character of a state, which is read and held, and may be kept. */
export const STATE_UNITS = 4;
/** The clock is looked at after so many small steps, or so much work. */
const STEPS_MAX = 16;
const STEP_UNITS_MAX = PIECE_UNITS / 16;

/** What one transaction has judged so far. */
export interface Scene {
  readonly live: LiveStates;
  readonly pieces: Pieces;
  /** Units of all writes. */
  spent: number;
  judged: number;
  /** Since the clock was looked at: guards and other steps, and what had been done by then. */
  steps: number;
  looked: number;
}

/** A write that is being judged. */
export interface Judging {
  readonly scene: Scene;
  readonly write: PreparedWrite;
  readonly budget: Budget;
  /** States behind the earlier events of the write, and how many those are. */
  readonly moved: TextMap<Moved, StreamKey>;
  /** Aggregates that guards have looked at beside the targets. */
  readonly others: TextSet<StreamKey>;
  /** Of each target, the state looked at last, if modules have computed it. */
  readonly parsed: TextMap<Parsed, StreamKey>;
}

type Parsed = { readonly before: number; readonly state: Outcome<JsonObject> };

interface Moved {
  state: JsonObject;
  folded: number;
  readonly owned: WeakSet<object>;
}

/** The place of an event in a write. */
export interface EventPlace {
  readonly target: number;
  readonly event: number;
}

/** Whether to look at the clock, which costs as much as a small guard. */
export function isDue({ scene, budget }: Judging): boolean {
  const done = scene.spent + limits.guardUnitsMax - budget.left;
  const units = done + STATE_UNITS * scene.live.characters();
  if (++scene.steps < STEPS_MAX && units - scene.looked < STEP_UNITS_MAX) return false;
  scene.steps = 0;
  scene.looked = units;
  return true;
}

export function* rest({ scene: { pieces } }: Judging): Awaiting<void> {
  const resting = pieces.rest();
  if (resting !== undefined) yield resting;
}

/** The state of an aggregate behind the earlier events of the write. */
export function stateAt(
  judging: Judging,
  place: EventPlace,
  key: StreamKey,
  type: CompiledAggregateType,
): Soon<Judged<JsonObject>> {
  const { targets } = judging.write;
  const at = targets.findIndex((target) => target.key === key);
  const target = targets[at];
  const before = target === undefined || at > place.target
    ? 0
    : at < place.target
    ? target.events.length
    : place.event;
  const text = target?.judgedStates?.get(before);
  if (text !== undefined) return parsedOnce(judging, key, before, text);
  if (before > 0) {
    const reached = judging.moved.get(key);
    if (reached?.folded === before) return accept(reached.state);
    return stateBehind(judging, target!, before, type);
  }
  const begun = judging.scene.live.at(key, type);
  return begun instanceof Promise ? begun.then(stateOf) : stateOf(begun);
}

/** The state behind so many events of a target. */
async function stateBehind(
  judging: Judging,
  target: PreparedTarget,
  before: number,
  type: CompiledAggregateType,
): Promise<Judged<JsonObject>> {
  const { scene, scene: { live, pieces }, budget, moved } = judging;
  const { key } = target;
  let reached = moved.get(key);
  if (reached === undefined) {
    const begun = await live.at(key, type);
    if (begun === "later" || !begun.ok) return begun;
    reached = { state: begun.value.state, folded: 0, owned: new WeakSet() };
    moved.set(key, reached);
  }
  while (reached.folded < before) {
    scene.spent += target.events[reached.folded]!.raw.length;
    moveOn(reached, target, type, budget);
    if (isDue(judging)) await pieces.rest();
  }
  return accept(reached.state);
}

/** Guards look at one state many times, and a long one takes milliseconds to parse. */
function parsedOnce(
  { scene, budget, parsed }: Judging,
  key: StreamKey,
  before: number,
  text: string,
): Outcome<JsonObject> {
  const last = parsed.get(key);
  if (last?.before === before) return last.state;
  const state = inPiece(budget, (piece) => parseState(text, piece));
  if (state.ok) spend(budget, text.length);
  scene.spent += (STATE_UNITS - 1) * text.length;
  parsed.set(key, { before, state });
  return state;
}

function stateOf(live: Judged<Live>): Judged<JsonObject> {
  return live === "later" || !live.ok ? live : accept(live.value.state);
}

/** Folds the next event of a target; the state that it started from stays as it is. */
function moveOn(
  reached: Moved,
  { events }: PreparedTarget,
  { handlers }: CompiledAggregateType,
  budget: Budget,
): void {
  const { type, raw } = events[reached.folded++]!;
  const handler = handlers.get(type);
  if (handler === undefined) return;
  const { state, owned } = reached;
  reached.state = inPiece(budget, (piece) => handler(state, decodeEvent(raw), piece, owned));
}
