/** API keys: list, issue, rotate, revoke. See docs/reference/operators.md. */

import type { Operator } from "../../domain/access/access.ts";
import { limits } from "../../domain/limits.ts";
import { sendOk } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { readOptionalJsonBody } from "../decode/body.ts";
import { checkFields, readFields } from "../decode/operator.ts";
import { decodePageQuery } from "../decode/query.ts";
import { answerRefused } from "../failure.ts";
import { pageOf } from "../list_page.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";
import { findOperatorTenant } from "./operator_tenant.ts";

const NEW_KEY = { name: "string", scope: "string", "environment?": "string" } as const;

/** `GET /api/instances/{id}/keys?environment=`: never includes the secret keys. */
export async function listApiKeys(edge: Edge, call: Call, operator: Operator) {
  const query = decodePageQuery(new URLSearchParams(call.query));
  if (!query.ok) return sendRefusal(call.requestId, query.refusal);
  const tenant = await findOperatorTenant(edge, call, operator);
  if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
  const keys = await edge.service.access.listApiKeys(tenant.value);
  return sendOk(call.requestId, pageOf(keys, (key) => key.id, query.value));
}

/**
 * `POST /api/instances/{id}/keys` `{name, scope, environment}`: the only answer that shows the
 * key.
 */
export async function issueApiKey(edge: Edge, call: Call, operator: Operator) {
  const { requestId } = call;
  const body = await readFields(call, NEW_KEY);
  if (!body.ok) return answerRefused(edge, call, body.refusal);
  const { name, scope, environment } = body.value;
  if (scope !== "read" && scope !== "write") {
    const message = "scope must be read or write";
    return sendRefusal(requestId, { kind: "operator_input_invalid", path: "scope", message });
  }
  const tenant = await findOperatorTenant(edge, call, operator, environment);
  if (!tenant.ok) return sendRefusal(requestId, tenant.refusal);
  const outcome = await edge.service.access.issueApiKey(tenant.value, name, scope);
  return sendOutcome(requestId, outcome, 201);
}

/** `POST /api/keys/{id}/rotate`: a new key in place of the old one. */
export async function rotateApiKey(edge: Edge, call: Call, operator: Operator) {
  const [keyId = ""] = call.params;
  const body = await readOptionalJsonBody(call, limits.operatorBodyBytesMax);
  if (!body.ok) return answerRefused(edge, call, body.refusal);
  const fields = checkFields(body.value, {});
  if (!fields.ok) return sendRefusal(call.requestId, fields.refusal);
  const outcome = await edge.service.access.rotateApiKey(operator, keyId);
  return sendOutcome(call.requestId, outcome, 201);
}

/** `POST /api/keys/{id}/schedule_revocation` `{revoke_at}`. */
export async function scheduleRevocation(edge: Edge, call: Call, operator: Operator) {
  const [keyId = ""] = call.params;
  const body = await readFields(call, { revoke_at: "string" });
  if (!body.ok) return answerRefused(edge, call, body.refusal);
  const { revoke_at: revokeAt } = body.value;
  const outcome = await edge.service.access.scheduleRevocation(operator, keyId, revokeAt);
  return sendOutcome(call.requestId, outcome);
}

/** `DELETE /api/keys/{id}`. */
export async function revokeApiKey(edge: Edge, call: Call, operator: Operator) {
  const [keyId = ""] = call.params;
  return sendOutcome(call.requestId, await edge.service.access.revokeApiKey(operator, keyId));
}
