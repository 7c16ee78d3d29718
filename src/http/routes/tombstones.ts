/** Requests to erase a stream. See docs/reference/erasure.md. */

import type { Operator } from "../../domain/access/access.ts";
import { sendOk } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { readFields } from "../decode/operator.ts";
import { decodePageQuery } from "../decode/query.ts";
import { answerRefused } from "../failure.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";
import { findNamedTenant } from "./operator_tenant.ts";

const FIELDS = {
  key: "string",
  reason: "string",
  "legal_basis?": "string",
  "grace_hours?": "number",
  "environment?": "string",
  "instance_id?": "string",
} as const;

/** `POST /_admin/tombstones` `{key, reason, legal_basis?, grace_hours?, environment?}`. */
export async function requestErasure(edge: Edge, call: Call, operator: Operator) {
  const body = await readFields(call, FIELDS);
  if (!body.ok) return answerRefused(edge, call, body.refusal);
  const tenant = await findNamedTenant(edge, call, operator, body.value);
  if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
  const { key, reason, legal_basis, grace_hours } = body.value;
  const request = { key, reason, legal_basis, grace_hours, requestedBy: operator.subject };
  const outcome = await edge.service.erasure.request(tenant.value, request);
  if (!outcome.ok) return sendRefusal(call.requestId, outcome.refusal);
  return sendOk(call.requestId, { tombstone: outcome.value }, 202);
}

/** `GET /_admin/tombstones?environment=&instance_id=`: newest first. */
export async function listTombstones(edge: Edge, call: Call, operator: Operator) {
  const query = decodePageQuery(new URLSearchParams(call.query));
  if (!query.ok) return sendRefusal(call.requestId, query.refusal);
  const tenant = await findNamedTenant(edge, call, operator);
  if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
  const page = await edge.service.erasure.list(tenant.value, query.value);
  return sendOutcome(call.requestId, page);
}

/** `GET /_admin/tombstones/{id}`: includes the receipt once the stream is erased. */
export async function readTombstone(edge: Edge, call: Call, operator: Operator) {
  return await answerOne(edge, call, operator, edge.service.erasure.read);
}

/** `DELETE /_admin/tombstones/{id}`: cancels the request. */
export async function cancelErasure(edge: Edge, call: Call, operator: Operator) {
  return await answerOne(edge, call, operator, edge.service.erasure.cancel);
}

async function answerOne(
  edge: Edge,
  call: Call,
  operator: Operator,
  ask: Edge["service"]["erasure"]["read"],
): Promise<Response> {
  const { requestId, params: [id = ""] } = call;
  const tenant = await findNamedTenant(edge, call, operator);
  if (!tenant.ok) return sendRefusal(requestId, tenant.refusal);
  const outcome = await ask(tenant.value, id);
  if (!outcome.ok) return sendRefusal(requestId, outcome.refusal);
  return sendOk(requestId, { tombstone: outcome.value });
}
