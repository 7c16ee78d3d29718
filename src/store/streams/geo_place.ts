/**
 * Encodes a place in 24 bytes. They are its leaf (u64), then latitude and longitude as doubles,
 * all big-endian.
 */

import type { GeoPlace } from "../../domain/geo/cells.ts";

export const PLACE_BYTES = 24;

export function putPlace(view: DataView, at: number, { leaf, lat, lng }: GeoPlace): void {
  view.setBigUint64(at, leaf);
  view.setFloat64(at + 8, lat);
  view.setFloat64(at + 16, lng);
}

export function decodePlace(view: DataView, at: number): GeoPlace {
  const leaf = view.getBigUint64(at);
  return { leaf, lat: view.getFloat64(at + 8), lng: view.getFloat64(at + 16) };
}
