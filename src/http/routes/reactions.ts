/** Pending reactions of one environment, for operators. See docs/reference/reactions.md. */

import type { Operator } from "../../domain/access/access.ts";
import { isJsonObject, type JsonValue } from "../../domain/json.ts";
import { PENDING_KINDS, type PendingFilter } from "../../domain/reaction/pending.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import { sendOk } from "../answer.ts";
import { answerRefused } from "../failure.ts";
import type { Call, Edge } from "../call.ts";
import { checkFields, type Fields, readFields } from "../decode/operator.ts";
import { decodePageQuery } from "../decode/query.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";
import { findNamedTenant } from "./operator_tenant.ts";

const FIELDS = {
  action: "string",
  "filter?": "any",
  "start?": "string",
  "environment?": "string",
  "instance_id?": "string",
} as const;

const FILTER_FIELDS = {
  "kind?": "string",
  "aggregate_type?": "string",
  "event_type?": "string",
  "root_key?": "string",
} as const;

/** `GET /_admin/reactions?environment=&instance_id=&limit=&start=`. */
export async function readReactions(edge: Edge, call: Call, operator: Operator) {
  const query = decodePageQuery(new URLSearchParams(call.query));
  if (!query.ok) return sendRefusal(call.requestId, query.refusal);
  const tenant = await findNamedTenant(edge, call, operator);
  if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
  const pending = await edge.service.data.readPending(tenant.value, query.value);
  return sendOutcome(call.requestId, pending);
}

/** `POST /_admin/reactions` `{action, filter?, start?, environment?, instance_id?}`. */
export async function manageReactions(edge: Edge, call: Call, operator: Operator) {
  const body = await readFields(call, FIELDS);
  if (!body.ok) return answerRefused(edge, call, body.refusal);
  const filter = checkFilter(body.value);
  if (!filter.ok) return sendRefusal(call.requestId, filter.refusal);
  const tenant = await findNamedTenant(edge, call, operator, body.value);
  if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
  return await act(edge, call, operator, tenant.value, body.value, filter.value);
}

async function act(
  edge: Edge,
  { requestId }: Call,
  { subject: by }: Operator,
  tenant: Tenant,
  { action, start }: Fields<typeof FIELDS>,
  filter: PendingFilter,
): Promise<Response> {
  const { data } = edge.service;
  if (action === "discard") {
    const request = { filter, start, by, requestId };
    return sendOutcome(requestId, await data.discardReactions(tenant, request));
  }
  if (action === "pause") await data.pauseReactions(tenant, by);
  else await data.resumeReactions(tenant);
  return sendOk(requestId, { paused: action === "pause" });
}

function checkFilter(
  { action, filter, start }: Fields<typeof FIELDS>,
): Outcome<PendingFilter> {
  if (!["pause", "resume", "discard"].includes(action)) {
    return badField("action", "action must be one of: pause, resume, discard");
  }
  if (action !== "discard" && (filter ?? start) !== undefined) {
    return badField("filter", "filter and start are for discard alone");
  }
  const value: JsonValue = filter ?? {};
  if (!isJsonObject(value)) return badField("filter", "filter must be an object");
  const fields = checkFields(value, FILTER_FIELDS);
  if (!fields.ok) return fields;
  const { kind, ...rest } = fields.value;
  const known = PENDING_KINDS.find((each) => each === kind);
  if (kind !== undefined && known === undefined) {
    return badField("filter.kind", `kind must be one of: ${PENDING_KINDS.join(", ")}`);
  }
  return accept({ ...rest, ...(known && { kind: known }) });
}

function badField(path: string, message: string): Outcome<never> {
  return refuse({ kind: "bad_request", path, message });
}
