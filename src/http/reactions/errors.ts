/** Error records. See docs/reference/errors.md. */

import { sendOk } from "../answer.ts";
import { read } from "../endpoint.ts";
import { answer, page, ref } from "../openapi/schema.ts";
import { PAGE_QUERY } from "../parameter.ts";
import { sendRefusal } from "../reply.ts";
import { sendInTurn } from "./in_turn.ts";

export const listErrors = read({
  id: "listErrors",
  summary: "The error records of the last 24 hours, newest first",
  query: PAGE_QUERY,
  answers: { 200: page(ref("ErrorRecord")) },
  run(edge, call, tenant, { query }) {
    return sendInTurn(edge, call, () => edge.service.data.listErrors(tenant, query));
  },
});

export const readError = read({
  id: "readError",
  summary: "What is known of a 5xx, or of something implied that failed",
  answers: { 200: answer({ error: ref("ErrorRecord") }) },
  errors: ["not_found"],
  async run(edge, { requestId, params: [errorId = ""] }, tenant) {
    const outcome = await edge.service.data.readError(tenant, errorId);
    if (!outcome.ok) return sendRefusal(requestId, outcome.refusal);
    return sendOk(requestId, { error: outcome.value });
  },
});
