/** The three forms of a write: decode, call the service, reply. See docs/reference/writing.md. */

import { eventId } from "../../domain/event.ts";
import { count } from "../../domain/measures/counters.ts";
import type { JsonObject } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { EVENTS_PER_MONTH, isNearLimit, type PlanUsage } from "../../domain/limits/plan.ts";
import { accept, type Outcome } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { WriteRequest, Written } from "../../domain/write/write.ts";
import { sendText } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { readJsonBody } from "../decode/body.ts";
import { write } from "../endpoint.ts";
import { answerRefused } from "../failure.ts";
import type { ErrorName } from "../openapi/errors.ts";
import {
  answer,
  array,
  COUNT,
  type FieldSchemas,
  input,
  ref,
  type Schema,
  TEXT,
} from "../openapi/schema.ts";
import { errorTypeOf, PLAN_METRIC } from "../reply.ts";
import { decodeIdempotency, decodeLongIdempotency } from "./idempotency.ts";
import { decodeAtomic, decodeBatch, type DecodedWrite, decodeSingle } from "./write_body.ts";

const EVENTS = array(ref("NewEvent"), { minItems: 1, maxItems: limits.batchEventsMax });
const METADATA: Schema = ref("WriteMetadata");
const STREAM_IDS = array(TEXT);
const KEYED: FieldSchemas = {
  "X-Idempotency-Key?": {
    type: "string",
    minLength: 1,
    maxLength: limits.idempotencyKeyCharactersMax,
  },
};
const NOTED: JsonObject = { type: "was_noted", data: { text: "Rings twice" } };
const BY: JsonObject = { actor: { type: "user", id: "global" } };

/** The refusals that every write may get. */
const ERRORS: readonly ErrorName[] = [
  "event_type_reserved",
  "identifier_invalid",
  "metadata_invalid",
  "schema_validation",
  "idempotency_key_invalid",
  "idempotency_mismatch",
  "idempotency_in_progress",
  "handler_error",
  "module_failed",
  "modules_unavailable",
  "plan_limit",
];
const TYPES: readonly ErrorName[] = ["aggregate_type_unknown", "event_type_unknown"];

export const writeSingle = write({
  id: "writeEvent",
  summary: "Writes one event",
  headers: KEYED,
  body: input({ data: ref("EventData"), metadata: METADATA }),
  example: { data: NOTED.data!, metadata: BY },
  answers: { 201: answer({ stream_id: TEXT, "implied_count?": COUNT }) },
  errors: [...ERRORS, ...TYPES, "occ_conflict"],
  run: (edge, call, tenant) =>
    writeForm(edge, call, tenant, {
      form: "single",
      decode: (body) => decodeSingle(call.params, body),
    }),
});

export const writeBatch = write({
  id: "writeEvents",
  summary: "Writes several events to one aggregate: all or none",
  headers: KEYED,
  body: input({ events: EVENTS, metadata: METADATA }),
  example: { events: [NOTED], metadata: { ...BY, previous_length: 0 } },
  answers: { 201: answer({ stream_ids: STREAM_IDS, count: COUNT, "implied_count?": COUNT }) },
  errors: [...ERRORS, ...TYPES, "occ_conflict", "write_invalid"],
  run: (edge, call, tenant) =>
    writeForm(edge, call, tenant, {
      form: "batch",
      decode: (body) => decodeBatch(call.params, body),
    }),
});

export const writeAtomic = write({
  id: "writeAtomically",
  summary: "Writes to up to ten aggregates: all or nothing",
  headers: KEYED,
  body: input({
    targets: array(
      input({ aggregate_type: TEXT, id: TEXT, events: EVENTS, "previous_length?": COUNT }),
      { minItems: 1, maxItems: limits.atomicTargetsMax },
    ),
    metadata: METADATA,
  }),
  example: {
    targets: [{ aggregate_type: "order", id: "global", events: [NOTED], previous_length: 0 }],
    metadata: BY,
  },
  answers: {
    201: answer({
      written: COUNT,
      stream_ids: { type: "object", additionalProperties: STREAM_IDS },
    }),
  },
  errors: [
    ...ERRORS,
    "target_type_unknown",
    "write_invalid",
    "occ_conflict_atomic",
    "implications_in_multi_write",
  ],
  run: (edge, call, tenant) =>
    writeForm(edge, call, tenant, { form: "atomic", decode: decodeAtomic }),
});

interface Form {
  readonly form: WriteRequest["form"];
  readonly decode: (body: JsonObject) => Outcome<DecodedWrite>;
}

async function writeForm(
  edge: Edge,
  call: Call,
  tenant: Tenant,
  { form, decode }: Form,
): Promise<Response> {
  const { request, requestId } = call;
  const body = await readJsonBody(call, limits.requestBodyBytesMax);
  if (!body.ok) return sendWrite(edge, call, body);
  const header = request.headers.get("x-idempotency-key");
  // Only a long body holds a share of the memory for bodies.
  const idempotency = header === null
    ? accept(undefined)
    : call.body === undefined
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

/** 201 with the ids. A replay carries the request id of the write that was committed. */
export function sendWritten(requestId: string, written: Written): Response {
  const body = writtenBody(written);
  if (!written.replayed) return sendText(requestId, 201, body);
  return sendText(written.requestId, 201, body, { "x-idempotency-replayed": "true" });
}

/** Builds text directly, since a batch may hold 10,000 ids. */
export function writtenBody({ form, targets, impliedCount }: Written): string {
  const implied = impliedCount === 0 ? "" : `,"implied_count":${impliedCount}`;
  const first = targets[0]!;
  if (form === "single") return `{"ok":true,"stream_id":"${eventId(first.first)}"${implied}}`;
  if (form === "batch") {
    const ids = streamIds(first);
    return `{"ok":true,"stream_ids":[${ids}],"count":${first.count}${implied}}`;
  }
  let total = 0;
  const members: string[] = [];
  for (const target of targets) {
    total += target.count;
    members.push(`${JSON.stringify(target.key)}:[${streamIds(target)}]`);
  }
  return `{"ok":true,"written":${total},"stream_ids":{${members.join(",")}}}`;
}

function streamIds({ first, count }: Written["targets"][number]): string {
  let ids = "";
  for (let index = first; index < first + count; index++) {
    ids += index === first ? `"${eventId(index)}"` : `,"${eventId(index)}"`;
  }
  return ids;
}
