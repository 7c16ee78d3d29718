/** Listeners and their deliveries. See docs/reference/listeners.md. */

import type { Tenant } from "../../domain/tenant.ts";
import type { Call, Edge } from "../call.ts";
import { decodeReplay } from "../decode/replay.ts";
import { decodeDeliveriesQuery, decodePageQuery } from "../decode/query.ts";
import { answerRefused } from "../failure.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";
import { sendOk } from "../answer.ts";

/** `GET /_listeners?limit=&start=`: sorted by name, never with a secret. */
export async function listListeners(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const query = decodePageQuery(new URLSearchParams(call.query));
  if (!query.ok) return sendRefusal(call.requestId, query.refusal);
  return sendOk(call.requestId, await edge.service.data.listListeners(tenant, query.value));
}

/** `GET /_listeners/{name}/deliveries?state=&limit=&start=`. */
export async function listDeliveries(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const { requestId, params: [listener = ""] } = call;
  const query = decodeDeliveriesQuery(call.query);
  if (!query.ok) return sendRefusal(requestId, query.refusal);
  const request = { listener, ...query.value };
  return sendOutcome(requestId, await edge.service.data.listDeliveries(tenant, request));
}

/** `POST /_listeners/{name}/replay` `{since, start?}` or `{delivery_id}`. */
export async function replayDeliveries(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const { requestId, params: [listener = ""] } = call;
  const body = await decodeReplay(call);
  if (!body.ok) return answerRefused(edge, call, body.refusal);
  const request = { listener, ...body.value };
  return sendOutcome(requestId, await edge.service.data.replayDeliveries(tenant, request), 202);
}
