/** Sagas and their progress. See docs/reference/sagas.md. */

import type { Tenant } from "../../domain/tenant.ts";
import { sendOk } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { decodeSagasQuery } from "../decode/query.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";

/** `GET /_sagas?name=&state=&limit=&start=`: newest first. */
export async function listSagas(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const query = decodeSagasQuery(call.query);
  if (!query.ok) return sendRefusal(call.requestId, query.refusal);
  return sendOutcome(call.requestId, await edge.service.data.listSagas(tenant, query.value));
}

/** `GET /_sagas/{saga_id}`. */
export async function readSaga(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const { requestId, params: [id = ""] } = call;
  const outcome = await edge.service.data.readSaga(tenant, id);
  if (!outcome.ok) return sendRefusal(requestId, outcome.refusal);
  return sendOk(requestId, { saga: outcome.value });
}
