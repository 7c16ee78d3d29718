/** A spec whose aggregates have points, and helpers to write to it and query it. */

import type { JsonObject } from "../../src/domain/json.ts";
import type { NearbyPage } from "../../src/domain/reading.ts";
import type { Tenant } from "../../src/domain/tenant.ts";
import type { WriteRequest } from "../../src/domain/write/write.ts";
import type { Service } from "../../src/features/service.ts";
import type { Spot } from "./geo_oracle.ts";
import { ACTOR, valueOf } from "./service_fixture.ts";

const plain = { schema: true, handler: [] };
const geo = { type: "place", path: "$.data.location" };
const arrival = {
  aggregate_type: "van",
  id: "$.data.van",
  event_type: "was_seen",
  data: { location: "$.data.location" },
};

/** `van` moves, `shop` stays, `trip` implies events of a van; `note` has no point. */
export const geoSpec: JsonObject = {
  agent_types: ["user"],
  singletons: ["depot"],
  geo_types: { place: { type: "point", properties: ["lat", "lng"] } },
  aggregate_types: {
    van: {
      events: {
        was_seen: { ...plain, geo },
        was_washed: plain,
        was_towed: {
          ...plain,
          geo,
          implications: [{
            emit: { aggregate_type: "note", id: "$.id", event_type: "was_written", data: {} },
          }],
        },
      },
    },
    shop: { events: { was_opened: { ...plain, geo } } },
    trip: {
      events: {
        was_ended: { ...plain, implications: [{ emit: arrival }] },
        was_planned: { ...plain, implications: [{ schedule: { delay: "60s", emit: arrival } }] },
        was_ordered: plain,
      },
    },
    note: { events: { was_written: plain } },
  },
  modules: {
    sagas: {
      ordering: {
        trigger: { aggregate_type: "trip", event_type: "was_ordered" },
        steps: [{ name: "send", emit: arrival }],
      },
    },
  },
};

type Events = WriteRequest["targets"][number]["events"];

/** Writes one event of any type, or a batch. */
export function geoWrite(
  aggregateType: string,
  id: string,
  events: Events,
  change: Partial<WriteRequest> = {},
): WriteRequest {
  const form = events.length === 1 ? "single" : "batch";
  const targets = [{ aggregateType, id, events }];
  return { form, targets, metadata: { actor: ACTOR }, requestId: "request-1", ...change };
}

export function seen({ lat, lng }: Spot): Events[number] {
  return { type: "was_seen", data: { location: { lat, lng } } };
}

/** Vans within 100 km of `point`. */
export async function nearbyVans(
  service: Service,
  tenant: Tenant,
  point: Spot,
  change: { readonly radius?: number; readonly limit?: number; readonly aggregateType?: string } =
    {},
): Promise<NearbyPage> {
  const request = { aggregateType: "van", point, radius: 100_000, ...change };
  return valueOf(await service.data.findNearby(tenant, request));
}
