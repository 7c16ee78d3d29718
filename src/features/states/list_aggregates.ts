/**
 * Lists the aggregates of one type: their ids, alone or with their states, or those nearest to a
 * point.
 *
 * See docs/reference/reading.md and docs/reference/geo.md.
 */

import { assert } from "../../domain/assert.ts";
import { limits } from "../../domain/limits.ts";
import type {
  AggregatePage,
  ListAggregatesRequest,
  ListedAggregate,
  NearbyPage,
  NearbyRequest,
} from "../../domain/reading.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { type CompiledAggregateType, refuseAggregateType } from "../../domain/spec/compiled.ts";
import { streamKey } from "../../domain/identifier.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Host } from "../../host.ts";
import type { Engine } from "../../kv/engine.ts";
import { listAggregateIds } from "../../store/streams/aggregates.ts";
import type { SpecCache } from "../base/current_spec.ts";
import type { AggregateReader } from "./read_aggregate.ts";
import { openSearch } from "../../domain/geo/search.ts";
import { openPieces, type Turns } from "../../domain/fairness/pieces.ts";
import { readPoints } from "../../store/streams/geo_index.ts";

/** Longer than any identifier, so a longer cursor names nothing. */
const CURSOR_CHARACTERS_MAX = 256;

export interface ListParts {
  readonly engine: Engine;
  readonly host: Host;
  readonly specs: SpecCache;
  readonly reader: AggregateReader;
}

export async function listAggregates(
  { engine, host, specs, reader }: ListParts,
  tenant: Tenant,
  request: ListAggregatesRequest,
): Promise<Outcome<AggregatePage>> {
  const { aggregateType, start, prefix } = request;
  const spec = await specs.current(tenant.number);
  const type = spec.aggregateTypes.get(aggregateType);
  if (type === undefined) return refuseAggregateType(spec, aggregateType);
  if (start !== undefined && start.length > CURSOR_CHARACTERS_MAX) {
    const message = `start must be at most ${CURSOR_CHARACTERS_MAX} characters`;
    return refuse({ kind: "bad_request", message, path: "start" });
  }
  const asked = request.limit ?? limits.listPageDefault;
  const limit = Math.min(asked, limits.listPageMax);
  // One more than the page holds shows whether anything follows.
  const found = await engine.snapshot((tx) =>
    listAggregateIds(tx, tenant.number, aggregateType, { start, prefix, limit: limit + 1 })
  );
  const ids = found.slice(0, limit);
  const entries = request.resolve
    ? await resolveEach(host, reader, tenant, { type, ids, synchronous: request.synchronous })
    : accept(ids.map((id): ListedAggregate => ({ id })));
  if (!entries.ok) return entries;
  const truncated = entries.value.length < found.length;
  const nextStart = truncated ? entries.value.at(-1)!.id : undefined;
  const limitClamped = limit < asked;
  return accept({ entries: entries.value, limit, limitClamped, truncated, nextStart });
}

interface NamedAggregates {
  readonly type: CompiledAggregateType;
  readonly ids: readonly string[];
  readonly synchronous: boolean;
}

/**
 * Reads each aggregate within the rest of the request's budget. An aggregate that no request
 * could read gets an error entry, and the others continue. The page ends early in three cases:
 * the next aggregate needs the full budget of another page; its state would make the page
 * longer than a page of events may be; or folding has used up the time of a request.
 */
async function resolveEach(
  host: Host,
  reader: AggregateReader,
  tenant: Tenant,
  { type, ids, synchronous }: NamedAggregates,
): Promise<Outcome<ListedAggregate[]>> {
  const entries: ListedAggregate[] = [];
  let bytesLeft = limits.foldBytesMax;
  let characters = 0;
  const endMs = host.monotonicMs() + limits.wasmRequestMsMax;
  // A fold rests by itself only if it is long, and a page has many short ones.
  const pieces = openPieces(host);
  for (const id of ids) {
    const rest = pieces.rest();
    if (rest !== undefined) await rest;
    if (entries.length > 0 && host.monotonicMs() > endMs) break;
    const stream = streamKey(type.name, id);
    const options = { synchronous, bytesMax: bytesLeft };
    const read = await reader.readState(tenant.number, stream, type, options);
    if (read.ok) {
      assert(read.value !== undefined, "an id is listed from its first event on");
      characters += read.value.view.dataJson.length;
      if (characters > limits.pageBytesMax && entries.length > 0) break;
      entries.push({ id, view: read.value.view });
      bytesLeft -= read.value.bytesRead;
      continue;
    }
    const { refusal } = read;
    if (refusal.kind === "handler_error") entries.push({ id, error: refusal.kind });
    if (refusal.kind === "module_failed") entries.push({ id, error: refusal.failure });
    if (refusal.kind === "handler_error" || refusal.kind === "module_failed") continue;
    if (refusal.kind !== "fold_budget_exceeded") return read;
    const { limit, bytes } = refusal;
    if (limit < limits.foldBytesMax && bytes <= limits.foldBytesMax) break;
    entries.push({ id, error: "fold_budget_exceeded" });
  }
  return accept(entries);
}

/** Areas read at once. On a networked store each read waits for a reply. */
const AREAS_AT_ONCE = 2;
/** Points of an area read at once. Larger values, or more areas, would read more than is used. */
const AREA_POINTS = 64;

interface NearbyTools {
  readonly engine: Engine;
  readonly specs: SpecCache;
  readonly turns: Turns;
}

/**
 * The aggregates nearest to a point, each at its newest point. One version of the store answers the
 * whole request. 404 for an unknown type, and for a type none of whose events has a point.
 */
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
