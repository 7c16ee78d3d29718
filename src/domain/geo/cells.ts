/**
 * The S2 cells in which points are indexed: squares on the faces of a cube around the Earth.
 *
 * Each cell has four children, down to leaves of a square centimetre. The leaves of any cell
 * have consecutive numbers, so a cell is one range of keys, near the poles and at the
 * antimeridian too. `docs/decisions/0011-points-in-s2-cells.md` says why this library was chosen.
 */

import { s1, s2 } from "s2js";
import { EARTH_RADIUS_METRES, type GeoPoint } from "./point.ts";

/** A cell's 64-bit number: its face, its place on that face, and a bit that tells its size. */
export type CellId = bigint;

/** A point and the leaf cell that it is stored in. */
export interface GeoPlace extends GeoPoint {
  readonly leaf: CellId;
}

/** A point on the unit sphere, for distances to cells. */
export type Center = s2.Point;

export function centerOf({ lat, lng }: GeoPoint): Center {
  return s2.Point.fromLatLng(s2.LatLng.fromDegrees(lat, lng));
}

/** The point together with its leaf cell. */
export function geoPlaceOf({ lat, lng }: GeoPoint): GeoPlace {
  return { leaf: s2.cellid.fromPoint(centerOf({ lat, lng })), lat, lng };
}

/** The leaves of a cell, from `from` up to but not including `to`. */
export interface LeafRange {
  readonly from: CellId;
  readonly to: CellId;
}

export function leavesOf(cell: CellId): LeafRange {
  // Leaf numbers are odd, so the next one is 2 higher.
  return { from: s2.cellid.rangeMin(cell), to: s2.cellid.rangeMax(cell) + 2n };
}

/** Level of the leaves; faces have level 0. */
export const LEVEL_MAX = 30;

export function levelOf(cell: CellId): number {
  return s2.cellid.level(cell);
}

export function isLeaf(cell: CellId): boolean {
  return s2.cellid.isLeaf(cell);
}

/** In the order of their leaves. */
export function childrenOf(cell: CellId): readonly CellId[] {
  return s2.cellid.children(cell);
}

/** Metres to the nearest place of the cell; 0 inside it. Off by less than a millimetre. */
export function distanceToCell(center: Center, cell: CellId): number {
  const squared = s2.Cell.fromCellID(cell).distance(center);
  return s1.chordangle.angle(squared) * EARTH_RADIUS_METRES;
}

/** The least width of a face in radians; each level halves it. S2 calls it `kMinWidth`. */
const WIDTH_MIN = 2 * Math.SQRT2 / 3;

/**
 * Three or four cells that cover everything within `radius` metres, which is at most a hundred
 * kilometres. They meet at the nearest corner, and are large enough that the circle reaches no
 * other cell.
 */
export function cellsAround(center: Center, radius: number): readonly CellId[] {
  const across = 2 * radius / EARTH_RADIUS_METRES;
  const level = Math.min(LEVEL_MAX, Math.floor(Math.log2(WIDTH_MIN / across)));
  return s2.cellid.vertexNeighbors(s2.cellid.fromPoint(center), level);
}
