/** The usage of an environment against its plan. See docs/reference/operators.md. */

import type { Operator } from "../../domain/access/access.ts";
import { sendOk } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { sendRefusal } from "../reply.ts";
import { findOperatorTenant } from "./operator_tenant.ts";

const MONTH = /^[0-9]{4}-(?:0[1-9]|1[0-2])$/;

/** `GET /api/instances/{id}/usage?environment=&month=`. */
export async function readUsage(edge: Edge, call: Call, operator: Operator) {
  const { requestId, query } = call;
  const { access, limits } = edge.service;
  const month = new URLSearchParams(query).get("month") ?? undefined;
  if (month !== undefined && !MONTH.test(month)) {
    const message = "month must be a year and a month such as 2030-01";
    return sendRefusal(requestId, { kind: "bad_request", path: "month", message });
  }
  const tenant = await findOperatorTenant(edge, call, operator);
  if (!tenant.ok) return sendRefusal(requestId, tenant.refusal);
  const instance = await access.readInstance(operator, tenant.value.instanceId);
  if (!instance.ok) return sendRefusal(requestId, instance.refusal);
  return sendOk(requestId, await limits.readUsage(tenant.value, instance.value.tier, month));
}
