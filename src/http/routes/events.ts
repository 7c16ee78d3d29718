/** The events of one stream, paged. Spec: `GET /{type}/{id}/events`. */

import type { Tenant } from "../../domain/tenant.ts";
import { sendParts } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { decodeEventsQuery } from "../decode/query.ts";
import { eventPageBody } from "../read_body.ts";
import { sendRefusal } from "../reply.ts";

export async function readEvents(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const { requestId, params: [aggregateType = "", id = ""] } = call;
  const query = decodeEventsQuery(call.query);
  if (!query.ok) return sendRefusal(requestId, query.refusal);
  const { raw, ...page } = query.value;
  const outcome = await edge.service.data.readEvents(tenant, { aggregateType, id, ...page });
  if (!outcome.ok) return sendRefusal(requestId, outcome.refusal);
  return sendParts(requestId, await eventPageBody(outcome.value, raw, edge.host));
}
