/** Scheduled events that have not fired. See docs/reference/pending.md. */

import { accept } from "../../domain/refusal.ts";
import { read, write } from "../endpoint.ts";
import { pageBody } from "../long_answer.ts";
import { answer, array, FREE_OBJECT, object, page, ref, TEXT, TIME } from "../openapi/schema.ts";
import { PAGE_QUERY } from "../parameter.ts";
import { sendOutcome } from "../reply.ts";
import { sendInTurn, sendPartsInTurn } from "./in_turn.ts";

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
  run(edge, call, tenant, { query }) {
    return sendPartsInTurn(edge, call, async () => {
      const outcome = await edge.service.data.listScheduled(tenant, query);
      if (!outcome.ok) return outcome;
      const { data, ...fields } = outcome.value;
      const tail = JSON.stringify(fields).slice(1, -1);
      return accept(await pageBody(data, (entry) => JSON.stringify(entry), tail, edge.host));
    });
  },
});

export const readScheduled = read({
  id: "readScheduled",
  summary: "One event that will be written later",
  answers: { 200: answer({ scheduled: SCHEDULED }) },
  errors: ["not_found"],
  run(edge, call, tenant) {
    const [id = ""] = call.params;
    return sendInTurn(edge, call, async () => {
      const outcome = await edge.service.data.readScheduled(tenant, id);
      return outcome.ok ? accept({ scheduled: outcome.value }) : outcome;
    });
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
