/**
 * Judges preconditions and guards in the transaction of their write, over the states at that
 * moment. Whatever they look at is guarded: if another transaction changes it first, this one runs
 * again. So no other write comes between. See docs/reference/guards.md.
 *
 * Writes that share a transaction are judged one after the other, each on the states that the ones
 * before it leave. `live_states.ts` has those.
 */

import { type Budget, BudgetSpent, newBudget, PIECE_UNITS, spend } from "../../domain/budget.ts";
import { decodeEvent } from "../../domain/event.ts";
import { openPieces } from "../../domain/fairness/pieces.ts";
import {
  type Guard,
  type GuardedEvent,
  guardHolds,
  inPiece,
  othersOf,
  refuseGuardWork,
} from "../../domain/handler/guard.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { JsonObject } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { accept, type FaultPlace, type Outcome, refuse } from "../../domain/refusal.ts";
import type { CompiledAggregateType } from "../../domain/spec/compiled.ts";
import { needsState, refusePrecondition } from "../../domain/write/precondition.ts";
import type { Transaction } from "../../kv/engine.ts";
import type { StreamAppender } from "../../store/streams/streams.ts";
import {
  type ConditionTools,
  foldOutside,
  type Judged,
  type Live,
  openLiveStates,
  type OutsideStates,
  parseState,
  type SceneStart,
  type Soon,
  StatesNeeded,
} from "./live_states.ts";
import type { PreparedTarget, PreparedWrite } from "./prepared_write.ts";

/** What one transaction judges writes on. */
export interface ConditionScene {
  /**
   * Undefined if the conditions of the write hold. "later" if the writes before it have to be
   * committed first; never for the first write.
   * @throws {StatesNeeded}
   */
  judge(write: PreparedWrite): Promise<Outcome<never> | "later" | undefined>;
  /**
   * Begins to read what the guards of these writes will look at, as far as the events tell: on a
   * networked store each read waits for a round trip.
   */
  begin(writes: readonly PreparedWrite[]): void;
  /** Caches the states as the transaction leaves them, once it has committed. */
  keep(): void;
}

export type OpenConditions = (
  tx: Transaction,
  appenders: readonly StreamAppender[],
) => ConditionScene;

/** Units after which a transaction judges no further write: about a third of a second. */
const TRANSACTION_UNITS_MAX = 64 * PIECE_UNITS;
/** Units for one character of a state, which is read and held, and may be kept. */
const STATE_UNITS = 4;
/** The clock is looked at after so many small steps, or so much work. */
const STEPS_MAX = 16;
const STEP_UNITS_MAX = PIECE_UNITS / 16;
/** Units for finding one aggregate that a guard names. */
const NAMED_UNITS = 256;
/** What a transaction does and reads ahead, before it judges its writes. */
const AHEAD_UNITS_MAX = PIECE_UNITS;
const AHEAD_STATES_MAX = 64;
/** Runs of one transaction that need states, while others keep writing to their streams. */
const RUNS_MAX = 40;
/** A write that is being judged. */
interface Judging {
  readonly write: PreparedWrite;
  readonly budget: Budget;
  /** States behind the earlier events of the write, and how many those are. */
  readonly moved: Map<StreamKey, Moved>;
  /** Aggregates that guards have looked at beside the targets. */
  readonly others: Set<StreamKey>;
  /** Of each target, the state that was looked at last, if modules have computed it. */
  readonly parsed: Map<StreamKey, Parsed>;
}

interface Parsed {
  readonly before: number;
  readonly state: Outcome<JsonObject>;
}

interface Moved {
  state: JsonObject;
  folded: number;
  readonly owned: WeakSet<object>;
}

/** The place of an event in a write. */
interface EventPlace {
  readonly target: number;
  readonly event: number;
}

export function openConditions(
  start: SceneStart,
  tx: Transaction,
  appenders: readonly StreamAppender[],
): ConditionScene {
  const live = openLiveStates(start, tx, appenders);
  const pieces = openPieces(start.tools.host);
  let spent = 0;
  let judged = 0;
  /** Since the clock was looked at: guards and other steps, and what had been done by then. */
  let [steps, looked] = [0, 0];

  function begin(writes: readonly PreparedWrite[]): void {
    const budget = newBudget(AHEAD_UNITS_MAX);
    const spec = writes.find(({ conditions }) => conditions !== undefined)?.conditions?.spec;
    let begun = 0;
    // Whatever fails here fails again where it is judged.
    try {
      for (const write of writes) {
        // Those of another spec may need other states, and those of the first write come first.
        if (!write.conditions?.isGuarded || write.conditions.spec !== spec) continue;
        for (const { key, aggregateType } of othersAhead(write, budget)) {
          const finding = live.find(key, spec.aggregateTypes.get(aggregateType)!);
          if (finding instanceof Promise) finding.catch(() => {});
          if (++begun >= AHEAD_STATES_MAX) return;
        }
      }
    } catch (error) {
      if (!(error instanceof BudgetSpent)) throw error;
    }
  }

  /** The aggregates that guards of the first event look at, as far as the event tells. */
  function othersAhead({ targets, conditions }: PreparedWrite, budget: Budget) {
    const { aggregateTypes, singletons } = conditions!.spec;
    const [{ aggregateType, key, events }] = targets as [PreparedTarget];
    const { type, raw } = events[0]!;
    const guards = aggregateTypes.get(aggregateType)!.guarded?.get(type);
    if (guards === undefined || guards.every(({ others }) => others.length === 0)) return [];
    spend(budget, raw.length);
    const guarded = { state: {}, event: live.decode(key, raw) };
    return guards.flatMap((guard) => othersOf(guard, guarded, singletons, budget) ?? []);
  }

  /** Whether to look at the clock, which costs as much as a small guard. */
  function isDue({ left }: Budget): boolean {
    const units = spent + limits.guardUnitsMax - left + STATE_UNITS * live.characters();
    if (++steps < STEPS_MAX && units - looked < STEP_UNITS_MAX) return false;
    [steps, looked] = [0, units];
    return true;
  }

  async function judge(write: PreparedWrite): Promise<Outcome<never> | "later" | undefined> {
    const units = spent + STATE_UNITS * live.characters();
    if (units > TRANSACTION_UNITS_MAX && judged > 0) return "later";
    judged++;
    const budget = newBudget(limits.guardUnitsMax);
    const judging: Judging = {
      write,
      budget,
      moved: new Map(),
      others: new Set(),
      parsed: new Map(),
    };
    try {
      const { preconditions } = write.conditions!;
      const failed = preconditions.length > 0 ? await judgePreconditions(judging) : undefined;
      return failed ?? await judgeEvents(judging);
    } catch (error) {
      // The next transaction begins with it, and has only its states to wait for.
      if (error instanceof StatesNeeded && judged > 1) return "later";
      if (error instanceof BudgetSpent) return refuseGuardWork(error, limits.guardUnitsMax);
      throw error;
    } finally {
      spent += limits.guardUnitsMax - budget.left;
    }
  }

  async function judgePreconditions({ write, budget }: Judging) {
    const { preconditions } = write.conditions!;
    await live.findAll(preconditions.filter(needsState));
    const lengths = await Promise.all(
      preconditions.map((each) => needsState(each) ? 0 : live.lengthOf(each.key)),
    );
    for (const [index, precondition] of preconditions.entries()) {
      if (isDue(budget)) await pieces.rest();
      const { key, type } = precondition;
      const at = needsState(precondition)
        ? await live.at(key, type)
        : accept({ length: lengths[index]! });
      if (at === "later" || !at.ok) return at;
      const refusal = refusePrecondition(precondition, index, at.value, budget);
      if (refusal !== undefined) return refuse(refusal);
    }
    return undefined;
  }

  async function judgeEvents(judging: Judging) {
    const { write: { targets, conditions } } = judging;
    if (!conditions!.isGuarded) return undefined;
    for (const [target, { aggregateType, key, events }] of targets.entries()) {
      const type = conditions!.spec.aggregateTypes.get(aggregateType)!;
      if (type.guarded === undefined) continue;
      for (const [event, { type: eventType, raw }] of events.entries()) {
        const guards = type.guarded.get(eventType);
        if (guards === undefined) continue;
        const place = { target, event };
        const soon = stateAt(judging, place, key, type);
        const state = soon instanceof Promise ? await soon : soon;
        if (state === "later" || !state.ok) return state;
        const guarded = { state: state.value, event: live.decode(key, raw) };
        const failed = await judgeEvent(judging, place, guards, guarded);
        if (failed !== undefined) return failed;
      }
    }
    return undefined;
  }

  async function judgeEvent(
    judging: Judging,
    place: EventPlace,
    guards: readonly Guard[],
    guarded: GuardedEvent,
  ): Promise<Outcome<never> | "later" | undefined> {
    for (const [number, guard] of guards.entries()) {
      // Before each one, also where the one before it has refused its write.
      if (isDue(judging.budget)) await pieces.rest();
      const others = guard.others.length === 0
        ? NO_OTHERS
        : await statesOf(judging, place, guard, guarded);
      if (others === "later" || !others.ok) return others;
      const holds = others.value !== undefined &&
        guardHolds(guard, guarded, others.value, judging.budget);
      if (holds) continue;
      const { message } = guard;
      const { type: eventType } = guarded.event;
      const where = placeIn(judging.write, place);
      return refuse({ kind: "guard_failed", message, guard: number, eventType, ...where });
    }
    return undefined;
  }

  /** The states of the aggregates that a guard names; undefined if one has no valid id. */
  async function statesOf(
    judging: Judging,
    place: EventPlace,
    guard: Guard,
    guarded: GuardedEvent,
  ): Promise<Judged<JsonObject[] | undefined>> {
    const { write: { targets, conditions }, others, budget } = judging;
    const { aggregateTypes, singletons } = conditions!.spec;
    spend(budget, NAMED_UNITS * guard.others.length);
    const named = othersOf(guard, guarded, singletons, budget);
    if (named === undefined) return accept(undefined);
    const all = named.map(({ key, aggregateType }) => {
      if (targets.every((target) => target.key !== key)) others.add(key);
      return { key, type: aggregateTypes.get(aggregateType)! };
    });
    if (others.size > limits.guardOthersMax) return refuseOthers(others.size);
    if (all.length > 1) await live.findAll(all);
    const states: JsonObject[] = [];
    for (const { key, type } of all) {
      if (isDue(budget)) await pieces.rest();
      const soon = stateAt(judging, place, key, type);
      const state = soon instanceof Promise ? await soon : soon;
      if (state === "later" || !state.ok) return state;
      states.push(state.value);
    }
    return accept(states);
  }

  /** The state of an aggregate behind the earlier events of the write. */
  function stateAt(
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
    const begun = live.at(key, type);
    return begun instanceof Promise ? begun.then(stateOf) : stateOf(begun);
  }

  /** The state behind so many events of a target. */
  async function stateBehind(
    { budget, moved }: Judging,
    target: PreparedTarget,
    before: number,
    type: CompiledAggregateType,
  ): Promise<Judged<JsonObject>> {
    const { key } = target;
    let reached = moved.get(key);
    if (reached === undefined) {
      const begun = await live.at(key, type);
      if (begun === "later" || !begun.ok) return begun;
      reached = { state: begun.value.state, folded: 0, owned: new WeakSet() };
      moved.set(key, reached);
    }
    while (reached.folded < before) {
      moveOn(reached, target, type, budget);
      if (isDue(budget)) await pieces.rest();
    }
    return accept(reached.state);
  }

  return { begin, judge, keep: live.keep };
}

/** Guards look at one state many times, and a long one takes milliseconds to parse. */
function parsedOnce(
  { parsed }: Judging,
  key: StreamKey,
  before: number,
  text: string,
): Outcome<JsonObject> {
  const last = parsed.get(key);
  if (last?.before === before) return last.state;
  const state = parseState(text);
  parsed.set(key, { before, state });
  return state;
}

const NO_OTHERS: Outcome<JsonObject[]> = { ok: true, value: [] };

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

function placeIn({ form }: PreparedWrite, { target, event }: EventPlace): FaultPlace {
  if (form === "single") return {};
  return form === "batch" ? { eventIndex: event } : { targetIndex: target, eventIndex: event };
}

function refuseOthers(count: number) {
  const limit = limits.guardOthersMax;
  const message = `The guards of one write may look at ${limit} other aggregates at most`;
  return refuse({ kind: "fold_budget_exceeded", message, bytes: count, limit });
}

/**
 * Runs a transaction that may judge conditions, again with the states that it needs. Then caches
 * the states that it leaves. With `isShared`, who calls it gets {@link StatesNeeded}.
 */
export async function transactJudged<T>(
  tools: ConditionTools | undefined,
  tenant: number,
  run: (open: OpenConditions | undefined) => Promise<T>,
  isShared = false,
): Promise<T> {
  if (tools === undefined) return await run(undefined);
  const outside: OutsideStates = new Map();
  for (let runs = 1;; runs++) {
    let scene: ConditionScene | undefined;
    try {
      const result = await run((tx, appenders) =>
        scene = openConditions({ tools, tenant, outside, remembers: true }, tx, appenders)
      );
      scene?.keep();
      return result;
    } catch (error) {
      if (!(error instanceof StatesNeeded) || isShared) throw error;
      await foldOutside(tools, tenant, error, runs < RUNS_MAX, outside);
    }
  }
}
