/** The three forms of a write: decode, call the service, reply. See docs/reference/writing.md. */

import { count } from "../../domain/measures/counters.ts";
import type { JsonObject } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { EVENTS_PER_MONTH, isNearLimit, type PlanUsage } from "../../domain/limits/plan.ts";
import type { Outcome } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { WriteRequest, Written } from "../../domain/write/write.ts";
import type { Call, Edge } from "../call.ts";
import { readJsonBody } from "../decode/body.ts";
import { decodeIdempotency, decodeLongIdempotency } from "../decode/idempotency.ts";
import { decodeAtomic, decodeBatch, type DecodedWrite, decodeSingle } from "../decode/write.ts";
import { answerRefused } from "../failure.ts";
import { errorTypeOf, PLAN_METRIC } from "../reply.ts";
import { sendWritten } from "../written.ts";

/** `POST /{type}/{id}/{event}`. */
export function writeSingle(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  return writeForm(edge, call, tenant, "single", (body) => decodeSingle(call.params, body));
}

/** `POST /{type}/{id}`. */
export function writeBatch(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  return writeForm(edge, call, tenant, "batch", (body) => decodeBatch(call.params, body));
}

/** `POST /_atomic-write`. */
export function writeAtomic(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  return writeForm(edge, call, tenant, "atomic", decodeAtomic);
}

async function writeForm(
  edge: Edge,
  call: Call,
  tenant: Tenant,
  form: WriteRequest["form"],
  decode: (body: JsonObject) => Outcome<DecodedWrite>,
): Promise<Response> {
  const { request, requestId } = call;
  const body = await readJsonBody(call, limits.requestBodyBytesMax);
  if (!body.ok) return sendWrite(edge, call, body);
  const header = request.headers.get("x-idempotency-key");
  // Only a long body holds a share of the memory for bodies.
  const idempotency = call.body === undefined
    ? decodeIdempotency(header, body.value)
    : await decodeLongIdempotency(header, body.value, call.host);
  if (!idempotency.ok) return sendWrite(edge, call, idempotency);
  const decoded = decode(body.value);
  if (!decoded.ok) {
    // A key with a recorded answer gets that answer, whatever is wrong with this body. See
    // docs/reference/writing.md.
    const claim = idempotency.value;
    const recorded = claim && await edge.service.data.answerRecorded(tenant, claim);
    return sendWrite(edge, call, recorded ?? decoded);
  }
  const { targets, metadata } = decoded.value;
  const outcome = await edge.service.data.writeEvents(tenant, {
    form,
    targets,
    metadata,
    idempotency: idempotency.value,
    requestId,
    allocation: call.tier && EVENTS_PER_MONTH[call.tier],
  });
  return sendWrite(edge, call, outcome);
}

function sendWrite(edge: Edge, call: Call, outcome: Outcome<Written>): Response {
  if (!outcome.ok) {
    count(edge.requests.writesRefused, errorTypeOf(outcome.refusal));
    const response = answerRefused(edge, call, outcome.refusal);
    if (outcome.refusal.kind === "plan_limit") {
      tellUsage(edge, response, "Exceeded", outcome.refusal);
    }
    return response;
  }
  const response = sendWritten(call.requestId, outcome.value);
  const { plan } = outcome.value;
  if (plan !== undefined && isNearLimit(plan)) tellUsage(edge, response, "Warning", plan);
  return response;
}

/** Reports the usage of the month's events in a header. See docs/reference/limits.md. */
function tellUsage(
  { options }: Edge,
  { headers }: Response,
  what: "Warning" | "Exceeded",
  { usage, limit }: PlanUsage,
): void {
  headers.set(
    `x-${options.headerPrefix}-limit-${what}`.toLowerCase(),
    `${PLAN_METRIC}: ${usage}/${limit}`,
  );
}
