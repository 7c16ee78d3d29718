/**
 * The index of points, which has each aggregate under its newest point. It is sorted by cells
 * (`domain/geo/cells.ts`). The head of a stream says which point is its newest. So the old point
 * is found without a read, and two streams never meet at one key. See docs/reference/geo.md.
 *
 * The index is part of the streams, not of the spec: the points of stored events stay, whatever
 * is deployed. A transfer does not carry it; the receiving store rebuilds it from the events.
 */

import { type GeoPlace, leavesOf } from "../../domain/geo/cells.ts";
import type { GeoArea, Placed } from "../../domain/geo/search.ts";
import { splitStreamKey, type StreamKey } from "../../domain/identifier.ts";
import type { Bytes, ReadTransaction, Transaction } from "../../kv/engine.ts";
import { newBytes, viewOf } from "../../kv/slab.ts";
import { unpack } from "../../kv/tuple.ts";
import { decodePlace, PLACE_BYTES, putPlace } from "./geo_place.ts";
import { keyAfter, keys } from "../keys.ts";

const PRESENT = new Uint8Array(0);
const LEAF_BYTES = 8;

/** The most that moving the point of a stream adds to a transaction: two keys, one value. */
export function pointBytes(stream: StreamKey): number {
  return KEY_FACTOR * (UTF8_BYTES_MAX * stream.length + 3 * PLACE_BYTES);
}
const KEY_FACTOR = 6;
const UTF8_BYTES_MAX = 3;

export interface PointMove {
  readonly before: GeoPlace | undefined;
  readonly after: GeoPlace | undefined;
}

/**
 * Moves a stream's point from `before`, where its head has it, to `after`, where its next head
 * must have it; undefined for none. The caller has read the head in this transaction.
 */
export function movePoint(
  tx: Transaction,
  tenant: number,
  stream: StreamKey,
  { before, after }: PointMove,
): void {
  if (before === after || (before && after && isSamePlace(before, after))) return;
  const { type, id } = splitStreamKey(stream);
  if (before !== undefined) tx.clear(keys.geoPoint(tenant, type, encodePlace(before), id));
  if (after !== undefined) tx.set(keys.geoPoint(tenant, type, encodePlace(after), id), PRESENT);
}

function isSamePlace(a: GeoPlace, b: GeoPlace): boolean {
  return a.leaf === b.leaf && a.lat === b.lat && a.lng === b.lng;
}

export interface PointPage {
  readonly type: string;
  readonly area: GeoArea;
  readonly limit: number;
}

/** The first `limit` points of one type in an area; fewer means that these are all. */
export async function readPoints(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  { type, area: { cell, after }, limit }: PointPage,
): Promise<Placed[]> {
  const { from, to } = leavesOf(cell);
  const begin = after === undefined
    ? keys.geoLeaf(tenant, type, encodeLeaf(from))
    : afterPoint(tenant, type, after);
  const end = keys.geoLeaf(tenant, type, encodeLeaf(to));
  const pairs = await tx.getRange({ begin, end }, { limit });
  // The prefix that all keys share is not decoded again and again.
  const prefix = keys.geoPoints(tenant, type).begin.length - 1;
  return pairs.map(({ key }) => {
    const [place, id] = unpack(key.subarray(prefix)) as [Uint8Array, string];
    return { id, place: decodePlace(viewOf(place), 0) };
  });
}

function afterPoint(
  tenant: number,
  type: string,
  { place, id }: NonNullable<GeoArea["after"]>,
): Bytes {
  const bytes = encodePlace(place);
  if (id === undefined) return keys.geoPointsAt(tenant, type, bytes).end;
  return keyAfter(keys.geoPoint(tenant, type, bytes, id));
}

/** At most `limit` points of all types after the key `after`, with the key of the last one. */
export async function walkPoints(
  tx: Pick<ReadTransaction, "getRange">,
  tenant: number,
  after: Bytes | undefined,
  limit: number,
): Promise<{ readonly points: readonly (Placed & { type: string })[]; readonly last?: Bytes }> {
  const { begin, end } = keys.allGeoPoints(tenant);
  const range = { begin: after === undefined ? begin : keyAfter(after), end };
  const pairs = await tx.getRange(range, { limit });
  const points = pairs.map(({ key }) => {
    const [, , type, place, id] = unpack(key) as [number, number, string, Uint8Array, string];
    return { type, id, place: decodePlace(viewOf(place), 0) };
  });
  return { points, last: pairs.at(-1)?.key };
}

function encodePlace(place: GeoPlace): Bytes {
  const bytes = newBytes(PLACE_BYTES);
  putPlace(viewOf(bytes), 0, place);
  return bytes;
}

function encodeLeaf(leaf: bigint): Bytes {
  const bytes = newBytes(LEAF_BYTES);
  viewOf(bytes).setBigUint64(0, leaf);
  return bytes;
}
