/** Which types an environment has, and how much of each. See docs/reference/reading.md. */

import { limits } from "../../domain/limits.ts";
import { read } from "../endpoint.ts";
import { answer, array, BOOLEAN, COUNT, object, TEXT } from "../openapi/schema.ts";
import { cursor, within } from "../parameter.ts";
import { sendOutcome } from "../reply.ts";

export const listTypes = read({
  id: "listTypes",
  summary: "How many aggregates and events each type has",
  query: {
    limit: within(1, limits.typesPageMax, limits.typesPageMax),
    start: cursor({ description: "Exclusive cursor, as `next_start` gives it" }),
  },
  answers: {
    200: answer({
      data: array(object({ type: TEXT, aggregates: COUNT, events: COUNT })),
      limit: COUNT,
      truncated: BOOLEAN,
      "next_start?": TEXT,
      up_to_date: BOOLEAN,
      "building?": { const: true },
    }),
  },
  async run(edge, call, tenant, { query }) {
    return sendOutcome(call.requestId, await edge.service.data.readTypes(tenant, query));
  },
});
