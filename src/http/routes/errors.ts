/** One error record. Spec: `GET /_errors/{error_id}`. */

import type { Tenant } from "../../domain/tenant.ts";
import { sendOk } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { sendRefusal } from "../reply.ts";

export async function readError(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const { requestId, params: [errorId = ""] } = call;
  const outcome = await edge.service.data.readError(tenant, errorId);
  if (!outcome.ok) return sendRefusal(requestId, outcome.refusal);
  return sendOk(requestId, { error: outcome.value });
}
