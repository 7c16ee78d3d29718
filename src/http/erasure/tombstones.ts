/** Requests to erase a stream. See docs/reference/erasure.md. */

import type { Operator } from "../../domain/access/access.ts";
import { TOMBSTONE_STATES } from "../../domain/erasure/tombstone.ts";
import { limits } from "../../domain/limits.ts";
import { sendOk } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { operator } from "../endpoint.ts";
import { answer, choice, COUNT, HEX_32, object, page, TEXT, TIME } from "../openapi/schema.ts";
import {
  type AsksTenant,
  findNamedTenant,
  TENANT_FIELDS,
  TENANT_QUERY,
} from "../operator_tenant.ts";
import { PAGE_QUERY } from "../parameter.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";

const SAID = {
  type: "string",
  minLength: 1,
  maxLength: limits.erasureReasonCharactersMax,
} as const;
const HOURS = { type: "integer", minimum: 0, maximum: limits.erasureGraceHoursMax } as const;
const WISH = {
  key: { type: "string", description: "The stream: `<type>:<id>`" },
  reason: SAID,
  "legal_basis?": SAID,
} as const;
const RECEIPT = object({
  format: { const: 1 },
  scope: { const: "erasure" },
  tombstone_id: TEXT,
  instance_id: TEXT,
  environment: TEXT,
  key: TEXT,
  reason: TEXT,
  legal_basis: { type: ["string", "null"] },
  requested_at: TIME,
  requested_by: TEXT,
  executed_at: TIME,
  completed_at: TIME,
  event_count: COUNT,
  erased_count: COUNT,
  generation: COUNT,
  previous_tip: HEX_32,
  tip: HEX_32,
  signature: TEXT,
  public_key: HEX_32,
});
const TOMBSTONE = object({
  id: TEXT,
  ...WISH,
  grace_hours: HOURS,
  state: choice(TOMBSTONE_STATES),
  requested_at: TIME,
  requested_by: TEXT,
  execute_at: TIME,
  "cancelled_at?": TIME,
  "executed_at?": TIME,
  "completed_at?": TIME,
  "receipt?": RECEIPT,
});

export const requestErasure = operator({
  id: "requestErasure",
  summary: "Asks for the erasure of a stream",
  query: TENANT_QUERY,
  fields: { ...WISH, "grace_hours?": HOURS, ...TENANT_FIELDS },
  example: { key: "order:global", reason: "The customer asked for it", grace_hours: 24 },
  answers: { 202: answer({ tombstone: TOMBSTONE }) },
  errors: ["not_found", "operator_input_invalid", "stream_not_found", "already_exists"],
  async run(edge, call, operator, asked) {
    const tenant = await findNamedTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
    const { key, reason, legal_basis, grace_hours } = asked.body;
    const request = { key, reason, legal_basis, grace_hours, requestedBy: operator.subject };
    const outcome = await edge.service.erasure.request(tenant.value, request);
    if (!outcome.ok) return sendRefusal(call.requestId, outcome.refusal);
    return sendOk(call.requestId, { tombstone: outcome.value }, 202);
  },
});

export const listTombstones = operator({
  id: "listTombstones",
  summary: "The requests to erase a stream, newest first",
  query: { ...PAGE_QUERY, ...TENANT_QUERY },
  answers: { 200: page(TOMBSTONE) },
  errors: ["not_found"],
  async run(edge, call, operator, asked) {
    const tenant = await findNamedTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
    const page = await edge.service.erasure.list(tenant.value, asked.query);
    return sendOutcome(call.requestId, page);
  },
});

export const readTombstone = operator({
  id: "readTombstone",
  summary: "One request to erase a stream, with its receipt when that is done",
  query: TENANT_QUERY,
  answers: { 200: answer({ tombstone: TOMBSTONE }) },
  errors: ["not_found"],
  run: (edge, call, operator, asked) =>
    answerOne(edge, call, operator, { asked, ask: edge.service.erasure.read }),
});

export const cancelErasure = operator({
  id: "cancelErasure",
  summary: "Takes a request to erase a stream back",
  query: TENANT_QUERY,
  answers: { 200: answer({ tombstone: TOMBSTONE }) },
  errors: ["not_found", "erasure_begun"],
  run: (edge, call, operator, asked) =>
    answerOne(edge, call, operator, { asked, ask: edge.service.erasure.cancel }),
});

async function answerOne(
  edge: Edge,
  call: Call,
  operator: Operator,
  { asked, ask }: { asked: AsksTenant; ask: Edge["service"]["erasure"]["read"] },
): Promise<Response> {
  const { requestId, params: [id = ""] } = call;
  const tenant = await findNamedTenant(edge, call, operator, asked);
  if (!tenant.ok) return sendRefusal(requestId, tenant.refusal);
  const outcome = await ask(tenant.value, id);
  if (!outcome.ok) return sendRefusal(requestId, outcome.refusal);
  return sendOk(requestId, { tombstone: outcome.value });
}
