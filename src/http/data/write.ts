/**
 * The three forms of a write, single, batch and atomic: decode, call the service, reply.
 *
 * Decoding checks shapes only. Types, ids, metadata, data and guards are passed on as sent, because
 * only the spec can judge them. See docs/reference/writing.md.
 */

import { eventId } from "../../domain/event.ts";
import { count } from "../../domain/measures/counters.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import { EVENTS_PER_MONTH, isNearLimit, type PlanUsage } from "../../domain/limits/plan.ts";
import { accept, ACCEPTED, type FaultPlace, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type {
  RequestedEvent,
  RequestedTarget,
  WriteRequest,
  Written,
} from "../../domain/write/write.ts";
import { sendText } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { findUnknownKey, readJsonBody } from "../decode/body.ts";
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
import { hintForBodyField, hintForEventField, hintForTargetField } from "./write_hints.ts";

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
const PRECONDITIONS = array(ref("Precondition"), { maxItems: limits.preconditionsMax });
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
  "precondition_failed",
  "guard_failed",
  "fold_budget_exceeded",
  "module_failed",
  "modules_unavailable",
  "plan_limit",
];
const TYPES: readonly ErrorName[] = ["aggregate_type_unknown", "event_type_unknown"];

export const writeSingle = write({
  id: "writeEvent",
  summary: "Writes one event",
  headers: KEYED,
  body: input({
    data: ref("EventData"),
    metadata: METADATA,
    "preconditions?": PRECONDITIONS,
  }),
  example: { data: NOTED.data!, metadata: BY },
  answers: { 201: answer({ stream_id: TEXT, "implied_count?": COUNT }) },
  errors: [...ERRORS, ...TYPES, "occ_conflict"],
  run: writing("single", decodeSingle),
});

export const writeBatch = write({
  id: "writeEvents",
  summary: "Writes several events to one aggregate: all or none",
  headers: KEYED,
  body: input({ events: EVENTS, metadata: METADATA, "preconditions?": PRECONDITIONS }),
  example: { events: [NOTED], metadata: { ...BY, previous_length: 0 } },
  answers: { 201: answer({ stream_ids: STREAM_IDS, count: COUNT, "implied_count?": COUNT }) },
  errors: [...ERRORS, ...TYPES, "occ_conflict", "write_invalid"],
  run: writing("batch", decodeBatch),
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
    "preconditions?": PRECONDITIONS,
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
  run: writing("atomic", decodeAtomic),
});

type Decode = (body: JsonObject, params: readonly string[]) => Outcome<DecodedWrite>;

/** The handler of one form of write. */
function writing(form: WriteRequest["form"], decode: Decode) {
  return async (edge: Edge, call: Call, tenant: Tenant): Promise<Response> => {
    const { request, requestId } = call;
    const body = await readJsonBody(call, limits.requestBodyBytesMax);
    if (!body.ok) return sendWrite(edge, call, body);
    const header = request.headers.get("x-idempotency-key");
    // Only a long body holds a share of the memory for bodies.
    const idempotency = header === null
      ? ACCEPTED
      : call.body === undefined
      ? decodeIdempotency(header, body.value)
      : await decodeLongIdempotency(header, body.value, call.host);
    if (!idempotency.ok) return sendWrite(edge, call, idempotency);
    const decoded = decode(body.value, call.params);
    if (!decoded.ok) {
      // A key with a recorded answer gets that answer, whatever is wrong with this body. See
      // docs/reference/writing.md.
      const claim = idempotency.value;
      const recorded = claim && await edge.service.data.answerRecorded(tenant, claim);
      return sendWrite(edge, call, recorded ?? decoded);
    }
    const outcome = await edge.service.data.writeEvents(tenant, {
      form,
      ...decoded.value,
      idempotency: idempotency.value,
      requestId,
      allocation: call.tier && EVENTS_PER_MONTH[call.tier],
    });
    return sendWrite(edge, call, outcome);
  };
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

/** Builds text directly, because a batch may hold thousands of ids. */
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

/** The write in a body; the caller adds the idempotency claim and the request id. */
interface DecodedWrite {
  readonly targets: readonly RequestedTarget[];
  readonly metadata: unknown;
  readonly preconditions?: unknown;
}

const SINGLE_KEYS = new Set(["data", "metadata", "preconditions"]);
const BATCH_KEYS = new Set(["events", "metadata", "preconditions"]);
const ATOMIC_KEYS = new Set(["targets", "metadata", "preconditions"]);
const EVENT_KEYS = new Set(["type", "data"]);
const TARGET_KEYS = new Set(["aggregate_type", "id", "events", "previous_length"]);

/** `{data, metadata, preconditions?}`. */
function decodeSingle(body: JsonObject, params: readonly string[]): Outcome<DecodedWrite> {
  const [aggregateType = "", id = "", type = ""] = params;
  const unknown = findUnknownKey(body, SINGLE_KEYS);
  if (unknown !== undefined) {
    return badRequest(`Unknown field: ${unknown}`, unknown, hintForBodyField("single", unknown));
  }
  const events = [{ type, data: body.data }];
  return accept(decoded(body, [{ aggregateType, id, events }]));
}

function decoded(body: JsonObject, targets: readonly RequestedTarget[]): DecodedWrite {
  const { metadata, preconditions } = body;
  return preconditions === undefined ? { targets, metadata } : { targets, metadata, preconditions };
}

/** `{events: [{type, data?}], metadata, preconditions?}`. */
export function decodeBatch(body: JsonObject, params: readonly string[]): Outcome<DecodedWrite> {
  const [aggregateType = "", id = ""] = params;
  const unknown = findUnknownKey(body, BATCH_KEYS);
  if (unknown !== undefined) {
    return badRequest(`Unknown field: ${unknown}`, unknown, hintForBodyField("batch", unknown));
  }
  const sent = body.events;
  if (sent === undefined) return badRequest("events is required", "events");
  if (!Array.isArray(sent)) return badRequest("events must be an array", "events");
  if (sent.length === 0) return badRequest("events must hold at least one event", "events");
  if (sent.length > limits.batchEventsMax) {
    return writeInvalid(`events must hold at most ${limits.batchEventsMax} events`, "events");
  }
  const fault = findEventFault(sent, "events");
  if (fault !== undefined) {
    return badRequest(fault.message, fault.path, fault.hint, { eventIndex: fault.index });
  }
  const events = toEvents(sent);
  return accept(decoded(body, [{ aggregateType, id, events }]));
}

/** `{targets: [{aggregate_type, id, events, previous_length?}], metadata, preconditions?}`. */
export function decodeAtomic(body: JsonObject): Outcome<DecodedWrite> {
  const unknown = findUnknownKey(body, ATOMIC_KEYS);
  if (unknown !== undefined) {
    const hint = hintForBodyField("atomic", unknown);
    return writeInvalid(`Unknown field: ${unknown}`, unknown, hint);
  }
  const sent = body.targets;
  if (!Array.isArray(sent)) return writeInvalid("targets must be an array", "targets");
  if (sent.length < 1 || sent.length > limits.atomicTargetsMax) {
    const message = `targets must hold 1 to ${limits.atomicTargetsMax} targets`;
    return writeInvalid(message, "targets");
  }
  // Counted before any of them is looked at.
  const total = sent.reduce<number>((sum, target) => sum + countEvents(target), 0);
  if (total > limits.batchEventsMax) {
    const message = `targets must hold at most ${limits.batchEventsMax} events in all`;
    return writeInvalid(message, "targets");
  }
  const targets: RequestedTarget[] = [];
  for (const [index, value] of sent.entries()) {
    const target = decodeTarget(value, index);
    if (!target.ok) return target;
    targets.push(target.value);
  }
  return accept(decoded(body, targets));
}

function countEvents(target: JsonValue): number {
  return isJsonObject(target) && Array.isArray(target.events) ? target.events.length : 0;
}

function decodeTarget(target: JsonValue, targetIndex: number): Outcome<RequestedTarget> {
  const path = `targets.${targetIndex}`;
  const invalid = (message: string, field: string, hint?: string) =>
    writeInvalid(message, field === "" ? path : `${path}.${field}`, hint, { targetIndex });
  if (!isJsonObject(target)) return invalid("A target must be an object", "");
  const unknown = findUnknownKey(target, TARGET_KEYS);
  if (unknown !== undefined) {
    const hint = hintForTargetField(unknown);
    return invalid(`Unknown field in a target: ${unknown}`, unknown, hint);
  }
  const { aggregate_type: aggregateType, id, events, previous_length: previousLength } = target;
  if (typeof aggregateType !== "string") {
    return invalid("aggregate_type must be a string", "aggregate_type");
  }
  if (typeof id !== "string") return invalid("id must be a string", "id");
  if (!Array.isArray(events) || events.length === 0) {
    return invalid("events must be an array of at least one event", "events");
  }
  const fault = findEventFault(events, `${path}.events`);
  if (fault !== undefined) {
    const place = { targetIndex, eventIndex: fault.index };
    return writeInvalid(fault.message, fault.path, fault.hint, place);
  }
  return accept({ aggregateType, id, events: toEvents(events), previousLength });
}

interface EventFault {
  readonly message: string;
  readonly path: string;
  readonly index: number;
  readonly hint?: string;
}

function findEventFault(events: readonly JsonValue[], path: string): EventFault | undefined {
  for (const [index, event] of events.entries()) {
    const here = `${path}.${index}`;
    if (!isJsonObject(event)) {
      return { message: "An event must be an object {type, data}", path: here, index };
    }
    if (typeof event.type !== "string") {
      const hint = "event_type" in event ? hintForEventField("event_type") : undefined;
      return { message: "type must be a string", path: `${here}.type`, index, hint };
    }
    const unknown = findUnknownKey(event, EVENT_KEYS);
    if (unknown !== undefined) {
      return {
        message: `Unknown field in an event: ${unknown}`,
        path: `${here}.${unknown}`,
        index,
        hint: hintForEventField(unknown),
      };
    }
  }
  return undefined;
}

/** Call only after {@link findEventFault} has found no fault. */
function toEvents(events: readonly JsonValue[]): RequestedEvent[] {
  return (events as readonly JsonObject[]).map(({ type, data }) => ({
    type: type as string,
    data,
  }));
}

function badRequest(message: string, path: string, hint?: string, place: FaultPlace = {}) {
  return refuse({ kind: "bad_request", message, path, hint, ...place });
}

function writeInvalid(message: string, path: string, hint?: string, place: FaultPlace = {}) {
  return refuse({ kind: "write_invalid", message, path, hint, ...place });
}
