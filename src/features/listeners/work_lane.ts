/**
 * Works through one lane: each delivery is sent when the one before it has ended. This keeps
 * the order per listener and stream. While an outcome is being settled, the next delivery may
 * already be under way. So a process that dies then leaves a few to be sent again. See
 * docs/reference/listeners.md.
 */

import {
  afterTry,
  type DeliveryEnd,
  isSuccess,
  isTooOld,
  type Lane,
  type TryAnswer,
} from "../../domain/listener/delivery.ts";
import { openGate } from "../../domain/fairness/pieces.ts";
import { openWaitingRoom } from "../../domain/fairness/shares.ts";
import type { ReadTransaction } from "../../kv/engine.ts";
import { listLane } from "../../store/listeners/deliveries.ts";
import { readEvent, readEvents } from "../../store/streams/stream_events.ts";
import { beginTry, type Endpoint, endTry, forgetAnswers } from "./delivery_endpoints.ts";
import type { DeliveryChange, DeliverySettler } from "./settle_deliveries.ts";
import {
  createDeliveryTrier,
  type DeliveryParts,
  type LoadedDelivery,
  type Receiver,
} from "./try_delivery.ts";

/**
 * `done`: nothing was due and the mark is gone. `left`: for another time. `more`: its turn is
 * over.
 */
export type LaneRest = "done" | "left" | "more";

export interface LaneWork {
  readonly endpoint: Endpoint;
  readonly lane: Lane;
  /** Checked before each step: whether the lane is still this process's. */
  mayGoOn(): boolean;
  /** True once the process is ending and a running try may be cut off. */
  isEnding(): boolean;
}

export interface LaneWatcher {
  onTried(answer: TryAnswer, seconds: number): void;
  onEnded(lane: Lane, id: string, end: DeliveryEnd): void;
}

export interface LaneWorker {
  /** Throws outages and bugs. */
  work(work: LaneWork): Promise<LaneRest>;
}

/** Consecutive deliveries of one lane before other lanes have their turn. */
const TURN_DELIVERIES = 32;
/**
 * Limits of reading ahead. What was read is used within a second or read again, because an
 * event may be erased meanwhile.
 */
const AHEAD_DELIVERIES = 16;
const AHEAD_BYTES = 128 * 1024;
const AHEAD_MS = 1_000;
/** Events in between that the listener does not hear are read as well, up to this span. */
const AHEAD_SPAN = 64;
/**
 * Lanes that read ahead at the same time; a quarter of them may be of one environment. Reads of a
 * cluster wait for it, reads of the embedded engine take the thread.
 */
const READERS_MAX = { embedded: 32, shared: 256 } as const;
const MS_PER_SECOND = 1000;

export function createLaneWorker(
  parts: DeliveryParts,
  settler: DeliverySettler,
  watcher: LaneWatcher,
): LaneWorker {
  const { engine, host } = parts;
  const trier = createDeliveryTrier(parts);
  const gate = openGate(host);
  const { isShared } = engine.capabilities;
  const readers = openWaitingRoom(isShared ? READERS_MAX.shared : READERS_MAX.embedded);

  async function work(work: LaneWork): Promise<LaneRest> {
    const { lane, mayGoOn } = work;
    const settling = openSettling(lane);
    let ahead: LoadedDelivery[] = [];
    let readMs = 0;
    try {
      for (let turn = 0; turn < TURN_DELIVERIES; turn++) {
        const turnComes = gate.enter();
        if (turnComes !== undefined) await turnComes;
        if (!mayGoOn()) return "left";
        if (ahead.length === 0 || host.nowMs() - readMs > AHEAD_MS) {
          await settling.all();
          readMs = host.nowMs();
          ahead = await readInTurn(lane);
        }
        const next = ahead.shift();
        const isDue = next !== undefined && next.delivery.dueMs <= host.nowMs();
        const change = isDue ? await deliver(work, next) : undefined;
        if (isDue && change === undefined) return "left";
        if (change !== undefined) settling.add(change);
        const hasNext = change?.end !== undefined && ahead[0]?.delivery.dueMs === 0;
        if (hasNext && !settling.isStale()) settling.begin();
        else if (await settling.rest()) ahead = [];
        else return "done";
      }
      return "more";
    } finally {
      await settling.all();
    }
  }

  /** After a restart many lanes begin at once, each with events that may be large. */
  async function readInTurn(lane: Lane): Promise<LoadedDelivery[]> {
    const leave = await readers.enter(lane.tenant, 1);
    try {
      const turnComes = gate.enter();
      if (turnComes !== undefined) await turnComes;
      return await engine.snapshot((tx) => readAhead(tx, lane));
    } finally {
      leave();
    }
  }

  /** Collects the outcomes of one turn of a lane, settled while the next delivery is under way. */
  function openSettling(lane: Lane) {
    let gathered: DeliveryChange[] = [];
    let running: Promise<void> | undefined;
    let isStale = false;

    function settle(hasNext: boolean): Promise<boolean> {
      const changes = gathered;
      gathered = [];
      return settler.settle({ lane, changes, hasNext }).then(({ changed, goesOn }) => {
        if (changed.length < changes.length) isStale = true;
        for (const { before, end } of changed) {
          if (end !== undefined) watcher.onEnded(lane, before.id, end);
        }
        return goesOn;
      });
    }

    async function all(): Promise<void> {
      await running;
      if (gathered.length > 0) await settle(true);
    }

    return {
      isStale: () => isStale,
      all,
      add: (change: DeliveryChange) => void gathered.push(change),
      /**
       * Starts settling and lets the lane go on. Outcomes that arrive meanwhile are settled
       * together.
       */
      begin(): void {
        if (running !== undefined) return;
        running = settle(true).then(() => void (running = undefined));
        // The caller that awaits `running` gets the error; until then it must not count as
        // unhandled.
        running.catch(() => {});
      },
      /** Settles everything and checks what is due then. Returns false if nothing is. */
      async rest(): Promise<boolean> {
        await running;
        return await settle(false);
      },
    };
  }

  /** Returns the outcome to settle; undefined if there is none. */
  async function deliver(
    work: LaneWork,
    loaded: LoadedDelivery,
  ): Promise<DeliveryChange | undefined> {
    const { endpoint, lane } = work;
    const { index, delivery: before } = loaded;
    const addressee = await trier.address(lane, loaded);
    const nowMs = host.nowMs();
    const ended = (end: DeliveryEnd) => ({ index, before, after: before, end, atMs: nowMs });
    if (addressee.kind === "nobody") {
      const { reason } = addressee;
      if (reason !== "event_erased") forgetAnswers(endpoint);
      return ended({ state: "dropped", reason });
    }
    // The lookup may have taken a while. If the lane is another process's by now, that one
    // delivers.
    if (!work.mayGoOn()) return undefined;
    if (beginTry(endpoint, addressee.url, nowMs)) return await attempt(work, loaded, addressee);
    endpoint.hasMore = true;
    if (!isTooOld(before, nowMs)) return undefined;
    // Where one delivery is too old, others may be as well.
    endpoint.looksMs = 0;
    return ended({ state: "dead", reason: "endpoint_unavailable" });
  }

  async function attempt(
    { endpoint, lane, isEnding }: LaneWork,
    { index, delivery: before }: LoadedDelivery,
    receiver: Receiver,
  ): Promise<DeliveryChange | undefined> {
    const { url } = receiver;
    const { answer, endedMs, line } = await trier.attempt(lane, before, receiver);
    const isDelivered = isSuccess(answer);
    // Cut off by the end of this process, the try does not count; the next process repeats it.
    const isCutOff = !isDelivered && isEnding();
    endTry(endpoint, url, isCutOff ? undefined : isDelivered, endedMs);
    if (isCutOff) return undefined;
    watcher.onTried(answer, line.duration_ms / MS_PER_SECOND);
    const tries = [...before.tries, line];
    const step = afterTry(tries.length, answer, endedMs);
    const change = { index, before, after: { ...before, tries }, atMs: endedMs };
    if (step.state !== "pending") return { ...change, end: step };
    return { ...change, after: { ...change.after, dueMs: step.dueMs } };
  }

  return { work };
}

async function readAhead(tx: ReadTransaction, lane: Lane): Promise<LoadedDelivery[]> {
  const { tenant, stream } = lane;
  const entries = await listLane(tx, lane, AHEAD_DELIVERIES);
  const first = entries[0];
  if (first === undefined) return [];
  const near = entries.filter(({ index }) => index - first.index < AHEAD_SPAN);
  if (near.length === 1) {
    return [{ ...first, event: await readEvent(tx, tenant, stream, first) }];
  }
  const window = { from: first.index, to: near.at(-1)!.index + 1, bytesMax: AHEAD_BYTES };
  const events = await readEvents(tx, tenant, stream, window);
  const byIndex = new Map(events.map((event) => [event.index, event]));
  const last = events.at(-1)?.index ?? first.index;
  return near.filter(({ index }) => index <= last)
    .map((entry) => ({ ...entry, event: byIndex.get(entry.index) }));
}
