/**
 * Looks through the marks of lanes, a few shards at a time, for lanes that may be worked on. After
 * a restart there may be marks of many listeners in every shard, so a look ends its turn again and
 * again, and takes no more lanes of a listener than that has room for.
 */

import { PIECE_MS_MAX } from "../../domain/fairness/pieces.ts";
import type { Lane } from "../../domain/listener/delivery.ts";
import type { StreamKey } from "../../domain/identifier.ts";
import type { Host } from "../../host.ts";
import type { Engine, ReadTransaction } from "../../kv/engine.ts";
import {
  type Endpoint as Place,
  listMarkedLanes,
  nextMarkedEndpoint,
} from "../../store/listeners/deliveries.ts";
import {
  type Endpoint,
  endpointName,
  type Endpoints,
  LANES_AHEAD,
  roomOf,
} from "./delivery_endpoints.ts";

/** What a scan found of one listener in one shard. */
export interface Found {
  readonly shard: number;
  readonly at: Place;
  readonly lanes: readonly Lane[];
  /** Whether the shard may have more marked lanes of it. */
  readonly hasMore: boolean;
  /** Where the next scan of the shard goes on: behind this stream, or at the first one. */
  readonly next: StreamKey | undefined;
}

export interface LaneScan {
  readonly found: readonly Found[];
  /** Whether all listeners of all shards were visited. */
  readonly isRound: boolean;
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
/** Listeners of one shard that one scan visits at most. */
const VISITS_MAX = 50;

/** The scan of one shard under way. */
interface ShardScan {
  readonly shard: number;
  visits: number;
  /** The listener that was visited last. */
  after: Place | undefined;
  isOver: boolean;
}

/** One look at all shards. */
interface Look {
  readonly nowMs: number;
  readonly found: Found[];
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

  function end({ shard, after }: ShardScan): void {
    if (after === undefined) turns.delete(shard);
    else turns.set(shard, after);
  }

  function roomAt({ rooms, nowMs }: Look, at: Place, endpoint: Endpoint | undefined): Room {
    const name = endpointName(at.tenant, at.listener);
    let room = rooms.get(name);
    if (room === undefined) {
      const atFirst = endpoint === undefined ? LANES_AHEAD : roomOf(endpoint, nowMs);
      rooms.set(name, room = { atFirst, left: atFirst });
    }
    return room;
  }

  /** Visits listeners until the slice is over, at least one. */
  async function goOn(tx: ReadTransaction, scan: ShardScan, look: Look): Promise<void> {
    const untilMs = host.monotonicMs() + PIECE_MS_MAX;
    do {
      const at = await nextMarkedEndpoint(tx, scan.shard, scan.after);
      scan.after = at;
      if (at === undefined) break;
      await visit(tx, scan.shard, at, look);
      scan.visits++;
    } while (scan.visits < VISITS_MAX && host.monotonicMs() < untilMs);
    scan.isOver = scan.after === undefined || scan.visits === VISITS_MAX;
  }

  async function visit(
    tx: ReadTransaction,
    shard: number,
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
      look.found.push({ shard, at, lanes: [], hasMore: true, next: from });
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
    const hasMore = from !== undefined || next !== undefined;
    look.found.push({ shard, at, lanes, hasMore, next });
    room.left += part - lanes.length;
  }

  return {
    async scan(shards) {
      const look: Look = { nowMs: host.nowMs(), found: [], rooms: new Map(), full: new Set() };
      const isFromFirst = shards.every((shard) => !turns.has(shard));
      // Each look begins with another shard: the first one may fill the room.
      const from = shards.length === 0 ? 0 : looks++ % shards.length;
      const inTurn = [...shards.slice(from), ...shards.slice(0, from)];
      for (let at = 0; at < inTurn.length; at += SHARDS_AT_A_TIME) {
        const scans = inTurn.slice(at, at + SHARDS_AT_A_TIME)
          .map((shard): ShardScan => ({
            shard,
            visits: 0,
            after: turns.get(shard),
            isOver: false,
          }));
        for (let open = scans; open.length > 0; open = open.filter(({ isOver }) => !isOver)) {
          if (at > 0 || open !== scans) await host.yieldTurn();
          await engine.snapshot((tx) => Promise.all(open.map((scan) => goOn(tx, scan, look))));
        }
        scans.forEach(end);
      }
      const isRound = isFromFirst && shards.every((shard) => !turns.has(shard));
      return { found: look.found, isRound, full: look.full };
    },
  };
}
