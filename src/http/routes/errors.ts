/** Error records. See docs/reference/errors.md. */

import type { Tenant } from "../../domain/tenant.ts";
import { sendOk } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { decodePageQuery } from "../decode/query.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";

/** `GET /_errors`: newest first. */
export async function listErrors(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const query = decodePageQuery(new URLSearchParams(call.query));
  if (!query.ok) return sendRefusal(call.requestId, query.refusal);
  return sendOutcome(call.requestId, await edge.service.data.listErrors(tenant, query.value));
}

/** `GET /_errors/{error_id}`. */
export async function readError(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const { requestId, params: [errorId = ""] } = call;
  const outcome = await edge.service.data.readError(tenant, errorId);
  if (!outcome.ok) return sendRefusal(requestId, outcome.refusal);
  return sendOk(requestId, { error: outcome.value });
}
