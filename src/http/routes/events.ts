/** The events of one stream, in pages: `GET /{type}/{id}/events`. See docs/reference/reading.md. */

import { accept, type Outcome } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Call, Edge } from "../call.ts";
import { sendTagged } from "../conditional.ts";
import { decodeEventsQuery } from "../decode/query.ts";
import { answerRefused } from "../failure.ts";
import { lengthOfParts, type Part } from "../long_answer.ts";
import { longReadsOf, NO_TURN } from "../long_reads.ts";
import { eventPageBody } from "../read_body.ts";
import { sendRefusal } from "../reply.ts";

export async function readEvents(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const { requestId, params: [aggregateType = "", id = ""] } = call;
  const query = decodeEventsQuery(call.query);
  if (!query.ok) return sendRefusal(requestId, query.refusal);
  const { raw, ...page } = query.value;
  async function read(): Promise<Outcome<Part[]>> {
    const outcome = await edge.service.data.readEvents(tenant, { aggregateType, id, ...page });
    return outcome.ok ? accept(await eventPageBody(outcome.value, raw, edge.host)) : outcome;
  }
  const body = await longReadsOf(edge.service).run(call.owner, read, lengthOfParts);
  if (body === undefined) return answerRefused(edge, call, NO_TURN);
  return body.ok ? await sendTagged(call, body.value) : sendRefusal(requestId, body.refusal);
}
