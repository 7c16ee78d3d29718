/** Aggregates around a point. See docs/reference/geo.md. */

import type { Tenant } from "../../domain/tenant.ts";
import { sendOk } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { decodeNearbyQuery } from "../decode/nearby_query.ts";
import { sendRefusal } from "../reply.ts";

/** `GET /{type}/nearby`. */
export async function findNearby(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const { requestId, params: [aggregateType = ""] } = call;
  const query = decodeNearbyQuery(call.query);
  if (!query.ok) return sendRefusal(requestId, query.refusal);
  const outcome = await edge.service.data.findNearby(tenant, { aggregateType, ...query.value });
  if (!outcome.ok) return sendRefusal(requestId, outcome.refusal);
  const { entries: data, limit, limitClamped, truncated } = outcome.value;
  const limit_clamped = limitClamped ? true : undefined;
  return sendOk(requestId, { data, limit, truncated, limit_clamped });
}
