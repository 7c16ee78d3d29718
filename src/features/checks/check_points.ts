/** Checks the index of points against the stream heads: it must hold every point and no other. */

import { centerOf, distanceToCell, type GeoPlace } from "../../domain/geo/cells.ts";
import { type StreamKey, streamKey } from "../../domain/stream_key.ts";
import type { Bytes, Engine } from "../../kv/engine.ts";
import { walkPoints } from "../../store/streams/geo_index.ts";
import type { Report } from "./report.ts";

const PAGE = 5_000;
/** A leaf is a centimetre across; another runtime may round a point into the neighbouring one. */
const METRES_MAX = 1;

/** `places`: the points in the stream heads, by stream. */
export async function checkPoints(
  engine: Pick<Engine, "snapshot">,
  tenant: number,
  places: ReadonlyMap<StreamKey, GeoPlace>,
  report: Report,
): Promise<void> {
  const missing = new Map(places);
  let after: Bytes | undefined;
  for (;;) {
    const { points, last } = await engine.snapshot((tx) => walkPoints(tx, tenant, after, PAGE));
    for (const { type, id, place } of points) {
      const stream = streamKey(type, id);
      if (isSame(places.get(stream), place)) missing.delete(stream);
      else report(stream, "is in the index of points where its head has it not");
    }
    if (last === undefined) break;
    after = last;
  }
  for (const stream of missing.keys()) report(stream, "its point is not in the index");
  for (const [stream, place] of places) {
    if (distanceToCell(centerOf(place), place.leaf) <= METRES_MAX) continue;
    report(stream, "its point is not in the cell under which it is kept");
  }
}

function isSame(a: GeoPlace | undefined, b: GeoPlace): boolean {
  return a !== undefined && a.leaf === b.leaf && a.lat === b.lat && a.lng === b.lng;
}
