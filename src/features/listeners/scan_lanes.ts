/**
 * Looks through the marks of lanes, a few shards at a time, for lanes that may be worked on. After
 * a restart there may be marks of many listeners in every shard, so a look ends its turn again and
 * again, and takes no more lanes of a listener than that has room for.
 */

import type { Lane } from "../../domain/listener/delivery.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Host } from "../../host.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import { listMarkedLanes, nextMarkedEndpoint } from "../../store/listeners/deliveries.ts";
import { type Endpoint, type Endpoints, LANES_AHEAD, roomOf } from "./delivery_endpoints.ts";

type Place = Pick<Lane, "tenant" | "listener">;

/** What a scan found of one listener in one shard. */
export interface Found {
  readonly at: Place;
  readonly lanes: readonly Lane[];
  /** Whether the shard may have more marked lanes of it. */
  readonly hasMore: boolean;
  /** Where the next scan of the shard goes on: behind this stream, or at the first one. */
  readonly next: StreamKey | undefined;
}

export interface ShardPage {
  readonly shard: number;
  readonly found: readonly Found[];
  /** Whether the scan began with the first listener of the shard. */
  readonly isFromFirst: boolean;
  /** The listener behind which the next scan begins; undefined: it has seen the last one. */
  readonly next: Place | undefined;
}

export interface LaneScan {
  readonly pages: readonly ShardPage[];
  /** Listeners that were passed over, because they had no room. */
  readonly full: ReadonlySet<Endpoint>;
}

export interface LaneScanner {
  scan(shards: readonly number[]): Promise<LaneScan>;
}

export interface ScanParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly endpoints: Endpoints;
  /** Whether a lane waits in this process, or is worked on. */
  readonly isBusy: (lane: Lane) => boolean;
}

/** Shards that are scanned in one snapshot. */
const SHARDS_AT_A_TIME = 4;
/** How long a snapshot reads before it ends its turn. */
const SLICE_MS_MAX = 4;
/** Listeners of one shard that one scan visits at most. */
const VISITS_MAX = 50;

/** The scan of one shard under way. */
interface ShardScan {
  readonly shard: number;
  readonly found: Found[];
  readonly isFromFirst: boolean;
  visits: number;
  after: Place | undefined;
  isOver: boolean;
}

/** One look at all shards. */
interface Look {
  readonly nowMs: number;
  /** By name of the listener. */
  readonly rooms: Map<string, Room>;
  readonly full: Set<Endpoint>;
}

/** How many lanes a listener has room for: at first, and beside what was found since. */
interface Room {
  readonly atFirst: number;
  left: number;
}

export function openLaneScanner({ engine, host, endpoints, isBusy }: ScanParts): LaneScanner {
  /** By shard: the listener behind which its next scan begins. Missing: at the first one. */
  const turns = new Map<number, Place>();
  let looks = 0;

  function begin(shard: number): ShardScan {
    const after = turns.get(shard);
    const isFromFirst = after === undefined;
    return { shard, found: [], isFromFirst, visits: 0, after, isOver: false };
  }

  function end({ shard, found, isFromFirst, after }: ShardScan): ShardPage {
    if (after === undefined) turns.delete(shard);
    else turns.set(shard, after);
    return { shard, found, isFromFirst, next: after };
  }

  function roomAt({ rooms, nowMs }: Look, at: Place, endpoint: Endpoint | undefined): Room {
    const name = `${at.tenant}/${at.listener}`;
    let room = rooms.get(name);
    if (room === undefined) {
      const atFirst = endpoint === undefined ? LANES_AHEAD : roomOf(endpoint, nowMs);
      rooms.set(name, room = { atFirst, left: atFirst });
    }
    return room;
  }

  /** Visits listeners until the slice is over, at least one. */
  async function goOn(tx: ReadTransaction, scan: ShardScan, look: Look): Promise<void> {
    const untilMs = host.monotonicMs() + SLICE_MS_MAX;
    do {
      const at = await nextMarkedEndpoint(tx, scan.shard, scan.after);
      scan.after = at;
      if (at === undefined) break;
      await visit(tx, scan, at, look);
      scan.visits++;
    } while (scan.visits < VISITS_MAX && host.monotonicMs() < untilMs);
    scan.isOver = scan.after === undefined || scan.visits === VISITS_MAX;
  }

  async function visit(
    tx: ReadTransaction,
    { shard, found }: ShardScan,
    at: Place,
    look: Look,
  ): Promise<void> {
    const endpoint = endpoints.find(at.tenant, at.listener);
    const room = roomAt(look, at, endpoint);
    const from = endpoint?.cursors.get(shard);
    if (room.atFirst === 0) {
      if (endpoint !== undefined) look.full.add(endpoint);
      return;
    }
    if (room.left <= 0) {
      // Other shards have filled its room; what is here comes later.
      found.push({ at, lanes: [], hasMore: true, next: from });
      return;
    }
    const taken = endpoint === undefined ? 0 : endpoint.waiting.length + endpoint.underWay;
    // Shards that are read beside this one find room as well.
    const part = Math.ceil(room.left / SHARDS_AT_A_TIME);
    const limit = part + taken;
    room.left -= part;
    const marked = await listMarkedLanes(tx, shard, at, { after: from, limit });
    const lanes = marked.filter((lane) => !isBusy(lane));
    const next = marked.length < limit ? undefined : marked.at(-1)!.stream;
    // A scan from a cursor has not seen what lies before that.
    found.push({ at, lanes, hasMore: from !== undefined || next !== undefined, next });
    room.left += part - lanes.length;
  }

  return {
    async scan(shards) {
      const look: Look = { nowMs: host.nowMs(), rooms: new Map(), full: new Set() };
      // Each look begins with another shard: the first one may fill the room.
      const from = shards.length === 0 ? 0 : looks++ % shards.length;
      const inTurn = [...shards.slice(from), ...shards.slice(0, from)];
      const pages: ShardPage[] = [];
      for (let at = 0; at < inTurn.length; at += SHARDS_AT_A_TIME) {
        const scans = inTurn.slice(at, at + SHARDS_AT_A_TIME).map(begin);
        for (let open = scans; open.length > 0; open = open.filter(({ isOver }) => !isOver)) {
          if (at > 0 || open !== scans) await host.yieldTurn();
          await engine.snapshot((tx) => Promise.all(open.map((scan) => goOn(tx, scan, look))));
        }
        pages.push(...scans.map(end));
      }
      return { pages, full: look.full };
    },
  };
}
