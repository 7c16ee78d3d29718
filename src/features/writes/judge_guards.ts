/**
 * Judges preconditions and guards in the transaction of their write, over the states at that
 * moment. Whatever they look at is guarded: if another transaction changes it first, this one runs
 * again. So no other write comes between. See docs/reference/guards.md.
 *
 * Writes that share a transaction are judged one after the other, each on the states that the ones
 * before it leave. `live_states.ts` has those.
 */

import {
  type Budget,
  BudgetSpent,
  type Clock,
  newBudget,
  newTimedBudget,
  PIECE_UNITS,
  spend,
} from "../../domain/budget.ts";
import { openPieces } from "../../domain/fairness/pieces.ts";
import {
  type Guard,
  type GuardedEvent,
  guardHolds,
  othersOf,
  refuseGuardWork,
} from "../../domain/handler/guard.ts";
import type { JsonObject } from "../../domain/json.ts";
import { nameCostOf } from "../../domain/json_text/name_cost.ts";
import { limits } from "../../domain/limits.ts";
import { accept, type FaultPlace, type Outcome, refuse } from "../../domain/refusal.ts";
import { type Awaiting, runSoon, type Soon } from "../../domain/soon.ts";
import { needsState, refusePrecondition } from "../../domain/write/precondition.ts";
import type { Transaction } from "../../kv/engine.ts";
import type { StreamAppender } from "../../store/streams/streams.ts";
import {
  type EventPlace,
  isDue,
  type Judged,
  type Judging,
  openLiveStates,
  rest,
  type Scene,
  type SceneStart,
  STATE_UNITS,
  stateAt,
} from "./live_states.ts";
import {
  type ConditionTools,
  foldOutside,
  type OutsideStates,
  StatesNeeded,
} from "./outside_states.ts";
import type { PreparedTarget, PreparedWrite } from "./prepared_write.ts";
import { TextMap, TextSet } from "../../domain/lookup/text_map.ts";

/** "later": the writes before have to be committed first. Undefined: nothing is refused. */
type Refusing = Outcome<never> | "later" | undefined;

/** What one transaction judges writes on. */
export interface ConditionScene {
  /**
   * Undefined if the conditions of the write hold. Never "later" for the first write.
   * @throws {StatesNeeded}
   */
  judge(write: PreparedWrite): Soon<Refusing>;
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
/** Runs of one transaction that need states, while others keep writing to their streams. */
const RUNS_MAX = 40;
/** How often a write is judged while one of its pieces is late. */
const TRIES_MAX = 3;
/** Units for finding one aggregate that a guard names. */
const NAMED_UNITS = 256;
/** What a transaction does and reads ahead, before it judges its writes. */
const AHEAD_UNITS_MAX = PIECE_UNITS;
const AHEAD_STATES_MAX = 64;
export function openConditions(
  start: SceneStart,
  tx: Transaction,
  appenders: readonly StreamAppender[],
): ConditionScene {
  const { host } = start.tools;
  const live = openLiveStates(start, tx, appenders);
  const pieces = openPieces(host);
  const scene: Scene = { live, pieces, spent: 0, judged: 0, steps: 0, looked: 0 };

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
    const guarded = { state: NO_STATE, event: live.decode(key, events[0]!) };
    return guards.flatMap((guard) => othersOf(guard, guarded, singletons, budget) ?? []);
  }

  function judge(write: PreparedWrite): Soon<Refusing> {
    const units = scene.spent + STATE_UNITS * live.characters();
    if (units > TRANSACTION_UNITS_MAX && scene.judged > 0) return "later";
    scene.judged++;
    return runSoon(judgeWrite(host, scene, write));
  }

  return { begin, judge, keep: live.keep };
}

/*
 * None of the following is made anew for each transaction: a generator that is gets a class of its
 * own, which the collector keeps for long.
 */

/** What was late is judged again: the machine may have had other work. */
function* judgeWrite(clock: Clock, scene: Scene, write: PreparedWrite): Awaiting<Refusing> {
  for (let tries = 1;; tries++) {
    const refusing = yield* tryToJudge({
      scene,
      write,
      budget: newTimedBudget(clock, limits.guardUnitsMax),
      moved: new TextMap(),
      others: new TextSet(),
      parsed: new TextMap(),
    });
    if (refusing !== "late" && refusing !== "slow") return refusing;
    if (refusing === "slow" || tries === TRIES_MAX) {
      nameCostOf(clock).beWary();
      return refuseLate();
    }
    const resting = scene.pieces.rest();
    if (resting !== undefined) yield resting;
  }
}

function* tryToJudge(judging: Judging): Awaiting<Refusing | "late" | "slow"> {
  const { scene, write, budget } = judging;
  try {
    const { preconditions } = write.conditions!;
    const failed = preconditions.length > 0
      ? (yield judgePreconditions(judging)) as Refusing
      : undefined;
    return failed ?? (yield* judgeEvents(judging));
  } catch (error) {
    // The next transaction begins with it, and has only its states to wait for.
    if (error instanceof StatesNeeded && scene.judged > 1) return "later";
    if (!(error instanceof BudgetSpent)) throw error;
    return error.ran === "out" ? refuseGuardWork(error, limits.guardUnitsMax) : error.ran;
  } finally {
    scene.spent += limits.guardUnitsMax - budget.left;
  }
}

async function judgePreconditions(judging: Judging): Promise<Refusing> {
  const { scene: { live, pieces }, write, budget } = judging;
  const { preconditions } = write.conditions!;
  await live.findAll(preconditions.filter(needsState));
  const lengths = await Promise.all(
    preconditions.map((each) => needsState(each) ? 0 : live.lengthOf(each.key)),
  );
  for (const [index, precondition] of preconditions.entries()) {
    if (isDue(judging)) await pieces.rest();
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

function* judgeEvents(judging: Judging): Awaiting<Refusing> {
  const { scene: { live }, write: { targets, conditions } } = judging;
  if (!conditions!.isGuarded) return undefined;
  for (const [target, { aggregateType, key, events }] of targets.entries()) {
    const type = conditions!.spec.aggregateTypes.get(aggregateType)!;
    if (type.guarded === undefined) continue;
    for (const [event, encoded] of events.entries()) {
      const guards = type.guarded.get(encoded.type);
      if (guards === undefined) continue;
      const place = { target, event };
      let state = NO_STATE;
      if (guards.some(({ looksAtState }) => looksAtState)) {
        const soon = stateAt(judging, place, key, type);
        const found = soon instanceof Promise ? (yield soon) as Awaited<typeof soon> : soon;
        if (found === "later" || !found.ok) return found;
        state = found.value;
      }
      const guarded = { state, event: live.decode(key, encoded) };
      const failed = yield* judgeEvent(judging, place, guards, guarded);
      if (failed !== undefined) return failed;
    }
  }
  return undefined;
}

function* judgeEvent(
  judging: Judging,
  place: EventPlace,
  guards: readonly Guard[],
  guarded: GuardedEvent,
): Awaiting<Refusing> {
  for (const [number, guard] of guards.entries()) {
    // Before each one, also where the one before it has refused its write.
    if (isDue(judging)) yield* rest(judging);
    const others = guard.others.length === 0
      ? NO_OTHERS
      : yield* statesOf(judging, place, guard, guarded);
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
function* statesOf(
  judging: Judging,
  place: EventPlace,
  guard: Guard,
  guarded: GuardedEvent,
): Awaiting<Judged<JsonObject[] | undefined>> {
  const { scene: { live }, write: { targets, conditions }, others, budget } = judging;
  const { aggregateTypes, singletons } = conditions!.spec;
  spend(budget, NAMED_UNITS * guard.others.length);
  const named = othersOf(guard, guarded, singletons, budget);
  if (named === undefined) return accept(undefined);
  const all = named.map(({ key, aggregateType }) => {
    if (targets.every((target) => target.key !== key)) others.add(key);
    return { key, type: aggregateTypes.get(aggregateType)! };
  });
  if (others.size > limits.guardOthersMax) return refuseOthers(others.size);
  if (all.length > 1) yield live.findAll(all);
  const states: JsonObject[] = [];
  for (const { key, type } of all) {
    if (isDue(judging)) yield* rest(judging);
    const soon = stateAt(judging, place, key, type);
    const state = soon instanceof Promise ? (yield soon) as Awaited<typeof soon> : soon;
    if (state === "later" || !state.ok) return state;
    states.push(state.value);
  }
  return accept(states);
}

const NO_OTHERS: Outcome<JsonObject[]> = { ok: true, value: [] };
/** For guards that do not look at it. */
const NO_STATE: JsonObject = {};

function placeIn({ form }: PreparedWrite, { target, event }: EventPlace): FaultPlace {
  if (form === "single") return {};
  return form === "batch" ? { eventIndex: event } : { targetIndex: target, eventIndex: event };
}

function refuseOthers(count: number) {
  const limit = limits.guardOthersMax;
  const message = `The guards of one write may look at ${limit} other aggregates at most`;
  return refuse({ kind: "fold_budget_exceeded", message, bytes: count, limit });
}

function refuseLate() {
  const limit = limits.guardUnitsMax;
  const message =
    "The guards and preconditions of this write take too long to judge: a state may " +
    "have keys that collide in the table of all names. Where there are none, send it again";
  const isOfTheMoment = true as const;
  return refuse({ kind: "fold_budget_exceeded", message, bytes: limit, limit, isOfTheMoment });
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
