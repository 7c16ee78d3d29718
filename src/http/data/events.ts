/** The events of one stream, in pages. See docs/reference/reading.md. */

import { limits } from "../../domain/limits.ts";
import { accept, type Outcome } from "../../domain/refusal.ts";
import { sendTagged } from "../conditional.ts";
import { read } from "../endpoint.ts";
import { answerRefused } from "../failure.ts";
import { lengthOfParts, type Part } from "../long_answer.ts";
import { longReadsOf, NO_TURN } from "../long_reads.ts";
import {
  answer,
  array,
  BOOLEAN,
  choice,
  COUNT,
  HEX_32,
  object,
  ref,
  TEXT,
} from "../openapi/schema.ts";
import { count, flag, oneOf, text } from "../parameter.ts";
import { sendRefusal } from "../reply.ts";
import { eventPageBody } from "./read_body.ts";

export const readEvents = read({
  id: "readEvents",
  summary: "The events of an aggregate, paged, oldest first",
  isTagged: true,
  query: {
    start: text(),
    count: count({ default: limits.eventsPageDefault }),
    direction: oneOf(["forwards", "backwards"], "forwards"),
    raw: flag(),
  },
  answers: {
    200: answer({
      data: array(object({ id: TEXT, hash: HEX_32, "event?": ref("Event"), "raw?": TEXT })),
      count_limit: COUNT,
      truncated: BOOLEAN,
      "truncated_by?": choice(["count", "bytes"]),
      "next_start?": TEXT,
      "count_clamped?": { const: true },
    }),
  },
  errors: ["aggregate_type_unknown", "identifier_invalid"],
  async run(edge, call, tenant, { query: { raw, ...page } }) {
    const [aggregateType = "", id = ""] = call.params;
    async function read(): Promise<Outcome<Part[]>> {
      const outcome = await edge.service.data.readEvents(tenant, { aggregateType, id, ...page });
      return outcome.ok ? accept(await eventPageBody(outcome.value, raw, edge.host)) : outcome;
    }
    const body = await longReadsOf(edge.service).run(call.owner, read, lengthOfParts);
    if (body === undefined) return answerRefused(edge, call, NO_TURN);
    return body.ok ? await sendTagged(call, body.value) : sendRefusal(call.requestId, body.refusal);
  },
});
