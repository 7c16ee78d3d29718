/**
 * Combines concurrent writes into shared transactions, each write with its own answer. All
 * writes that wait when a transaction begins share it (`gather_writes.ts`). A stream is in one
 * transaction at a time, so a hot stream costs one commit for many requests instead of one
 * conflict each. Writes that arrive for it meanwhile wait.
 */

import { withOwnLine } from "../../domain/fairness/pieces.ts";
import { count, countErrors, type Counters, newCounters } from "../../domain/measures/counters.ts";
import { isOutage } from "../../domain/outage.ts";
import type { Outcome } from "../../domain/refusal.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Written } from "../../domain/write/write.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { openWatchedTypes, type WatchedTypesReader } from "../../store/reactions/watched_types.ts";
import { NO_OWN_LANES, offerDeliveries, type OwnLanes } from "./append_deliveries.ts";
import { type AppendOptions, appendWrites } from "./append_writes.ts";
import { type DirectRuns, directStreamsOf, NO_STREAMS } from "./direct_events.ts";
import {
  CHANGE_MS_MAX,
  openGathering,
  takeGroups,
  type WaitingWrite,
  type WriteGroup,
} from "./gather_writes.ts";
import { transactJudged } from "./judge_guards.ts";
import type { SceneParts } from "./judge_scene.ts";
import { createJudge } from "./judge_writes.ts";
import { StatesNeeded } from "./outside_states.ts";
import { NOTHING_WRITTEN, type PreparedWrite, type Submit } from "./prepared_write.ts";
import { type Texts, TextSet } from "../../domain/lookup/text_map.ts";

/** Groups of what the service itself writes that are under way at once, if others go before. */
const LATER_GROUPS_MAX = 2;
/** A cluster takes a large transaction in one piece, and those who read wait for it. */
const LATER_LIMITS = { groupsMax: 1, writesMax: 100 };
/** Streams tried at a time where one has to wait for states, which take memory. */
const ALONE_MAX = 8;
/** Implied events go to the outbox for this long after a rerun: another process may write there. */
const DIRECT_PAUSE_MS = 1_000;

/** The writes of one tenant in order of arrival, and the streams that are being written. */
interface Queue {
  readonly busy: TextSet<StreamKey>;
  waiting: WaitingWrite[];
  /** What the service itself writes and others go before. */
  later: WaitingWrite[];
}

export interface Combiner {
  readonly submit: Submit;
  /** Used by every transaction that appends events. */
  readonly watched: WatchedTypesReader;
  /** Counts everything that is written. */
  readonly counters: Counters;
}

export interface CombinerOptions {
  readonly counters?: Counters;
  /** The delivery lanes that this process works on. */
  readonly lanes?: OwnLanes;
  /** What guards and modules need to judge events; absent if nothing does. */
  readonly judging?: SceneParts;
}

export function createCombiner(
  engine: Engine,
  host: Host,
  { counters = newCounters(), lanes = NO_OWN_LANES, judging }: CombinerOptions = {},
): Combiner {
  const watched = openWatchedTypes();
  const queues = new Map<number, Queue>();
  /** What waits in all of them. */
  let waiting: Waits = { writes: 0, bytes: 0 };
  /** By tenant: until when (monotonic time) implied events are left to the outbox. */
  const directPauses = new Map<number, number>();
  const gathering = openGathering(host.monotonicMs);
  let isScheduled = false;
  /** Whether a timer will look. */
  let isTimed = false;
  const turns = withOwnLine(host);
  /** Groups of what goes later that are under way. */
  let laterRunning = 0;
  let isLaterScheduled = false;

  const judged = judging && createJudge(judging, combine);

  function submit(tenant: number, write: PreparedWrite): Promise<Outcome<Written>> {
    if (judged === undefined) return combine(tenant, write);
    for (const { judgedAs } of write.targets) {
      if (judgedAs !== undefined) return judged(tenant, write);
    }
    return combine(tenant, write);
  }

  function combine(tenant: number, write: PreparedWrite): Promise<Outcome<Written>> {
    if (write.targets.length > 1) return commitAlone(tenant, write);
    let queue = queues.get(tenant);
    if (queue === undefined) {
      queues.set(tenant, queue = { busy: new TextSet(), waiting: [], later: [] });
    }
    const { promise, resolve, reject } = Promise.withResolvers<Outcome<Written>>();
    const waits = { stream: write.targets[0]!.key, write, resolve, reject };
    if (goesLater(write)) {
      queue.later.push(waits);
      scheduleLater();
      return promise;
    }
    queue.waiting.push(waits);
    waiting.writes++;
    waiting.bytes += write.bytes;
    schedule();
    return promise;
  }

  /** Whether others go before it: no client waits for it, and many processes share the store. */
  function goesLater({ cause }: PreparedWrite): boolean {
    return cause !== undefined && engine.capabilities.isShared;
  }

  function commit(
    tenant: number,
    writes: readonly PreparedWrite[],
    direct: DirectRuns,
    isShared = false,
  ): Promise<Outcome<Written>[]> {
    let [bytes, isJudged, isBackground, readsUnguarded] = [0, false, true, false];
    for (const write of writes) {
      bytes += write.bytes;
      // Its usage is counted, and read without a guard.
      if (write.allocation !== undefined) readsUnguarded = true;
      if (write.conditions !== undefined) isJudged = true;
      if (write.cause === undefined) isBackground = false;
    }
    const mode = { isBackground, isBulk: isBackground };
    const how = { owner: tenant, expectsWrites: true, readsUnguarded, bytes, ...mode };
    const run = (openConditions: AppendOptions["openConditions"]) =>
      engine.transact((tx) => {
        const directStreams = direct.runs++ === 0 ? direct.streams : NO_STREAMS;
        const options = { directStreams, lanes, turns, openConditions };
        return appendWrites(tx, tenant, writes, watched, options);
      }, how);
    return isJudged ? transactJudged(judging, tenant, run, isShared) : run(undefined);
  }

  async function commitAlone(tenant: number, write: PreparedWrite): Promise<Outcome<Written>> {
    const writes = [write];
    const outcomes = await commit(tenant, writes, { streams: NO_STREAMS, runs: 0 });
    noteWritten(tenant, writes, outcomes);
    return outcomes[0]!;
  }

  /** Follows up on a transaction that is known to have committed. */
  function noteWritten(
    tenant: number,
    writes: readonly PreparedWrite[],
    outcomes: readonly Outcome<Written>[],
  ): void {
    countWritten(counters, writes, outcomes);
    for (let index = 0; index < writes.length; index++) {
      const outcome = outcomes[index]!;
      if (!outcome.ok || outcome.value === NOTHING_WRITTEN || outcome.value.replayed) continue;
      for (const target of writes[index]!.targets) {
        if (target.deliveries !== undefined) offerDeliveries(lanes, tenant, target);
      }
    }
  }

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    lookInNextTurn();
  }

  function lookInNextTurn(): void {
    const askedMs = host.monotonicMs();
    host.yieldBriefly().then(() => look(askedMs));
  }

  function look(askedMs: number): void {
    const next = gathering.look(waiting, askedMs);
    if (next === "next_turn") return lookInNextTurn();
    isScheduled = false;
    if (next === "commit") startGroups();
    else if (!isTimed) lookLater();
  }

  /** In case neither a write nor the end of a transaction causes a look before. */
  function lookLater(): void {
    isTimed = true;
    host.startTimer(CHANGE_MS_MAX, () => {
      isTimed = false;
      if (waiting.writes > 0) schedule();
    });
  }

  function startGroups(): void {
    for (const [tenant, queue] of queues) {
      const { groups, staying } = takeGroups(queue.waiting, queue.busy);
      queue.waiting = staying;
      const direct = directStreams(tenant, queue, groups);
      for (const [index, group] of groups.entries()) {
        commitInTurn(tenant, queue, group, direct?.[index] ?? NO_STREAMS);
      }
    }
    waiting = sumWaiting(queues);
  }

  function scheduleLater(): void {
    if (isLaterScheduled) return;
    isLaterScheduled = true;
    host.yieldBriefly().then(() => {
      isLaterScheduled = false;
      startLater();
    });
  }

  /** Starts as many groups of what the service itself writes as there is room for. */
  function startLater(): void {
    for (const [tenant, queue] of queues) {
      if (laterRunning === LATER_GROUPS_MAX) return;
      const { groups: [group], staying } = takeGroups(queue.later, queue.busy, LATER_LIMITS);
      if (group === undefined) continue;
      queue.later = staying;
      // Tenants take turns.
      queues.delete(tenant);
      queues.set(tenant, queue);
      const [direct] = directStreams(tenant, queue, [group]) ?? [];
      laterRunning++;
      void commitInTurn(tenant, queue, group, direct ?? NO_STREAMS).then(() => {
        laterRunning--;
        scheduleLater();
      });
    }
  }

  /** Where implied events may go, for each group; undefined for nowhere. */
  function directStreams(tenant: number, queue: Queue, groups: readonly WriteGroup[]) {
    if (!hasDirect(groups)) return undefined;
    const untilMs = directPauses.get(tenant);
    if (untilMs !== undefined) {
      if (host.monotonicMs() < untilMs) return undefined;
      directPauses.delete(tenant);
    }
    const writes = groups.map((group) => group.writes.map(({ write }) => write));
    return directStreamsOf(writes, () => takenStreams(queue, groups));
  }

  async function commitInTurn(
    tenant: number,
    queue: Queue,
    group: WriteGroup,
    direct: Texts<StreamKey>,
  ): Promise<void> {
    for (const stream of group.streams) queue.busy.add(stream);
    for (const stream of direct) queue.busy.add(stream);
    await commitGroup(tenant, queue, group, direct);
    for (const stream of group.streams) queue.busy.delete(stream);
    for (const stream of direct) queue.busy.delete(stream);
    if (isEmpty(queue)) queues.delete(tenant);
    if (waiting.writes > 0) schedule();
    if (queue.later.length > 0) scheduleLater();
  }

  async function commitGroup(
    tenant: number,
    queue: Queue,
    group: WriteGroup,
    direct: Texts<StreamKey> = NO_STREAMS,
  ): Promise<void> {
    const writes: PreparedWrite[] = [];
    for (const { write } of group.writes) writes.push(write);
    const directRuns: DirectRuns = { streams: direct, runs: 0 };
    const isLater = goesLater(writes[0]!);
    try {
      let outcomes: Outcome<Written>[];
      if (!isLater) gathering.begin(writes.length);
      try {
        outcomes = await commit(tenant, writes, directRuns, group.streams.length > 1);
      } finally {
        if (!isLater) gathering.end(writes.length, waiting.writes);
      }
      if (outcomes.length < writes.length) {
        (isLater ? queue.later : queue.waiting).unshift(
          ...group.writes.slice(outcomes.length),
        );
        waiting = sumWaiting(queues);
      }
      noteWritten(tenant, writes.slice(0, outcomes.length), outcomes);
      if (direct.size > 0 && directRuns.runs > 1) {
        directPauses.set(tenant, host.monotonicMs() + DIRECT_PAUSE_MS);
      }
      for (const [index, outcome] of outcomes.entries()) group.writes[index]!.resolve(outcome);
    } catch (error) {
      // An outage would hit each write of the group on its own as well.
      const isAway = isOutage(error);
      // Implied events must not keep the writes themselves from being written.
      if (direct.size > 0 && !isAway) return await commitGroup(tenant, queue, group);
      const { streams } = group;
      if (streams.length === 1 || isAway) {
        const behind = isAway ? takeBehind(queue, new TextSet([...direct, ...streams])) : [];
        waiting = sumWaiting(queues);
        for (const { reject } of [...group.writes, ...behind]) reject(error);
        return;
      }
      // A fault of one stream must not affect the others, so each is tried on its own.
      const left = streams.values();
      const tryLeft = async () => {
        for (const stream of left) {
          const writes = group.writes.filter((waiting) => waiting.stream === stream);
          await commitGroup(tenant, queue, { writes, streams: [stream] });
        }
      };
      const count = error instanceof StatesNeeded ? ALONE_MAX : 1;
      await Promise.all(Array.from({ length: count }, tryLeft));
    }
  }

  return { submit, watched, counters };
}

/** Whether a write has implied events that may be written with it. */
function hasDirect(groups: readonly WriteGroup[]): boolean {
  for (const { writes } of groups) {
    for (const { write } of writes) if (write.directStreams !== undefined) return true;
  }
  return false;
}

function isEmpty({ waiting, later, busy }: Queue): boolean {
  return waiting.length === 0 && later.length === 0 && busy.size === 0;
}

/** How many writes wait, and the stored size of their events. */
interface Waits {
  writes: number;
  bytes: number;
}

function sumWaiting(queues: ReadonlyMap<number, Queue>): Waits {
  const sum = { writes: 0, bytes: 0 };
  for (const { waiting } of queues.values()) {
    sum.writes += waiting.length;
    for (const { write } of waiting) sum.bytes += write.bytes;
  }
  return sum;
}

/**
 * Takes the writes that wait for streams whose commit has just met an outage. They would wait
 * as long again, and an outage has to be reported within five seconds.
 */
function takeBehind(queue: Queue, streams: Texts<StreamKey>): WaitingWrite[] {
  const all = [...queue.waiting, ...queue.later];
  queue.waiting = queue.waiting.filter(({ stream }) => !streams.has(stream));
  queue.later = queue.later.filter(({ stream }) => !streams.has(stream));
  return all.filter(({ stream }) => streams.has(stream));
}

/**
 * Streams that are being written or have writes waiting. No implied event is written to them
 * directly.
 */
function takenStreams(queue: Queue, groups: readonly WriteGroup[]): TextSet<StreamKey> {
  const waiting = [...queue.waiting, ...queue.later].map(({ stream }) => stream);
  return new TextSet([
    ...queue.busy,
    ...waiting,
    ...groups.flatMap(({ streams }) => streams),
  ]);
}

/** Counts what a committed transaction has done; `outcomes` are those of `writes`, in order. */
export function countWritten(
  counters: Counters,
  writes: readonly PreparedWrite[],
  outcomes: readonly Outcome<Written>[],
): void {
  let fromClients = 0;
  for (let index = 0; index < writes.length; index++) {
    const outcome = outcomes[index]!;
    if (!outcome.ok || outcome.value === NOTHING_WRITTEN) continue;
    if (outcome.value.replayed) {
      counters.writesReplayed++;
      continue;
    }
    const { cause, targets, errors } = writes[index]!;
    for (const { events } of targets) {
      if (cause === undefined) fromClients += events.length;
      else count(counters.eventsWritten, cause.origin, events.length);
    }
    const { direct, rootErrors } = outcome.value;
    if (direct !== undefined) count(counters.eventsWritten, "implied", direct);
    if (errors.length > 0) countErrors(counters, errors);
    if (rootErrors !== undefined) countErrors(counters, rootErrors);
  }
  if (fromClients > 0) count(counters.eventsWritten, "client", fromClients);
}
