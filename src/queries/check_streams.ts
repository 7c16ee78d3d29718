/**
 * Walks all streams of an environment and computes again what their heads, indexes and tiles say.
 * Nothing that is stored is believed but the events, and these only as far as their chain goes.
 */

import { extendChain } from "../domain/audit/chain.ts";
import {
  EMPTY_FRONTIER,
  extendFrontier,
  type Frontier,
  frontierRoot,
} from "../domain/audit/frontier.ts";
import { leafHash, NODE_BYTES, nodeAt, type NodeHash } from "../domain/audit/node_hash.ts";
import { TILE_NODES, tileHash } from "../domain/audit/tree_tiles.ts";
import { decodeEvent } from "../domain/event.ts";
import type { GeoPlace } from "../domain/geo/cells.ts";
import type { GeoPoint } from "../domain/geo/point.ts";
import { storedPoint } from "../domain/geo/stored_point.ts";
import type { StreamKey } from "../domain/stream_key.ts";
import type { Bytes, Engine } from "../kv/engine.ts";
import { listStreams } from "../store/aggregates.ts";
import { readEpoch } from "../store/audit_cuts.ts";
import type { StreamHead } from "../store/stream_head.ts";
import { type IndexedEvent, type StreamPart, walkStreams } from "../store/streams.ts";
import { listTiles } from "../store/tiles.ts";
import { checkPoints } from "./check_points.ts";

export type Report = (subject: string, fault: string) => undefined;

/** What the walk finds of one stream at the length that an anchor has of it. */
export type WantedLengths = ReadonlyMap<string, ReadonlySet<number>>;

export interface WalkedStreams {
  readonly streams: number;
  readonly events: number;
  /** Leaves of instance trees, by stream and length. */
  readonly leaves: ReadonlyMap<string, ReadonlyMap<number, NodeHash>>;
}

const PAGE_BYTES = 4 * 1024 * 1024;
const INDEX_PAGE = 5_000;

/** A stream as far as it has been walked. */
interface Walk {
  readonly stream: StreamKey;
  frontier: Frontier;
  tip: string | undefined;
  bytes: number;
  first: number | undefined;
  last: number | undefined;
  point: GeoPoint | undefined;
  readonly nodes: NodeHash[];
  readonly leaves: Map<number, NodeHash>;
  isBroken: boolean;
}

export async function checkStreams(
  engine: Pick<Engine, "snapshot">,
  tenant: number,
  wanted: WantedLengths,
  report: Report,
): Promise<WalkedStreams> {
  const leaves = new Map<string, ReadonlyMap<number, NodeHash>>();
  const names = new Set<string>();
  const places = new Map<StreamKey, GeoPlace>();
  let events = 0;
  let walk: Walk | undefined;
  let after: Bytes | undefined;
  const epoch = await engine.snapshot((tx) => readEpoch(tx, tenant));

  function take(part: StreamPart): StreamHead | undefined {
    if (walk?.stream !== part.stream) {
      if (walk !== undefined) report(walk.stream, "has events, but no head");
      walk = startWalk(part.stream);
    }
    if (part.kind === "unreadable") {
      walk.isBroken = true;
      report(part.stream, part.reason);
    } else if (part.kind === "head") return part.head;
    else for (const event of part.events) takeEvent(walk, event, wanted, report);
    return undefined;
  }

  for (;;) {
    const page = await engine.snapshot((tx) => walkStreams(tx, tenant, after, PAGE_BYTES));
    if (page.last === undefined) break;
    after = page.last;
    for (const part of page.parts) {
      const head = take(part);
      if (head === undefined) continue;
      const walked = walk!;
      walk = undefined;
      names.add(walked.stream);
      events += walked.frontier.count;
      leaves.set(walked.stream, walked.leaves);
      checkHead(walked, head, epoch, report);
      if (head.place !== undefined) places.set(walked.stream, head.place);
      await checkTiles(engine, tenant, walked, head.generation, report);
    }
  }
  if (walk !== undefined) report(walk.stream, "has events, but no head");
  await checkIndex(engine, tenant, names, report);
  await checkPoints(engine, tenant, places, report);
  return { streams: names.size, events, leaves };
}

function startWalk(stream: StreamKey): Walk {
  return {
    stream,
    frontier: EMPTY_FRONTIER,
    tip: undefined,
    bytes: 0,
    first: undefined,
    last: undefined,
    point: undefined,
    nodes: [],
    leaves: new Map(),
    isBroken: false,
  };
}

function takeEvent(walk: Walk, event: IndexedEvent, wanted: WantedLengths, report: Report): void {
  const { stream, frontier: { count } } = walk;
  if (event.index !== count) report(stream, `event ${count} is missing before ${event.index}`);
  const hash = extendChain(walk.tip, event.raw);
  if (hash !== event.hash) report(stream, `event ${event.index} is not what its chain hash says`);
  walk.tip = hash;
  walk.bytes += event.bytes;
  walk.frontier = extendFrontier(walk.frontier, hash);
  walk.nodes.push(leafHash(hash));
  if (wanted.get(stream)?.has(count + 1)) {
    walk.leaves.set(count + 1, leafHash(frontierRoot(walk.frontier)));
  }
  try {
    const { key, metadata } = decodeEvent(event.raw);
    if (key !== stream) report(stream, `event ${event.index} is of ${key}`);
    walk.first ??= metadata.timestamp;
    walk.last = metadata.timestamp;
    walk.point = storedPoint(event.raw) ?? walk.point;
  } catch {
    report(stream, `event ${event.index} is no JSON`);
  }
}

function checkHead(walk: Walk, head: StreamHead, epoch: number, report: Report): void {
  const { stream, frontier, tip, bytes } = walk;
  const facts = [
    ["length", head.length, frontier.count],
    ["bytes", head.bytes, bytes],
    ["tip", head.tip, tip],
    ["frontier", head.peaks.join(), frontier.peaks.join()],
    ["first time", head.createdAt, walk.first],
    ["last time", head.updatedAt, walk.last],
    ["latitude", head.place?.lat, walk.point?.lat],
    ["longitude", head.place?.lng, walk.point?.lng],
  ] as const;
  for (const [name, said, found] of facts) {
    if (said !== found) report(stream, `its head has another ${name} than its events`);
  }
  if (head.epoch > epoch) report(stream, "its head is of an epoch that has not begun");
}

/** Each stored tile has the nodes that the leaves give. */
async function checkTiles(
  engine: Pick<Engine, "snapshot">,
  tenant: number,
  walk: Walk,
  generation: number,
  report: Report,
): Promise<void> {
  if (walk.frontier.count < TILE_NODES || walk.isBroken) return;
  const { stream: key } = walk;
  let nodes: readonly NodeHash[] = walk.nodes;
  for (let height = 0; nodes.length > 0; height++) {
    const stream = { tenant, key, generation };
    const above: NodeHash[] = [];
    for (const { number, tile } of await engine.snapshot((tx) => listTiles(tx, stream, height))) {
      const from = number * TILE_NODES;
      const found = Array.from({ length: tile.length / NODE_BYTES }, (_, at) => nodeAt(tile, at));
      if (!found.every((node, at) => node === nodes[from + at]) || found.length === 0) {
        report(key, `tile ${height}/${number} is not that of its events`);
      }
    }
    for (let from = 0; from + TILE_NODES <= nodes.length; from += TILE_NODES) {
      above.push(tileHash(Uint8Array.fromHex(nodes.slice(from, from + TILE_NODES).join(""))));
    }
    nodes = above;
  }
}

/** The listing has every stream that has events, and no other. */
async function checkIndex(
  engine: Pick<Engine, "snapshot">,
  tenant: number,
  names: ReadonlySet<string>,
  report: Report,
): Promise<void> {
  const missing = new Set(names);
  let after: StreamKey | undefined;
  for (;;) {
    const page = { after, limit: INDEX_PAGE };
    const listed = await engine.snapshot((tx) => listStreams(tx, tenant, page));
    for (const stream of listed) {
      if (!names.has(stream)) report(stream, "is listed, but has no events");
      missing.delete(stream);
    }
    if (listed.length < INDEX_PAGE) break;
    after = listed.at(-1);
  }
  for (const stream of missing) report(stream, "has events, but is not listed");
}
