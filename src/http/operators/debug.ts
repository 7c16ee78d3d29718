/**
 * Traces of WebAssembly calls of one environment, in the process that answers.
 *
 * See docs/reference/modules.md.
 */

import { sendOk } from "../answer.ts";
import { operator } from "../endpoint.ts";
import { answer, array, BOOLEAN, choice, COUNT, object, TEXT, TIME } from "../openapi/schema.ts";
import { findNamedTenant, TENANT_FIELDS, TENANT_QUERY } from "../operator_tenant.ts";
import { sendRefusal } from "../reply.ts";

const TRACE = object({
  at: TIME,
  purpose: choice(["read", "rebuild", "write", "implication"]),
  blob: TEXT,
  version: COUNT,
  entrypoint: TEXT,
  event_type: TEXT,
  calls: COUNT,
  milliseconds: { type: "number" },
  input_bytes: COUNT,
  output_bytes: COUNT,
  end: TEXT,
});

export const setDebug = operator({
  id: "setDebug",
  summary: "Turns traces of module calls on or off",
  query: TENANT_QUERY,
  fields: { wasm_trace: BOOLEAN, ...TENANT_FIELDS },
  example: { wasm_trace: true },
  answers: { 200: answer({ wasm_trace: BOOLEAN }) },
  errors: ["not_found"],
  async run(edge, call, operator, asked) {
    const tenant = await findNamedTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
    const { wasm_trace } = asked.body;
    edge.service.operations.traceModules(tenant.value, wasm_trace);
    return sendOk(call.requestId, { wasm_trace });
  },
});

export const readDebug = operator({
  id: "readDebug",
  summary: "The module calls traced, newest first",
  query: TENANT_QUERY,
  answers: { 200: answer({ wasm_trace: BOOLEAN, data: array(TRACE) }) },
  errors: ["not_found"],
  async run(edge, call, operator, asked) {
    const tenant = await findNamedTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
    const { isOn, traces } = edge.service.operations.listTraces(tenant.value);
    return sendOk(call.requestId, { wasm_trace: isOn, data: traces });
  },
});
