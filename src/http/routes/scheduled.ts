/** Scheduled events that have not fired. See docs/reference/reactions.md. */

import type { Tenant } from "../../domain/tenant.ts";
import { sendOk } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { decodePageQuery } from "../decode/query.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";

/** `GET /_scheduled`. */
export async function listScheduled(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const query = decodePageQuery(new URLSearchParams(call.query));
  if (!query.ok) return sendRefusal(call.requestId, query.refusal);
  const page = await edge.service.data.listScheduled(tenant, query.value);
  return sendOutcome(call.requestId, page);
}

/** `GET /_scheduled/{id}`. */
export async function readScheduled(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const { requestId, params: [id = ""] } = call;
  const outcome = await edge.service.data.readScheduled(tenant, id);
  if (!outcome.ok) return sendRefusal(requestId, outcome.refusal);
  return sendOk(requestId, { scheduled: outcome.value });
}

/** `DELETE /_scheduled/{id}`. */
export async function cancelScheduled(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const { requestId, params: [id = ""] } = call;
  return sendOutcome(requestId, await edge.service.data.cancelScheduled(tenant, id));
}
