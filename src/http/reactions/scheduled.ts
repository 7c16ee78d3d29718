/** Scheduled events that have not fired. See docs/reference/pending.md. */

import { sendOk } from "../answer.ts";
import { read, write } from "../endpoint.ts";
import { answer, array, FREE_OBJECT, object, page, ref, TEXT, TIME } from "../openapi/schema.ts";
import { PAGE_QUERY } from "../parameter.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";

const SCHEDULED = object({
  scheduled_id: TEXT,
  fire_at: TIME,
  created_at: TIME,
  key: TEXT,
  event_type: TEXT,
  data: FREE_OBJECT,
  cancel_on: array(object({ aggregate_type: TEXT, id: TEXT, event_type: TEXT })),
  scheduled_by: ref("EventReference"),
});

export const listScheduled = read({
  id: "listScheduled",
  summary: "Events that will be written later",
  query: PAGE_QUERY,
  answers: { 200: page(SCHEDULED) },
  async run(edge, { requestId }, tenant, { query }) {
    return sendOutcome(requestId, await edge.service.data.listScheduled(tenant, query));
  },
});

export const readScheduled = read({
  id: "readScheduled",
  summary: "One event that will be written later",
  answers: { 200: answer({ scheduled: SCHEDULED }) },
  errors: ["not_found"],
  async run(edge, { requestId, params: [id = ""] }, tenant) {
    const outcome = await edge.service.data.readScheduled(tenant, id);
    if (!outcome.ok) return sendRefusal(requestId, outcome.refusal);
    return sendOk(requestId, { scheduled: outcome.value });
  },
});

export const cancelScheduled = write({
  id: "cancelScheduled",
  summary: "Cancels an event that would be written later",
  answers: { 200: answer({}) },
  errors: ["not_found"],
  async run(edge, { requestId, params: [id = ""] }, tenant) {
    return sendOutcome(requestId, await edge.service.data.cancelScheduled(tenant, id));
  },
});
