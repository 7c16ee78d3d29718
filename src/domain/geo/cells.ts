/**
 * The cells in which points are kept: those of S2, squares on the faces of a cube around the Earth.
 * Each cell has four children, down to leaves of a square centimetre, and the leaves of any cell
 * follow each other by their numbers: so a cell is one range of keys, near the poles and at the
 * antimeridian like anywhere. Which library, and why, is in `src/README.md`.
 */

import { s1, s2 } from "s2js";
import { EARTH_RADIUS_METRES, type GeoPoint } from "./point.ts";

/** A cell by its number, 64 bits: its face, its place on it, and a bit that tells its size. */
export type CellId = bigint;

/** Where a point is kept: beside others of its leaf. */
export interface GeoPlace extends GeoPoint {
  readonly leaf: CellId;
}

/** A point on the unit sphere, for distances to cells. */
export type Center = s2.Point;

export function centerOf({ lat, lng }: GeoPoint): Center {
  return s2.Point.fromLatLng(s2.LatLng.fromDegrees(lat, lng));
}

/** About half a microsecond. */
export function placeOf({ lat, lng }: GeoPoint): GeoPlace {
  return { leaf: s2.cellid.fromPoint(centerOf({ lat, lng })), lat, lng };
}

/** Leaves of a cell: from the first up to but not including the last. */
export interface LeafRange {
  readonly from: CellId;
  readonly to: CellId;
}

export function leavesOf(cell: CellId): LeafRange {
  // The numbers of leaves are odd.
  return { from: s2.cellid.rangeMin(cell), to: s2.cellid.rangeMax(cell) + 2n };
}

/** Of leaves; faces have 0. */
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

/** Metres to the nearest place of the cell, 0 inside; wrong by less than a millimetre. */
export function distanceToCell(center: Center, cell: CellId): number {
  const squared = s2.Cell.fromCellID(cell).distance(center);
  return s1.chordangle.angle(squared) * EARTH_RADIUS_METRES;
}

/** How wide a face is at least, in radians; each level halves it. S2: "kMinWidth". */
const WIDTH_MIN = 2 * Math.SQRT2 / 3;

/**
 * Three or four cells that hold everything within `radius` metres, which is at most a hundred
 * kilometres: those around the nearest corner, as large that the circle reaches no other one.
 */
export function cellsAround(center: Center, radius: number): readonly CellId[] {
  const across = 2 * radius / EARTH_RADIUS_METRES;
  const level = Math.min(LEVEL_MAX, Math.floor(Math.log2(WIDTH_MIN / across)));
  return s2.cellid.vertexNeighbors(s2.cellid.fromPoint(center), level);
}
