/**
 * Finds the aggregates of one type nearest to a point, each at its newest point.
 *
 * One version of the store answers the whole request. See docs/reference/geo.md.
 */

import { openSearch } from "../../domain/geo/search.ts";
import { limits } from "../../domain/limits.ts";
import { openPieces, type Turns } from "../../domain/fairness/pieces.ts";
import type { NearbyPage, NearbyRequest } from "../../domain/reading.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { type CompiledAggregateType, refuseAggregateType } from "../../domain/spec/compiled.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Engine } from "../../kv/engine.ts";
import { readPoints } from "../../store/streams/geo_index.ts";
import type { SpecCache } from "../base/current_spec.ts";

/** Areas read at once. On a networked store each read waits for a reply. */
const AREAS_AT_ONCE = 2;
/** Points of an area read at once. Larger values, or more areas, would read more than is used. */
const AREA_POINTS = 64;

export interface NearbyTools {
  readonly engine: Engine;
  readonly specs: SpecCache;
  readonly turns: Turns;
}

/** 404 for an unknown type, and for a type none of whose events has a point. */
export async function findNearby(
  { engine, specs, turns }: NearbyTools,
  { number }: Tenant,
  { aggregateType, point, radius, limit: asked = limits.listPageDefault }: NearbyRequest,
): Promise<Outcome<NearbyPage>> {
  const spec = await specs.current(number);
  const type = spec.aggregateTypes.get(aggregateType);
  if (type === undefined) return refuseAggregateType(spec, aggregateType);
  if (!hasPoints(type)) {
    const message = `Aggregate type '${aggregateType}' has no geo attachment in spec`;
    return refuse({ kind: "not_found", message });
  }
  const limit = Math.min(asked, limits.listPageMax);
  // One result more than the limit shows whether any are left out.
  const search = openSearch(point, radius, limit + 1);
  const pieces = openPieces(turns);
  await engine.snapshot(async (tx) => {
    for (;;) {
      await pieces.rest();
      const areas = search.next(AREAS_AT_ONCE);
      if (areas.length === 0) return;
      const pages = await Promise.all(
        areas.map((area) =>
          readPoints(tx, number, { type: aggregateType, area, limit: AREA_POINTS })
        ),
      );
      for (const [index, points] of pages.entries()) {
        search.take(areas[index]!, points, points.length < AREA_POINTS);
      }
    }
  });
  const truncated = search.found.length > limit;
  const limitClamped = limit < asked;
  return accept({ entries: search.found.slice(0, limit), limit, limitClamped, truncated });
}

function hasPoints({ events }: CompiledAggregateType): boolean {
  return events.values().some(({ locate }) => locate !== undefined);
}
