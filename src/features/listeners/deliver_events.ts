/**
 * Delivers events to listeners: finds the lanes with something due and works on them. The
 * bulkheads limit how many lanes run at a time. See docs/reference/listeners.md.
 *
 * The process that holds a lane's shard works on the lane, which keeps its order. State in
 * memory only saves time: a mark in the store says that the lane has work, and stays until the
 * transaction that finds nothing more removes it.
 */

import { count, type Counters, observe } from "../../domain/measures/counters.ts";
import type { Circuit } from "../../domain/listener/circuit.ts";
import type { DeliveryEnd, Lane } from "../../domain/listener/delivery.ts";
import { isOutage } from "../../domain/outage.ts";
import type { Engine } from "../../kv/engine.ts";
import { openInstanceNames } from "../base/instance_of.ts";
import { laneShard } from "../../store/listeners/deliveries.ts";
import { NO_OWN_LANES, type OwnLanes } from "../writes/append_deliveries.ts";
import {
  type Endpoint,
  LANES_AHEAD,
  noteLook,
  noteUnderWay,
  openEndpoints,
  roomOf,
} from "./delivery_endpoints.ts";
import { type Found, openLaneScanner } from "./scan_lanes.ts";
import { openReadyEndpoints } from "./ready_endpoints.ts";
import { openDeliverySettler } from "./settle_deliveries.ts";
import type { WorkShare } from "../base/share_work.ts";
import { type DeliveryParts, resultOf } from "./try_delivery.ts";
import { createLaneWorker, type LaneRest } from "./work_lane.ts";
import type { Host } from "../../host.ts";
import { keys } from "../../store/keys.ts";
import { followVersion } from "../base/follow_version.ts";
import { TextMap } from "../../domain/lookup/text_map.ts";

export interface DeliveryRunner extends OwnLanes {
  /**
   * Looks for lanes with something due in this process's share and starts on them. Returns how
   * many it found; they continue in the background. Throws if the store is unavailable.
   */
  drain(isStopping?: () => boolean): Promise<number>;
  /** Calls `wake` when a drain may find something. The returned function ends that. */
  follow(wake: () => void): () => Promise<void>;
  /** How an endpoint has answered this process; undefined if nothing is known. */
  circuitOf(tenant: number, listener: string): Circuit | undefined;
  /** Resolves when nothing is under way. */
  idle(): Promise<void>;
  /** Starts nothing more, gives running tries a moment to finish, then cuts them off. */
  end(): Promise<void>;
}

/** For a process that does not deliver. */
export const NO_DELIVERIES: DeliveryRunner = {
  ...NO_OWN_LANES,
  drain: () => Promise.resolve(0),
  follow: () => () => Promise.resolve(),
  circuitOf: () => undefined,
  idle: () => Promise.resolve(),
  end: () => Promise.resolve(),
};

export interface RunnerParts extends DeliveryParts {
  readonly share: WorkShare;
  readonly counters: Counters;
}

/** How long a lane is left alone after a fault of our own. */
const FAULT_PAUSE_MS = 5_000;
/** How long running tries may take when the process ends. */
const END_MS = 1_000;

/** A lane in memory: it waits or is being worked on. */
interface Busy {
  readonly shard: number;
  isUnderWay: boolean;
  /** The lane was offered again meanwhile, so it may have work that was not seen. */
  again: boolean;
}

export function createDeliveryRunner(parts: RunnerParts): DeliveryRunner {
  const { engine, host, share, counters, sender } = parts;
  const settler = openDeliverySettler(engine, host);
  const endpoints = openEndpoints(openInstanceNames(engine));
  const busy = new TextMap<Busy>();
  const isBusy = (lane: Lane) => busy.has(nameOf(lane));
  const scanner = openLaneScanner({ engine, host, endpoints, isBusy });
  const ready = openReadyEndpoints();
  /** Endpoints that have refused a lane since the scan began, which it need not have seen. */
  const refused = new Set<Endpoint>();
  const running = new Set<Promise<void>>();
  const wakes = new Set<() => void>();
  let isDriven = false;
  let isEnding = false;
  let isCutOff = false;
  const worker = createLaneWorker(parts, settler, {
    onTried(answer, seconds) {
      count(counters.deliveryTries, resultOf(answer));
      observe(counters.deliverySeconds, seconds);
    },
    onEnded: noteEnd,
  });
  share.keepWhileBusy("lane", (shard) => {
    for (const each of busy.values()) if (each.isUnderWay && each.shard === shard) return true;
    return false;
  });

  function noteEnd({ tenant, listener }: Lane, id: string, end: DeliveryEnd): void {
    count(counters.deliveries, end.state);
    if (end.state !== "dead") return;
    const { reason } = end;
    host.log("warn", "A delivery has failed for good", { tenant, listener, id, reason });
  }

  function isOwn(lane: Lane): boolean {
    return isDriven && !isEnding && share.owns("lane", laneShard(lane));
  }

  function offer(lanes: Iterable<Lane>): void {
    // If the store has more marked lanes of the endpoint, its order decides which lane comes
    // next.
    for (const lane of lanes) if (isOwn(lane)) enter(lane, (endpoint) => !endpoint.hasMore);
    pump();
  }

  /** Returns true if the lane now waits. */
  function enter(lane: Lane, hasRoom: (endpoint: Endpoint) => boolean): boolean {
    const name = nameOf(lane);
    const known = busy.get(name);
    if (known !== undefined) {
      known.again = true;
      return false;
    }
    const endpoint = endpoints.open(lane.tenant, lane.listener);
    if (endpoint.waiting.length >= LANES_AHEAD || !hasRoom(endpoint)) {
      endpoint.hasMore = true;
      refused.add(endpoint);
      return false;
    }
    busy.set(name, { shard: laneShard(lane), isUnderWay: false, again: false });
    endpoint.waiting.push(lane);
    ready.add(endpoint);
    return true;
  }

  /** Starts everything that may start. */
  function pump(): void {
    while (!isEnding) {
      const endpoint = ready.take(running.size);
      if (endpoint === undefined) return;
      const lane = endpoint.waiting.shift()!;
      begin(endpoint, lane);
      if (endpoint.waiting.length > 0) ready.add(endpoint);
    }
  }

  function begin(endpoint: Endpoint, lane: Lane): void {
    const name = nameOf(lane);
    const own = busy.get(name)!;
    own.isUnderWay = true;
    own.again = false;
    noteUnderWay(endpoint, 1);
    const work = {
      endpoint,
      lane,
      mayGoOn: () => isOwn(lane),
      isEnding: () => isCutOff,
    };
    const run = worker.work(work).catch((error: unknown) => noteFault(lane, error)).then((rest) => {
      running.delete(run);
      noteUnderWay(endpoint, -1);
      finish(endpoint, lane, own, rest);
      pump();
    });
    running.add(run);
  }

  function finish(endpoint: Endpoint, lane: Lane, own: Busy, rest: LaneRest | "fault"): void {
    own.isUnderWay = false;
    if (rest === "fault") {
      // The lane's mark would bring it back at once, over and over.
      host.startTimer(FAULT_PAUSE_MS, () => void busy.delete(nameOf(lane)));
      return;
    }
    busy.delete(nameOf(lane));
    if (rest === "more" || (rest === "done" && own.again)) offer([lane]);
    const isWanted = endpoint.hasMore && roomOf(endpoint, host.nowMs()) > 0;
    if (isWanted) { for (const wake of wakes) wake(); }
    endpoints.closeIdle(endpoint);
  }

  function noteFault({ tenant, listener, stream }: Lane, error: unknown): LaneRest | "fault" {
    // The store is unavailable; whatever is left still has its mark.
    if (isOutage(error)) return "left";
    const reason = error instanceof Error ? error.message : String(error);
    host.log("error", "Deliveries of a lane failed and go on later", {
      tenant,
      listener,
      stream,
      reason,
    });
    return "fault";
  }

  async function drain(isStopping = () => false): Promise<number> {
    const leases = await share.held("lane");
    isDriven = true;
    if (isEnding || isStopping()) return 0;
    refused.clear();
    const { found, isRound, full } = await scanner.scan(leases.map(({ shard }) => shard));
    const nowMs = host.nowMs();
    for (const endpoint of endpoints.all()) {
      if (full.has(endpoint) || roomOf(endpoint, nowMs) === 0) continue;
      if (!refused.has(endpoint)) endpoint.hasMore = false;
      noteLook(endpoint, nowMs);
      endpoints.closeIdle(endpoint);
    }
    let entered = 0;
    for (const each of found) entered += enterFound(each);
    pump();
    return entered === 0 && !isRound ? 1 : entered;
  }

  function enterFound({ shard, at, lanes, hasMore, next }: Found): number {
    if (lanes.length === 0 && !hasMore) return 0;
    const endpoint = endpoints.open(at.tenant, at.listener);
    if (next === undefined) endpoint.cursors.delete(shard);
    else endpoint.cursors.set(shard, next);
    if (hasMore) endpoint.hasMore = true;
    let entered = 0;
    for (const lane of lanes) if (enter(lane, () => true)) entered++;
    return entered;
  }

  function follow(wake: () => void): () => Promise<void> {
    wakes.add(wake);
    const close = followLanes(engine, host, wake);
    return () => {
      wakes.delete(wake);
      return close();
    };
  }

  async function idle(): Promise<void> {
    while (running.size > 0) await Promise.all(running);
  }

  async function end(): Promise<void> {
    isEnding = true;
    settler.end();
    let cancel = () => {};
    const over = new Promise<void>((resolve) => cancel = host.startTimer(END_MS, resolve));
    await Promise.race([idle(), over]);
    cancel();
    isCutOff = true;
    sender.close();
    await idle();
  }

  const circuitOf = (tenant: number, listener: string) => endpoints.find(tenant, listener)?.circuit;

  return { isOwn, offer, drain, follow, circuitOf, idle, end };
}

function nameOf({ tenant, listener, stream }: Lane): string {
  return `${tenant}/${listener}/${stream}`;
}

/**
 * Calls `wake` at once, and when lanes that other processes have marked may have deliveries.
 * Call the result to stop.
 */
function followLanes(engine: Engine, host: Host, wake: () => void): () => Promise<void> {
  return followVersion(engine, host, keys.laneSignal(), wake).close;
}
