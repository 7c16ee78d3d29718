/**
 * Finds the nearest of all points in the index without reading them all.
 *
 * The search takes the nearest cell first and ends when no remaining cell can hold a nearer
 * point. It splits cells into their children until a cell holds about as many points as one
 * read takes; it learns the density of the points on the way. So dense areas cost no more than
 * others, and memory is bounded.
 *
 * Pure: the caller reads the areas that the search asks for.
 */

import { Buffer } from "node:buffer";
import {
  type CellId,
  cellsAround,
  centerOf,
  childrenOf,
  distanceToCell,
  type GeoPlace,
  isLeaf,
  leavesOf,
  LEVEL_MAX,
  levelOf,
} from "./cells.ts";
import { distanceMetres, type GeoPoint } from "./point.ts";

/** An aggregate at its newest point. */
export interface Placed {
  readonly id: string;
  readonly place: GeoPlace;
}

export interface Found {
  readonly id: string;
  /** Metres. */
  readonly distance: number;
  readonly point: GeoPoint;
}

/** Points to read: those of a cell ordered by leaf, then by point, then by id. */
export interface GeoArea {
  readonly cell: CellId;
  /** Read only what comes after this id, or, without an id, after all ids at this point. */
  readonly after?: { readonly place: GeoPlace; readonly id?: string };
}

export interface GeoSearch {
  /** What to read next: at most `count` areas, the nearest first. Empty when the search is over. */
  next(count: number): readonly GeoArea[];
  /** Takes what was read of an area: all of its points, or only the first ones. */
  take(area: GeoArea, points: readonly Placed[], isComplete: boolean): void;
  /** Ordered by distance, then by id. */
  readonly found: readonly Found[];
}

/** A cell that has not been read completely. */
interface OpenCell extends GeoArea {
  /** Metres to the nearest place of the cell. */
  readonly distance: number;
}

/** Larger than the error of distances to cells. */
const MARGIN_METRES = 0.01;
/** A cell should hold about `count / CELL_SHARE` points, and at least `CELL_POINTS_MIN`. */
const CELL_SHARE = 4;
const CELL_POINTS_MIN = 12;
/** If a cell holds this many times fewer points, the next cells may be larger. */
const SPARSE = 8;

/** Searches for the `count` nearest points within `radius` metres. */
export function openSearch(point: GeoPoint, radius: number, count: number): GeoSearch {
  const center = centerOf(point);
  const nearest = openNearest(point, radius, count);
  /** Sorted by distance, the nearest last. */
  const open: OpenCell[] = [];
  const first = cellsAround(center, radius);
  const coarsest = levelOf(first[0]!);
  const cellPoints = Math.max(CELL_POINTS_MIN, count / CELL_SHARE);
  /** Cells above this level are split before they are read. */
  let level = coarsest;
  let isDensityKnown = false;

  function isInReach(distance: number): boolean {
    return distance <= nearest.reach() + MARGIN_METRES;
  }

  function add(cell: CellId, after?: GeoArea["after"]): void {
    const distance = distanceToCell(center, cell);
    if (!isInReach(distance)) return;
    const at = firstIndex(open, (each) => each.distance <= distance);
    open.splice(at, 0, { cell, distance, after });
  }

  /** Adds the children of a cell, except what lies before the place that was read last. */
  function addChildren({ cell, after }: GeoArea): void {
    for (const child of childrenOf(cell)) {
      const { from, to } = leavesOf(child);
      if (after === undefined || from > after.place.leaf) add(child);
      else if (to > after.place.leaf) add(child, after);
    }
  }

  function next(limit: number): GeoArea[] {
    const areas: GeoArea[] = [];
    while (areas.length < (isDensityKnown ? limit : 1)) {
      const area = open.pop();
      if (area === undefined || !isInReach(area.distance)) break;
      if (levelOf(area.cell) < level) addChildren(area);
      else areas.push(area);
    }
    return areas;
  }

  function take(area: GeoArea, points: readonly Placed[], isComplete: boolean): void {
    for (const each of points) nearest.add(each);
    isDensityKnown = true;
    if (isComplete) {
      const isSparse = area.after === undefined && points.length * SPARSE < cellPoints;
      if (isSparse) level = Math.max(coarsest, Math.min(level, levelOf(area.cell) - 1));
      return;
    }
    const last = points.at(-1)!;
    level = Math.max(level, levelFor(area, points.length, last, cellPoints));
    // Points that follow at the same place have the same distance and greater ids.
    const after = nearest.isBeyond(last) ? { place: last.place } : last;
    if (isLeaf(area.cell)) add(area.cell, after);
    else addChildren({ cell: area.cell, after });
  }

  for (const cell of first) add(cell);
  return { next, take, found: nearest.found };
}

/** The nearest of all points added so far. */
interface Nearest {
  readonly found: readonly Found[];
  add(one: Placed): void;
  /** Metres. A point farther away than this is not among the nearest. */
  reach(): number;
  /** True when all wanted points are found and this one comes after them. */
  isBeyond(one: Placed): boolean;
}

function openNearest(from: GeoPoint, radius: number, count: number): Nearest {
  const found: Found[] = [];

  function reach(): number {
    return found.length < count ? radius : found.at(-1)!.distance;
  }

  function add({ id, place: { lat, lng } }: Placed): void {
    const distance = distanceMetres(from, { lat, lng });
    if (distance > reach()) return;
    const one = { id, distance, point: { lat, lng } };
    found.splice(firstIndex(found, (each) => isBefore(one, each)), 0, one);
    if (found.length > count) found.pop();
  }

  function isBeyond({ id, place }: Placed): boolean {
    if (found.length < count) return false;
    return isBefore(found.at(-1)!, { id, distance: distanceMetres(from, place) });
  }

  return { found, add, reach, isBeyond };
}

/**
 * The level of cells that hold about `wanted` points, assuming the density of the points up to
 * `last`.
 */
function levelFor(
  { cell, after }: GeoArea,
  points: number,
  last: Placed,
  wanted: number,
): number {
  const from = after?.place.leaf ?? leavesOf(cell).from;
  const leaves = Number(last.place.leaf - from) / 2 / points * wanted;
  const level = LEVEL_MAX - Math.floor(Math.log2(Math.max(1, leaves)) / 2);
  return Math.max(level, Math.min(LEVEL_MAX, levelOf(cell) + 1));
}

/** The first index whose element satisfies the predicate, as all elements after it must do too. */
function firstIndex<T>(sorted: readonly T[], isReached: (element: T) => boolean): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isReached(sorted[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}

type Ranked = Pick<Found, "id" | "distance">;

function isBefore(a: Ranked, b: Ranked): boolean {
  return a.distance < b.distance || (a.distance === b.distance && compareIds(a.id, b.id) < 0);
}

const ASCII = /^[\0-\x7f]*$/;

/** Compares ids by their bytes, as the store sorts them. */
function compareIds(a: string, b: string): number {
  if (ASCII.test(a) && ASCII.test(b)) return a < b ? -1 : a > b ? 1 : 0;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
