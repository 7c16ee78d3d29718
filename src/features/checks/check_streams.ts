/**
 * Walks all streams of an environment and recomputes their heads, indexes and tiles.
 *
 * It trusts no stored data except the events, and those only as far as their hash chain holds. On a
 * cluster, streams begin, grow and move while it walks, which is no fault.
 */

import type { Report } from "./report.ts";
import {
  extendChain,
  leafHash,
  NODE_BYTES,
  nodeAt,
  type NodeHash,
} from "../../domain/audit/chain.ts";
import {
  EMPTY_FRONTIER,
  extendFrontier,
  type Frontier,
  frontierRoot,
} from "../../domain/audit/frontier.ts";
import { TILE_NODES, tileHash } from "../../domain/audit/tree_tiles.ts";
import { ERASED_TYPE } from "../../domain/erasure/marker.ts";
import { decodeEvent } from "../../domain/event.ts";
import { centerOf, distanceToCell, type GeoPlace } from "../../domain/geo/cells.ts";
import type { GeoPoint } from "../../domain/geo/point.ts";
import { storedPoint } from "../../domain/geo/stored_point.ts";
import { type StreamKey, streamKey } from "../../domain/identifier.ts";
import type { Bytes, Engine } from "../../kv/engine.ts";
import { readHead } from "../../store/streams/streams.ts";
import { listStreams } from "../../store/streams/aggregates.ts";
import { readEpoch } from "../../store/streams/audit_cuts.ts";
import type { StreamHead } from "../../store/streams/stream_head.ts";
import { type StreamPart, walkStreams } from "../../store/streams/stream_walk.ts";
import type { IndexedEvent } from "../../store/streams/stream_events.ts";
import { listTiles } from "../../store/streams/tiles.ts";
import { walkPoints } from "../../store/streams/geo_index.ts";
import { TextMap } from "../../domain/lookup/text_map.ts";

/** For each stream, the lengths at which anchors or erasures refer to it. */
export type WantedLengths = ReadonlyMap<string, ReadonlySet<number>>;

export interface WalkedStreams {
  readonly streams: number;
  readonly events: number;
  /** By stream. */
  readonly found: ReadonlyMap<string, WalkedStream>;
}

/** The data that anchors and receipts are checked against. */
export interface WalkedStream {
  /** The number of events. */
  readonly length: number;
  readonly generation: number;
  /** The number of leading events that are markers of erased ones. */
  readonly markers: number;
  /** By requested length: leaves of instance trees, and chain hashes. */
  readonly leaves: ReadonlyMap<number, NodeHash>;
  readonly tips: ReadonlyMap<number, string>;
}

const NONE: ReadonlyMap<number, string> = new Map();
const PAGE_BYTES = 4 * 1024 * 1024;
const INDEX_PAGE = 5_000;

/** A stream as far as it has been walked so far. */
interface Walk {
  readonly stream: StreamKey;
  readonly generation: number;
  frontier: Frontier;
  tip: string | undefined;
  markers: number;
  bytes: number;
  first: number | undefined;
  last: number | undefined;
  point: GeoPoint | undefined;
  readonly nodes: NodeHash[];
  readonly leaves: Map<number, NodeHash>;
  readonly tips: Map<number, string>;
  /** Reported once it is known whether they concern the stream's current generation. */
  readonly faults: string[];
  isBroken: boolean;
}

export interface CheckedStreams {
  readonly tenant: number;
  readonly wanted: WantedLengths;
  readonly rewriting: ReadonlySet<string>;
}

/** `rewriting`: streams that may hold events other than those of their head. */
export async function checkStreams(
  engine: Pick<Engine, "snapshot">,
  { tenant, wanted, rewriting }: CheckedStreams,
  report: Report,
): Promise<WalkedStreams> {
  const found = new Map<string, WalkedStream>();
  const places = new TextMap<GeoPlace, StreamKey>();
  let events = 0;
  /** The walks of one stream whose head has not come up yet. */
  let walks: Walk[] = [];
  let after: Bytes | undefined;
  let epoch = await engine.snapshot((tx) => readEpoch(tx, tenant));

  function take(part: StreamPart): StreamHead | undefined {
    if (walks.length > 0 && walks[0]!.stream !== part.stream) endWithoutHead();
    if (part.kind === "head") return part.head;
    if (part.kind === "unreadable") {
      const walk = walkOf(part.stream, walks.at(-1)?.generation ?? 0);
      walk.isBroken = true;
      walk.faults.push(part.reason);
      return undefined;
    }
    const walk = walkOf(part.stream, part.generation);
    for (const event of part.events) takeEvent(walk, event, wanted);
    return undefined;
  }

  function endWithoutHead(): void {
    for (const { stream, faults } of walks) {
      report(stream, "has events, but no head");
      for (const fault of faults) report(stream, fault);
    }
    walks = [];
  }

  function walkOf(stream: StreamKey, generation: number): Walk {
    const known = walks.find((walk) => walk.generation === generation);
    if (known !== undefined) return known;
    const walk = startWalk(stream, generation);
    walks.push(walk);
    return walk;
  }

  function end(stream: StreamKey, head: StreamHead): Walk {
    const { generation } = head;
    const walked = walkOf(stream, generation);
    for (const { faults } of rewriting.has(stream) ? [walked] : walks) {
      for (const fault of faults) report(stream, fault);
    }
    if (walks.length > 1 && !rewriting.has(stream)) {
      report(stream, "has events of another generation than its head");
    }
    walks = [];
    events += walked.frontier.count;
    found.set(stream, walkedStream(walked));
    checkHead(walked, head, epoch, report);
    return walked;
  }

  for (;;) {
    const page = await engine.snapshot((tx) => walkStreams(tx, tenant, after, PAGE_BYTES));
    if (page.last === undefined) break;
    after = page.last;
    for (const part of page.parts) {
      const head = take(part);
      if (head === undefined) continue;
      if (head.place !== undefined) places.set(part.stream, head.place);
      if (head.epoch > epoch) epoch = await engine.snapshot((tx) => readEpoch(tx, tenant));
      await checkTiles(engine, tenant, end(part.stream, head), report);
    }
  }
  endWithoutHead();
  await checkIndex(engine, tenant, new Set(found.keys()), report);
  await checkPoints(engine, tenant, places, report);
  return { streams: found.size, events, found };
}

function startWalk(stream: StreamKey, generation: number): Walk {
  const unknown = { tip: undefined, first: undefined, last: undefined, point: undefined };
  const found = { nodes: [], leaves: new Map(), tips: new Map(), faults: [] };
  const counts = { frontier: EMPTY_FRONTIER, markers: 0, bytes: 0 };
  return { stream, generation, ...unknown, ...found, ...counts, isBroken: false };
}

/** A cluster may have gone on since the streams were walked. */
export function readHeadNow(
  engine: Pick<Engine, "snapshot">,
  tenant: number,
  stream: StreamKey,
): Promise<StreamHead> {
  return engine.snapshot((tx) => readHead(tx, tenant, stream));
}

/** Without what takes memory for each event. */
function walkedStream({ generation, markers, frontier, leaves, tips }: Walk): WalkedStream {
  const wanted = leaves.size > 0 ? { leaves, tips } : { leaves: NONE, tips: NONE };
  return { length: frontier.count, generation, markers, ...wanted };
}

function takeEvent(walk: Walk, event: IndexedEvent, wanted: WantedLengths): void {
  const { stream, faults, frontier: { count } } = walk;
  if (event.index !== count) faults.push(`event ${count} is missing before ${event.index}`);
  const hash = extendChain(walk.tip, event.raw);
  if (hash !== event.hash) faults.push(`event ${event.index} is not what its chain hash says`);
  walk.tip = hash;
  walk.bytes += event.bytes;
  walk.frontier = extendFrontier(walk.frontier, hash);
  walk.nodes.push(leafHash(hash));
  if (wanted.get(stream)?.has(count + 1)) {
    walk.leaves.set(count + 1, leafHash(frontierRoot(walk.frontier)));
    walk.tips.set(count + 1, hash);
  }
  try {
    const { key, type, metadata } = decodeEvent(event.raw);
    if (type === ERASED_TYPE && walk.markers === count) walk.markers++;
    if (key !== stream) faults.push(`event ${event.index} is of ${key}`);
    walk.first ??= metadata.timestamp;
    walk.last = metadata.timestamp;
    walk.point = storedPoint(event.raw) ?? walk.point;
  } catch {
    faults.push(`event ${event.index} is no JSON`);
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

/** Checks that each stored tile holds the nodes computed from the leaves. */
async function checkTiles(
  engine: Pick<Engine, "snapshot">,
  tenant: number,
  walk: Walk,
  report: Report,
): Promise<void> {
  if (walk.frontier.count < TILE_NODES || walk.isBroken) return;
  const { stream: key, generation } = walk;
  let nodes: readonly NodeHash[] = walk.nodes;
  for (let height = 0; nodes.length > 0; height++) {
    const stream = { tenant, key, generation };
    const above: NodeHash[] = [];
    const tiles = await engine.snapshot((tx) => listTiles(tx, stream, height));
    const { length } = await readHeadNow(engine, tenant, key);
    for (const { number, tile } of tiles) {
      const from = number * TILE_NODES;
      const isLater = from + tile.length / NODE_BYTES > nodes.length;
      if (isLater && length > walk.frontier.count) continue;
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

/** Checks that the listing holds every stream that has events, and no other. */
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
      missing.delete(stream);
      if (names.has(stream)) continue;
      const { length } = await readHeadNow(engine, tenant, stream);
      if (length === 0) report(stream, "is listed, but has no events");
    }
    if (listed.length < INDEX_PAGE) break;
    after = listed.at(-1);
  }
  for (const stream of missing) report(stream, "has events, but is not listed");
}

/** A leaf is a centimetre across; another runtime may round a point into the neighbouring one. */
const METRES_MAX = 1;

/**
 * Checks the index of points against the stream heads: it must hold every point and no other.
 * `places`: the points in the stream heads, by stream.
 */
async function checkPoints(
  engine: Pick<Engine, "snapshot">,
  tenant: number,
  places: ReadonlyMap<StreamKey, GeoPlace>,
  report: Report,
): Promise<void> {
  const missing = new TextMap(places);
  let after: Bytes | undefined;
  async function hasMoved(stream: StreamKey): Promise<boolean> {
    const { place } = await readHeadNow(engine, tenant, stream);
    return place === undefined ? places.has(stream) : !isSame(places.get(stream), place);
  }
  for (;;) {
    const { points, last } = await engine.snapshot((tx) =>
      walkPoints(tx, tenant, after, INDEX_PAGE)
    );
    for (const { type, id, place } of points) {
      const stream = streamKey(type, id);
      if (isSame(places.get(stream), place)) missing.delete(stream);
      else if (await hasMoved(stream)) missing.delete(stream);
      else report(stream, "is in the index of points where its head has it not");
    }
    if (last === undefined) break;
    after = last;
  }
  for (const stream of missing.keys()) {
    if (!await hasMoved(stream)) report(stream, "its point is not in the index");
  }
  for (const [stream, place] of places) {
    if (distanceToCell(centerOf(place), place.leaf) <= METRES_MAX) continue;
    report(stream, "its point is not in the cell under which it is kept");
  }
}

function isSame(a: GeoPlace | undefined, b: GeoPlace): boolean {
  return a !== undefined && a.leaf === b.leaf && a.lat === b.lat && a.lng === b.lng;
}
