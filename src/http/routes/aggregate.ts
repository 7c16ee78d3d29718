/** Reads of aggregates: state, length, listing. See docs/reference/reading.md. */

import type { AggregateView } from "../../domain/reading.ts";
import { accept, type Outcome } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import { sendParts, sendText } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { sendTagged } from "../conditional.ts";
import { decodeAggregateQuery, decodeListQuery } from "../decode/query.ts";
import { answerRefused } from "../failure.ts";
import { hasRoomForAnswer, lengthOfParts, type Part } from "../long_answer.ts";
import { longReadsOf, NO_TURN } from "../long_reads.ts";
import { aggregateBody, aggregatePageBody } from "../read_body.ts";
import { sendRefusal } from "../reply.ts";

/** `GET /{type}/{id}`. */
export async function readAggregate(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const { requestId, params: [aggregateType = "", id = ""] } = call;
  const query = decodeAggregateQuery(call.query);
  if (!query.ok) return sendRefusal(requestId, query.refusal);
  const request = { aggregateType, id, ...query.value };
  const read = () => edge.service.data.readAggregate(tenant, request);
  const outcome = await longReadsOf(edge.service).runMostlyShort(call.owner, read, lengthOfState);
  if (outcome === undefined) return answerRefused(edge, call, NO_TURN);
  if (!outcome.ok) return answerRefused(edge, call, outcome.refusal);
  const { dataJson, version } = outcome.value;
  // Checked before any work with a text of megabytes.
  if (version !== undefined && !hasRoomForAnswer(call.owner, dataJson.length)) {
    return answerRefused(edge, call, NO_TURN);
  }
  return await sendTagged(call, aggregateBody(outcome.value), version);
}

function lengthOfState(outcome: Outcome<AggregateView>): number {
  return outcome.ok ? outcome.value.dataJson.length : 0;
}

/** `GET /{type}/{id}/length`. */
export async function readLength(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const { requestId, params: [aggregateType = "", id = ""] } = call;
  const outcome = await edge.service.data.readLength(tenant, aggregateType, id);
  if (!outcome.ok) return sendRefusal(requestId, outcome.refusal);
  return sendText(requestId, 200, `{"ok":true,"length":${outcome.value}}`);
}

/** `GET /{type}`. */
export async function listAggregates(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const { requestId, params: [aggregateType = ""] } = call;
  const query = decodeListQuery(call.query);
  if (!query.ok) return sendRefusal(requestId, query.refusal);
  const request = { aggregateType, ...query.value };
  async function read(): Promise<Outcome<Part[]>> {
    const outcome = await edge.service.data.listAggregates(tenant, request);
    return outcome.ok ? accept(aggregatePageBody(outcome.value, request.resolve)) : outcome;
  }
  const body = request.resolve
    ? await longReadsOf(edge.service).run(call.owner, read, lengthOfParts)
    : await read();
  if (body === undefined) return answerRefused(edge, call, NO_TURN);
  return body.ok ? sendParts(requestId, body.value) : answerRefused(edge, call, body.refusal);
}
