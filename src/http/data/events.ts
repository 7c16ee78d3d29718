/** The events of one stream, in pages. See docs/reference/reading.md. */

import { limits } from "../../domain/limits.ts";
import { accept, type Outcome } from "../../domain/refusal.ts";
import type { TailPage } from "../../features/feed/read_tail.ts";
import { NOT_KEPT, sendParts } from "../answer.ts";
import { sendTagged } from "../conditional.ts";
import { read } from "../endpoint.ts";
import { answerRefused } from "../failure.ts";
import { pollStream } from "../feed/long_poll.ts";
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
import { badQuery, count, flag, LIVE_QUERY, oneOf, text } from "../parameter.ts";
import { sendRefusal } from "../reply.ts";
import { answerStreamLive, BEYOND } from "./live_stream.ts";
import { eventPageBody } from "./read_body.ts";

const BACKWARDS = badQuery("direction", "must be forwards with live");

export const readEvents = read({
  id: "readEvents",
  summary: "The events of an aggregate, paged, oldest first",
  isTagged: true,
  query: {
    start: text(),
    count: count({ default: limits.eventsPageDefault }),
    direction: oneOf(["forwards", "backwards"], "forwards"),
    raw: flag(),
    ...LIVE_QUERY,
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
  async run(edge, call, tenant, { query: { raw, live, wait: waitSeconds, ...page } }) {
    const [aggregateType = "", id = ""] = call.params;
    const isLive = live !== "no" && call.request.method !== "HEAD";
    if (isLive) {
      const name = { aggregateType, id };
      const { start, direction } = page;
      if (direction === "backwards") return sendRefusal(call.requestId, BACKWARDS.refusal);
      if (live === "sse") return await answerStreamLive(edge, call, tenant, { name, start, raw });
      const isReady = ({ isUpToDate, isBeyond }: TailPage) => !isUpToDate || isBeyond;
      const waited = await pollStream(edge, call, tenant, { name, start, waitSeconds, isReady });
      if (!waited.ok) return answerRefused(edge, call, waited.refusal);
      if (waited.value.isBeyond) return sendRefusal(call.requestId, BEYOND);
    }
    async function read(): Promise<Outcome<Part[]>> {
      const outcome = await edge.service.data.readEvents(tenant, { aggregateType, id, ...page });
      return outcome.ok ? accept(await eventPageBody(outcome.value, raw, edge.host)) : outcome;
    }
    const body = await longReadsOf(edge.service).run(call.owner, read, lengthOfParts);
    if (body === undefined) return answerRefused(edge, call, NO_TURN);
    if (!body.ok) return sendRefusal(call.requestId, body.refusal);
    return isLive
      ? sendParts(call.requestId, body.value, NOT_KEPT)
      : await sendTagged(call, body.value);
  },
});
