/** Pending reactions of one environment, for operators. See docs/reference/pending.md. */

import { isJsonObject, type JsonValue } from "../../domain/json.ts";
import { PENDING_KINDS, type PendingFilter } from "../../domain/reaction/pending.ts";
import { accept, type Outcome } from "../../domain/refusal.ts";
import { sendOk } from "../answer.ts";
import { operator } from "../endpoint.ts";
import { badField, checkFields, type Fields } from "../fields.ts";
import {
  answer,
  BOOLEAN,
  choice,
  COUNT,
  input,
  object,
  pageWith,
  TEXT,
  TIME,
} from "../openapi/schema.ts";
import { findNamedTenant, TENANT_FIELDS, TENANT_QUERY } from "../operator_tenant.ts";
import { PAGE_QUERY } from "../parameter.ts";
import { sendRefusal } from "../reply.ts";
import { sendInTurn } from "./in_turn.ts";

const FILTER_FIELDS = {
  "kind?": choice(PENDING_KINDS),
  "aggregate_type?": TEXT,
  "event_type?": TEXT,
  "root_key?": TEXT,
} as const;

const FIELDS = {
  action: choice(["pause", "resume", "discard"]),
  "filter?": {
    ...input(FILTER_FIELDS),
    description: "For `discard`: only what has all of these. Left out: everything",
  },
  "start?": { type: "string", description: "For `discard`: as `next_start` gives it" },
  ...TENANT_FIELDS,
} as const;

const PENDING_COUNT = object({ count: COUNT, bytes: COUNT, is_more: BOOLEAN });
const PENDING = object({
  kind: choice(PENDING_KINDS),
  key: TEXT,
  event_type: TEXT,
  root_key: TEXT,
  since: TIME,
  "fire_at?": TIME,
  "saga_id?": TEXT,
  tries: COUNT,
});

export const readReactions = operator({
  id: "readPendingReactions",
  summary: "What events have set off and what is not done yet",
  query: { ...PAGE_QUERY, ...TENANT_QUERY },
  answers: {
    200: pageWith(PENDING, {
      paused: BOOLEAN,
      "paused_since?": TIME,
      "paused_by?": TEXT,
      pending: object({
        implied: PENDING_COUNT,
        scheduled: PENDING_COUNT,
        saga: PENDING_COUNT,
        delivery: PENDING_COUNT,
        oldest: { type: ["string", "null"], format: "date-time" },
      }),
    }),
  },
  errors: ["not_found"],
  async run(edge, call, operator, asked) {
    const tenant = await findNamedTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
    const read = () => edge.service.data.readPending(tenant.value, asked.query);
    return await sendInTurn(edge, call, read);
  },
});

export const manageReactions = operator({
  id: "manageReactions",
  summary: "Pauses and resumes what events set off, or discards what is pending of it",
  query: TENANT_QUERY,
  fields: FIELDS,
  example: { action: "pause", environment: "test" },
  answers: {
    200: answer({
      "paused?": BOOLEAN,
      "discarded?": object({ implied: COUNT, scheduled: COUNT, saga: COUNT }),
      "truncated?": BOOLEAN,
      "next_start?": TEXT,
    }),
  },
  errors: ["not_found"],
  async run(edge, call, operator, asked) {
    const filter = checkFilter(asked.body);
    if (!filter.ok) return sendRefusal(call.requestId, filter.refusal);
    const tenant = await findNamedTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
    const { action, start } = asked.body;
    const { subject: by } = operator;
    const { requestId } = call;
    const { data } = edge.service;
    if (action === "discard") {
      const request = { filter: filter.value, start, by, requestId };
      return await sendInTurn(edge, call, () => data.discardReactions(tenant.value, request));
    }
    if (action === "pause") await data.pauseReactions(tenant.value, by);
    else await data.resumeReactions(tenant.value);
    return sendOk(requestId, { paused: action === "pause" });
  },
});

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
