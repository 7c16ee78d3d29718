/**
 * Answers a thrown error with a 5xx: an error record, `x-error-id` and a hint what to try.
 *
 * The exception itself and its stack go only to the log. See docs/reference/errors.md.
 */

import type { JsonObject } from "../domain/json.ts";
import { isOutage } from "../domain/outage.ts";
import type { Refusal } from "../domain/refusal.ts";
import { sendText } from "./answer.ts";
import { type Call, callerAddress, type Edge } from "./call.ts";
import { describeRefusal, docsOf, sendRefusal } from "./reply.ts";

const RETRY_AFTER_SECONDS = 1;
const EVENT_KEY_PREFIX = "/{type}/{id}";
const IMPORTS = new Set([
  "POST /_admin/import",
  "POST /_admin/import_jsonl",
  "POST /_admin/cold_start",
]);
const EVENT_TYPE_PATTERN = "/{type}/{id}/{event}";
/** Ids and types come from the client and are stored, so they are cut. */
const CONTEXT_CHARACTERS_MAX = 200;

/** Logs and records `error`, thrown while answering `call`, and answers 500 or 503. */
export function answerFailure(edge: Edge, call: Call, error: unknown): Response {
  const outage = isOutage(error);
  const errorType = outage ? "unavailable" : "internal";
  const context = describeContext(call);
  const subject = describeSubject(call.route, context);
  const message = outage
    ? `Store unavailable: ${subject} could not be answered`
    : `Internal error: ${subject} failed`;
  const errorId = edge.service.data.recordError(call.tenant, {
    error_type: errorType,
    message,
    context,
    request_id: call.requestId,
  });
  edge.host.log("error", message, {
    request_id: call.requestId,
    error_id: errorId,
    ...context,
    client: callerAddress(edge, call),
    exception: describeException(error),
  });
  const hint = outage ? outageHint(call) : internalHint(errorId, call.tenant !== undefined);
  const docs = docsOf(errorType);
  const body = { ok: false, error: message, error_type: errorType, hint, docs, context };
  const headers: Record<string, string> = { "x-error-id": errorId };
  if (outage) headers["retry-after"] = String(RETRY_AFTER_SECONDS);
  const json = JSON.stringify({ ...body, error_id: errorId });
  return sendText(call.requestId, outage ? 503 : 500, json, headers);
}

/**
 * Answers with `refusal` and the fields of `more`. A 5xx refusal (a module failed or could not
 * run) is recorded like a thrown error.
 */
export function answerRefused(
  edge: Edge,
  call: Call,
  refusal: Refusal,
  more: JsonObject = {},
): Response {
  const { status, body, headers } = describeRefusal(refusal);
  if (status < 500) return sendRefusal(call.requestId, refusal, more);
  const context = { ...describeContext(call), ...(body.context as JsonObject | undefined) };
  const { requestId } = call;
  const message = String(body.error);
  const error_type = String(body.error_type);
  const record = { error_type, message, context, request_id: requestId };
  const errorId = edge.service.data.recordError(call.tenant, record);
  edge.host.log("warn", message, { request_id: requestId, error_id: errorId, ...context });
  const json = JSON.stringify({ ok: false, ...body, ...more, context, error_id: errorId });
  return sendText(requestId, status, json, { ...headers, "x-error-id": errorId });
}

function describeContext({ route, params }: Call): JsonObject {
  const context: JsonObject = { operation: route };
  const pattern = route.slice(route.indexOf("/"));
  if (pattern.startsWith(EVENT_KEY_PREFIX)) {
    context.event_key = `${params[0]}:${params[1]}`.slice(0, CONTEXT_CHARACTERS_MAX);
  }
  if (pattern === EVENT_TYPE_PATTERN) {
    context.event_type = (params[2] ?? "").slice(0, CONTEXT_CHARACTERS_MAX);
  }
  return context;
}

function describeSubject(route: string, { event_key: key, event_type: type }: JsonObject): string {
  const event = type === undefined ? "" : ` on event '${type}'`;
  const stream = key === undefined ? "" : ` of '${key}'`;
  return `${route}${event}${stream}`;
}

function describeException(error: unknown): string {
  return error instanceof Error ? error.stack ?? `${error.name}: ${error.message}` : String(error);
}

function outageHint({ request, route }: Call): string {
  const wait = `Retry after ${RETRY_AFTER_SECONDS} s.`;
  if (request.method !== "POST") return wait;
  if (IMPORTS.has(route)) {
    return `${wait} A part may have landed: send the file again with the same import_id.`;
  }
  return `${wait} A write may have landed all the same: repeat it with the same ` +
    "X-Idempotency-Key, or read the stream's length first.";
}

/** Only errors of a known instance and environment can be read there; the others are in the log. */
function internalHint(errorId: string, isReadable: boolean): string {
  const next = isReadable
    ? `read GET /_errors/${errorId} within 24 hours and give its id to the operator`
    : `give the id ${errorId} to the operator, who finds it in the log`;
  return `The fault is the service's, not the request's. Retry once; if it comes back, ${next}.`;
}
