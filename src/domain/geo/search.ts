/**
 * The nearest points of all that are kept in cells, without reading them all: the nearest cell
 * comes first, what is read of it is measured, and what was not read goes on as its children. It
 * ends when no cell that is left can hold anything nearer. What is read at once is bounded, and so
 * is what is kept, however dense or far the points are.
 *
 * Pure: whoever has the points reads the areas that it asks for.
 */

import { Buffer } from "node:buffer";
import { assert } from "../assert.ts";
import {
  type CellId,
  cellsAround,
  centerOf,
  childrenOf,
  distanceToCell,
  type GeoPlace,
  isLeaf,
  leavesOf,
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

/** Points to be read: those of a cell, by leaf; in a leaf by point; at a point by id. */
export interface GeoArea {
  readonly cell: CellId;
  /** Only what comes after this one, or, without an id, after all that are at its point. */
  readonly after?: { readonly place: GeoPlace; readonly id?: string };
}

export interface GeoSearch {
  /** What is to be read next: at most `count` areas, the nearest first; none where it is over. */
  next(count: number): readonly GeoArea[];
  /** What was read of an area that `next` gave: all that is there, or the first ones of it. */
  take(area: GeoArea, points: readonly Placed[], isComplete: boolean): void;
  /** By distance, then by id. */
  readonly found: readonly Found[];
}

/** A cell of which something has not been read. */
interface OpenCell extends GeoArea {
  /** Metres to the nearest place of it. */
  readonly distance: number;
}

/** More than distances to cells are wrong by. */
const MARGIN_METRES = 0.01;

/**
 * Searches the `count` nearest points within `radius` metres. An incomplete answer to an area must
 * hold at least `count` points.
 */
export function openSearch(point: GeoPoint, radius: number, count: number): GeoSearch {
  const center = centerOf(point);
  const found: Found[] = [];
  /** The nearest last. */
  const open: OpenCell[] = [];

  /** What is farther away cannot be among the nearest. */
  function reach(): number {
    return found.length < count ? radius : found.at(-1)!.distance;
  }

  function add(cell: CellId, after?: GeoArea["after"]): void {
    const distance = distanceToCell(center, cell);
    if (distance > reach() + MARGIN_METRES) return;
    const at = firstIndex(open, (each) => each.distance <= distance);
    open.splice(at, 0, { cell, distance, after });
  }

  function next(limit: number): GeoArea[] {
    const areas: GeoArea[] = [];
    while (areas.length < limit) {
      const nearest = open.pop();
      if (nearest === undefined || nearest.distance > reach() + MARGIN_METRES) break;
      areas.push(nearest);
    }
    return areas;
  }

  function take(area: GeoArea, points: readonly Placed[], isComplete: boolean): void {
    for (const { id, place: { lat, lng } } of points) {
      const distance = distanceMetres(point, { lat, lng });
      if (distance > reach()) continue;
      const one = { id, distance, point: { lat, lng } };
      found.splice(firstIndex(found, (each) => isBefore(one, each)), 0, one);
      if (found.length > count) found.pop();
    }
    if (isComplete) return;
    assert(points.length >= count, "what is left out would not be among the nearest of a point");
    goOn(area.cell, points[0]!, points.at(-1)!);
  }

  /** With what follows `last`. */
  function goOn(cell: CellId, first: Placed, last: Placed): void {
    // All read are at one point: the rest there has the same distance and greater ids.
    const isOnePoint = first.place.lat === last.place.lat && first.place.lng === last.place.lng;
    const after = isOnePoint ? { place: last.place } : last;
    if (isLeaf(cell)) return add(cell, after);
    for (const child of childrenOf(cell)) {
      const { from, to } = leavesOf(child);
      if (to > last.place.leaf) add(child, from <= last.place.leaf ? after : undefined);
    }
  }

  for (const cell of cellsAround(center, radius)) add(cell);
  return { next, take, found };
}

/** The first index whose element fulfils what all after it do too. */
function firstIndex<T>(sorted: readonly T[], isReached: (element: T) => boolean): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isReached(sorted[middle]!)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function isBefore(a: Found, b: Found): boolean {
  return a.distance < b.distance || (a.distance === b.distance && compareIds(a.id, b.id) < 0);
}

/** As the store sorts them. */
function compareIds(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
