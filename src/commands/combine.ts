/**
 * Combines concurrent writes: those that wait when a transaction begins (`gather_writes.ts`) share
 * it, each with its own answer. A stream is in one transaction at a time, so a hot stream costs one
 * commit for many requests instead of one conflict for each; what arrives for it meanwhile waits.
 */

import { type Counters, newCounters } from "../domain/counters.ts";
import { limits } from "../domain/limits.ts";
import { isOutage } from "../domain/outage.ts";
import type { Outcome } from "../domain/refusal.ts";
import type { StreamKey } from "../domain/stream_key.ts";
import type { Written } from "../domain/write.ts";
import type { Host } from "../host.ts";
import type { Engine } from "../kv/engine.ts";
import { openWatchedTypes, type WatchedTypesReader } from "../store/watched_types.ts";
import { NO_OWN_LANES, offerDeliveries, type OwnLanes } from "./append_deliveries.ts";
import { appendWrites } from "./append_writes.ts";
import { countWritten } from "./count_written.ts";
import { directStreamsOf, NO_STREAMS } from "./direct_events.ts";
import { NO_GATHERING, openGathering } from "./gather_writes.ts";
import type { PreparedWrite } from "./prepared_write.ts";

/** Writes that share one transaction at most. */
const GROUP_WRITES_MAX = 500;
/** Streams that share one transaction at most: a conflict on one makes it run again for all. */
const GROUP_STREAMS_MAX = 64;
/** Events' bytes that share one transaction at most; a larger write goes alone. */
const GROUP_BYTES_MAX = limits.writeStoredBytesMax / 4;
/**
 * After a transaction that ran again, so long none writes what is implied: another process may be
 * writing to the same streams, and each first run would be for nothing.
 */
const DIRECT_PAUSE_MS = 1_000;

/** Writes that share a transaction, those to one stream one after the other. */
interface Group {
  readonly writes: Waiting[];
  /** All that they are about, each once. */
  readonly streams: StreamKey[];
}

interface Waiting {
  readonly stream: StreamKey;
  readonly write: PreparedWrite;
  readonly resolve: (outcome: Outcome<Written>) => void;
  readonly reject: (error: unknown) => void;
}

/** One tenant's writes in the order they came, and the streams that are being written. */
interface Queue {
  readonly busy: Set<StreamKey>;
  waiting: Waiting[];
}

export interface Combiner {
  submit(tenant: number, write: PreparedWrite): Promise<Outcome<Written>>;
  /** What all transactions that append events read. */
  readonly watched: WatchedTypesReader;
  /** Where all that is written is counted. */
  readonly counters: Counters;
}

export function createCombiner(
  engine: Engine,
  host: Host,
  counters: Counters = newCounters(),
  lanes: OwnLanes = NO_OWN_LANES,
  watched: WatchedTypesReader = openWatchedTypes(),
): Combiner {
  const queues = new Map<number, Queue>();
  /** By tenant, until when (monotonic) what is implied is left to the outbox. */
  const directPauses = new Map<number, number>();
  const isAlone = engine.durableVersion !== undefined;
  const gathering = isAlone ? openGathering(() => host.monotonicMs()) : NO_GATHERING;
  let isScheduled = false;

  function submit(tenant: number, write: PreparedWrite): Promise<Outcome<Written>> {
    if (write.targets.length > 1) return commitAlone(tenant, write);
    const queue = queues.get(tenant) ?? openQueue(tenant);
    const stream = write.targets[0]!.key;
    return new Promise((resolve, reject) => {
      queue.waiting.push({ stream, write, resolve, reject });
      schedule();
    });
  }

  function openQueue(tenant: number): Queue {
    const queue: Queue = { busy: new Set(), waiting: [] };
    queues.set(tenant, queue);
    return queue;
  }

  async function commitAlone(tenant: number, write: PreparedWrite): Promise<Outcome<Written>> {
    const writes = [write];
    const outcomes = await engine.transact((tx) =>
      appendWrites(tx, tenant, writes, watched, { lanes })
    );
    noteWritten(tenant, writes, outcomes);
    return outcomes[0]!;
  }

  /** What follows from a transaction that is known to have taken place. */
  function noteWritten(
    tenant: number,
    writes: readonly PreparedWrite[],
    outcomes: readonly Outcome<Written>[],
  ): void {
    countWritten(counters, writes, outcomes);
    offerDeliveries(lanes, tenant, writes, outcomes);
  }

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    host.yieldBriefly().then(look);
  }

  function look(): void {
    const next = gathering.look(sumWaiting(queues));
    if (next === "next_turn") {
      host.yieldBriefly().then(look);
      return;
    }
    isScheduled = false;
    if (next === "commit") startGroups();
  }

  function startGroups(): void {
    for (const [tenant, queue] of queues) {
      const groups = takeGroups(queue);
      const direct = directStreams(tenant, queue, groups);
      for (const [index, group] of groups.entries()) {
        commitInTurn(tenant, queue, group, direct[index]!);
      }
      if (queue.waiting.length === 0 && queue.busy.size === 0) queues.delete(tenant);
    }
  }

  function directStreams(tenant: number, queue: Queue, groups: readonly Group[]) {
    const untilMs = directPauses.get(tenant);
    if (untilMs !== undefined) {
      if (host.monotonicMs() < untilMs) return groups.map(() => NO_STREAMS);
      directPauses.delete(tenant);
    }
    const writes = groups.map((group) => group.writes.map(({ write }) => write));
    return directStreamsOf(writes, () => takenStreams(queue, groups));
  }

  async function commitInTurn(
    tenant: number,
    queue: Queue,
    group: Group,
    direct: ReadonlySet<StreamKey>,
  ): Promise<void> {
    for (const stream of group.streams) queue.busy.add(stream);
    for (const stream of direct) queue.busy.add(stream);
    await commitGroup(tenant, queue, group, direct);
    for (const stream of group.streams) queue.busy.delete(stream);
    for (const stream of direct) queue.busy.delete(stream);
    if (queue.waiting.length === 0 && queue.busy.size === 0) queues.delete(tenant);
    // Others may have waited for this one.
    if (sumWaiting(queues).writes > 0) schedule();
  }

  async function commitGroup(
    tenant: number,
    queue: Queue,
    group: Group,
    direct: ReadonlySet<StreamKey> = NO_STREAMS,
  ): Promise<void> {
    const writes = group.writes.map(({ write }) => write);
    let runs = 0;
    try {
      gathering.begin(writes.length);
      const outcomes = await engine.transact((tx) =>
        appendWrites(tx, tenant, writes, watched, {
          directStreams: runs++ === 0 ? direct : NO_STREAMS,
          lanes,
        })
      ).finally(() => gathering.end(writes.length, sumWaiting(queues).writes));
      noteWritten(tenant, writes, outcomes);
      if (direct.size > 0 && runs > 1) {
        directPauses.set(tenant, host.monotonicMs() + DIRECT_PAUSE_MS);
      }
      for (const [index, { resolve }] of group.writes.entries()) resolve(outcomes[index]!);
    } catch (error) {
      // An outage would meet every write of the group alone too.
      const isAway = isOutage(error);
      // What the writes imply must not be what keeps them from being written.
      if (direct.size > 0 && !isAway) return await commitGroup(tenant, queue, group);
      const { streams } = group;
      if (streams.length === 1 || isAway) {
        const behind = isAway ? takeBehind(queue, direct.union(new Set(streams))) : [];
        for (const { reject } of [...group.writes, ...behind]) reject(error);
        return;
      }
      // A fault of one stream is not the others' business: each is tried by itself.
      for (const stream of streams) {
        const own = group.writes.filter((waiting) => waiting.stream === stream);
        await commitGroup(tenant, queue, { writes: own, streams: [stream] });
      }
    }
  }

  return { submit, watched, counters };
}

function sumWaiting(queues: ReadonlyMap<number, Queue>): { writes: number; bytes: number } {
  const sum = { writes: 0, bytes: 0 };
  for (const { waiting } of queues.values()) {
    sum.writes += waiting.length;
    for (const { write } of waiting) sum.bytes += write.bytes;
  }
  return sum;
}

/**
 * Takes what waits for streams whose writing has just met an outage: it would wait as long again,
 * and an outage is to be told within five seconds.
 */
function takeBehind(queue: Queue, streams: ReadonlySet<StreamKey>): Waiting[] {
  const behind = queue.waiting.filter(({ stream }) => streams.has(stream));
  queue.waiting = queue.waiting.filter(({ stream }) => !streams.has(stream));
  return behind;
}

/** Where something is being written or waits to be: nothing implied goes there beside it. */
function takenStreams(queue: Queue, groups: readonly Group[]): Set<StreamKey> {
  const waiting = queue.waiting.map(({ stream }) => stream);
  return queue.busy.union(new Set([...waiting, ...groups.flatMap(({ streams }) => streams)]));
}

/** What can be written to one stream now. */
interface Taken {
  readonly waiting: Waiting[];
  /** Infinity: it is full. */
  bytes: number;
}

function hasRoom({ waiting, bytes }: Taken, write: PreparedWrite): boolean {
  if (waiting.length === GROUP_WRITES_MAX) return false;
  return bytes === 0 || bytes + write.bytes <= GROUP_BYTES_MAX;
}

/**
 * Takes what can be written now: all waiting writes to streams that are not being written, as far
 * as they fit into one group for each stream. What stays keeps its order.
 */
function takeGroups(queue: Queue): Group[] {
  const byStream = new Map<StreamKey, Taken>();
  const staying: Waiting[] = [];
  for (const waiting of queue.waiting) {
    const { stream, write } = waiting;
    const taken = byStream.get(stream);
    if (queue.busy.has(stream)) {
      staying.push(waiting);
    } else if (taken === undefined) {
      byStream.set(stream, { waiting: [waiting], bytes: write.bytes });
    } else if (hasRoom(taken, write)) {
      taken.waiting.push(waiting);
      taken.bytes += write.bytes;
    } else {
      // A stream that is full takes no later write either, or they would change places.
      taken.bytes = Infinity;
      staying.push(waiting);
    }
  }
  queue.waiting = staying;
  return joinStreams([...byStream.values()].map(({ waiting }) => waiting));
}

/** Puts the writes of several streams together while they fit into one group. */
function joinStreams(streams: readonly Waiting[][]): Group[] {
  const groups: Group[] = [];
  let room = { streams: 0, writes: 0, bytes: 0 };
  for (const stream of streams) {
    const bytes = stream.reduce((sum, { write }) => sum + write.bytes, 0);
    const fits = room.streams > 0 && room.writes >= stream.length && room.bytes >= bytes;
    if (!fits) {
      room = { streams: GROUP_STREAMS_MAX, writes: GROUP_WRITES_MAX, bytes: GROUP_BYTES_MAX };
      groups.push({ writes: [], streams: [] });
    }
    const group = groups.at(-1)!;
    group.writes.push(...stream);
    group.streams.push(stream[0]!.stream);
    room.streams--;
    room.writes -= stream.length;
    room.bytes -= bytes;
  }
  return groups;
}
