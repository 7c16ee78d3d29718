/**
 * Traces of WebAssembly calls of one environment, in the process that answers.
 *
 * See docs/reference/modules.md.
 */

import type { Operator } from "../../domain/access/access.ts";
import { sendOk } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { readFields } from "../decode/operator.ts";
import { answerRefused } from "../failure.ts";
import { sendRefusal } from "../reply.ts";
import { findNamedTenant } from "./operator_tenant.ts";

const FIELDS = {
  wasm_trace: "boolean",
  "environment?": "string",
  "instance_id?": "string",
} as const;

/** `POST /_admin/debug` `{wasm_trace, environment?, instance_id?}`. */
export async function setDebug(edge: Edge, call: Call, operator: Operator) {
  const body = await readFields(call, FIELDS);
  if (!body.ok) return answerRefused(edge, call, body.refusal);
  const tenant = await findNamedTenant(edge, call, operator, body.value);
  if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
  const { wasm_trace } = body.value;
  edge.service.operations.traceModules(tenant.value, wasm_trace);
  return sendOk(call.requestId, { wasm_trace });
}

/** `GET /_admin/debug?environment=&instance_id=`: the traced calls, newest first. */
export async function readDebug(edge: Edge, call: Call, operator: Operator) {
  const tenant = await findNamedTenant(edge, call, operator);
  if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
  const { isOn, traces } = edge.service.operations.listTraces(tenant.value);
  return sendOk(call.requestId, { wasm_trace: isOn, data: traces });
}
