/**
 * Turns outcomes into responses: the one table from refusals to status, text and headers.
 *
 * A new kind of refusal does not compile until it has a row. See docs/reference/errors.md.
 */

import type { FaultPlace, Outcome, Refusal, Violation } from "../domain/refusal.ts";
import type { WasmFailureKind } from "../domain/wasm/failure.ts";
import { sendOk, sendText } from "./answer.ts";

/**
 * A refusal as an HTTP answer. `body` follows `ok: false` and always has an `error_type`;
 * undefined fields are left out.
 */
export interface RefusalReply {
  readonly status: number;
  readonly body: Record<string, unknown> & { readonly error_type: string };
  readonly headers?: Record<string, string>;
}

/** Answers with `refusal` and the fields of `more`. */
export function sendRefusal(
  requestId: string,
  refusal: Refusal,
  more: Record<string, unknown> = {},
): Response {
  const { status, body, headers } = describeRefusal(refusal);
  return sendText(requestId, status, JSON.stringify({ ok: false, ...body, ...more }), headers);
}

/** Answers with the fields of the outcome's value after `ok: true`, or with its refusal. */
export function sendOutcome(
  requestId: string,
  outcome: Outcome<object | void>,
  status = 200,
): Response {
  if (!outcome.ok) return sendRefusal(requestId, outcome.refusal);
  return sendOk(requestId, outcome.value ?? {}, status);
}

const BEFORE_FIRST_SPEC = "No spec is deployed to this environment yet: " +
  "POST /api/instances/{id}/spec deploys one";

const BROKEN_HINT =
  'Ask for its last good rows with ?stale=true (SQL: "stale": true in the body). ' +
  "Its operator deploys a spec that it fits, or a projection of that name that fits the spec";

const MS_PER_SECOND = 1000;
/** The metric that plans limit, in bodies and headers. */
export const PLAN_METRIC = "events_written";

/** The first things for the author of a module to check. */
const HINTS: Readonly<Record<WasmFailureKind, string>> = {
  wasm_trap: "The module ended with a trap, or its stack was full: run it on this event by itself",
  wasm_timeout:
    "The module did not end in time: raise timeout_ms (at most 5000), or let it do less",
  wasm_memory: "The module had no more memory, or left its bounds: an instance has 64 MiB at most",
  invalid_output: "The module must return JSON in UTF-8 with the field that the contract names",
};

type Table = {
  readonly [Kind in Refusal["kind"]]: (
    refusal: Extract<Refusal, { readonly kind: Kind }>,
  ) => RefusalReply;
};

const TABLE: Table = {
  bad_request: (refusal) => reply(400, "bad_request", refusal.message, pathAndPlace(refusal)),
  unauthorized: ({ message }) => ({
    ...reply(401, "unauthorized", message),
    headers: { "www-authenticate": "Bearer" },
  }),
  forbidden: ({ message }) => reply(403, "forbidden", message),
  not_found: ({ message }) => reply(404, "not_found", message),
  aggregate_type_unknown(refusal) {
    const text = `Aggregate type '${refusal.aggregateType}' not found in spec`;
    const hint = refusal.beforeFirstSpec && BEFORE_FIRST_SPEC;
    return reply(unknownTypeStatus(refusal), "not_found", text, { ...place(refusal), hint });
  },
  event_type_unknown(refusal) {
    const { aggregateType, eventType } = refusal;
    const text = `Event type '${eventType}' not found in spec for aggregate '${aggregateType}'`;
    return reply(unknownTypeStatus(refusal), "not_found", text, place(refusal));
  },
  event_type_reserved(refusal) {
    const text = "Event types beginning with '_' are reserved";
    return reply(422, "bad_request", text, place(refusal));
  },
  aggregate_missing: () => reply(404, "not_found", "Aggregate not found"),
  beyond_length({ length, asked }) {
    const text = `The aggregate has ${length} events, so there is no state after ${asked}`;
    return reply(422, "bad_request", text, { path: "at_length", current_length: length });
  },
  method_not_allowed: ({ allow }) => ({
    ...reply(405, "method_not_allowed", "Method not allowed"),
    headers: { allow },
  }),
  identifier_invalid: (refusal) =>
    reply(422, "identifier_invalid", refusal.message, pathAndPlace(refusal)),
  metadata_invalid: (refusal) =>
    reply(422, "metadata_invalid", refusal.message, pathAndPlace(refusal)),
  write_invalid: (refusal) => reply(422, "bad_request", refusal.message, pathAndPlace(refusal)),
  schema_validation(refusal) {
    const path = refusal.faults[0]?.path ?? "data";
    const fields = { path, ...place(refusal), details: refusal.faults };
    return reply(422, "schema_validation", "Event data failed schema validation", fields);
  },
  occ_conflict({ length, expected }) {
    const text = `Concurrent write detected. Stream has ${length} events, expected ${expected}.`;
    const lengths = { current_length: length, expected_length: expected };
    return reply(409, "occ_conflict", text, lengths);
  },
  occ_conflict_atomic({ key, length, expected }) {
    const lengths = { current_length: length, expected_length: expected };
    return reply(409, "occ_conflict", "occ_conflict", { key, ...lengths });
  },
  guard_failed(refusal) {
    const { message, guard, eventType: event_type } = refusal;
    const fields = { path: `guards[${guard}]`, event_type, ...place(refusal) };
    return reply(422, "guard_failed", message, fields);
  },
  precondition_failed({ message, index, key, length }) {
    const fields = { precondition_index: index, key, current_length: length };
    return reply(409, "precondition_failed", message, fields);
  },
  implications_in_multi_write({ targetIndex }) {
    const message = "An event whose definition declares implications cannot be written " +
      "atomically with other aggregates";
    const error = "implications_in_multi_write";
    return reply(422, error, error, { target_index: targetIndex, message });
  },
  idempotency_key_invalid: ({ message }) => reply(422, "bad_request", message),
  idempotency_mismatch() {
    const text = "Idempotency key reused with different request body";
    return reply(422, "idempotency_mismatch", text);
  },
  idempotency_in_progress() {
    const text = "Request with this idempotency key is still being processed";
    return { ...reply(409, "idempotency_in_progress", text), headers: { "retry-after": "1" } };
  },
  payload_too_large(refusal) {
    const fields = { ...pathAndPlace(refusal), limit: refusal.limit };
    return reply(413, "payload_too_large", refusal.message, fields);
  },
  fold_budget_exceeded: ({ message, bytes, limit }) =>
    reply(422, "fold_budget_exceeded", message, { bytes, limit }),
  handler_error: (refusal) => ({
    status: 422,
    body: { error: refusal.error, error_type: "handler_error", ...place(refusal) },
  }),
  module_failed(refusal) {
    const { failure, message, context } = refusal;
    return reply(500, failure, message, { ...place(refusal), hint: HINTS[failure], context });
  },
  modules_unavailable: ({ message, retryAfterMs }) => unavailable(message, retryAfterMs),
  sql_not_allowed: ({ message }) => reply(422, "sql_not_allowed", message),
  sql_timeout: ({ message }) => reply(422, "sql_timeout", message),
  sql_unavailable: ({ message, retryAfterMs }) => unavailable(message, retryAfterMs),
  projection_broken({ name, reason }) {
    const text = `Projection '${name}' does not fit the current spec and is not kept up to date: ` +
      reason;
    return reply(503, "projection_broken", text, { hint: BROKEN_HINT });
  },
  no_room: ({ message }) => unavailable(message, MS_PER_SECOND),
  server_stopping: () => ({
    ...reply(503, "unavailable", "The server is stopping; try again"),
    headers: { "retry-after": "1", connection: "close" },
  }),
  module_invalid: ({ violation }) =>
    violationsReply("bad_request", "The module cannot be kept", [violation]),
  blob_incompatible: ({ violations }) =>
    violationsReply("spec_incompatible", "The current spec could not call the module", violations),
  spec_invalid: ({ violations }) => violationsReply("spec_invalid", "Spec is invalid", violations),
  spec_incompatible({ violations }) {
    const text = "Spec is incompatible with the deployed spec";
    return violationsReply("spec_incompatible", text, violations);
  },
  projection_invalid: ({ violations }) =>
    violationsReply("spec_invalid", "Projection is invalid", violations),
  operator_input_invalid: ({ message, path }) => reply(422, "bad_request", message, { path }),
  already_exists: ({ message, path }) => reply(409, "bad_request", message, { path }),
  body_late({ seconds }) {
    const text = `Request body did not arrive within ${seconds} seconds`;
    return { ...reply(408, "bad_request", text), headers: { connection: "close" } };
  },
  cursor_expired: ({ newest }) =>
    reply(410, "cursor_expired", "The cursor is from beyond the moment of a restore", { newest }),
  import_conflict: ({ reason, message }) => reply(409, "import_conflict", message, { reason }),
  import_unavailable: ({ message, retryAfterSeconds }) => ({
    ...reply(503, "unavailable", message),
    headers: { "retry-after": String(retryAfterSeconds) },
  }),
  rate_limited: ({ scope, limit, tier, retryAfterMs }) => ({
    ...reply(429, "rate_limited", "Rate limit exceeded", { scope, limit, window: "1m", tier }),
    headers: { "retry-after": String(Math.ceil(retryAfterMs / MS_PER_SECOND)) },
  }),
  plan_limit({ usage, limit, events, resetsAt }) {
    const message = `${usage} of the ${limit} events of this month are used, and this write has ` +
      `${events}; the count begins again at ${resetsAt}`;
    return reply(429, "plan_limit", "Limit exceeded", {
      metric: PLAN_METRIC,
      usage,
      limit,
      message,
    });
  },
  login_locked: ({ retryAfterSeconds }) => ({
    ...reply(429, "rate_limited", "Too many failed logins; try again later"),
    headers: { "retry-after": String(retryAfterSeconds) },
  }),
  erasure_begun({ state }) {
    const text = "The stream is erased already, or is being erased; that cannot be taken back";
    return reply(409, "bad_request", text, { state });
  },
  anchor_not_found: () => reply(404, "anchor_not_found", "Anchor not found"),
  stream_not_found: () => reply(404, "stream_not_found", "Stream not found"),
  invalid_index() {
    const text = "The index of an event must be a whole number from 0";
    return reply(422, "invalid_index", text);
  },
  beyond_anchor_coverage({ reason, anchorId, anchorCreatedAt, coveredEventCount }) {
    const text = `The anchor is older than the ${reason === "index" ? "event" : "stream"}`;
    return reply(409, "beyond_anchor_coverage", text, {
      reason,
      anchor_id: anchorId,
      anchor_created_at: anchorCreatedAt,
      covered_event_count: coveredEventCount,
    });
  },
  anchor_format_unsupported({ anchorId }) {
    const text = "Anchors of format 1 cannot back a bundle";
    return reply(409, "anchor_format_unsupported", text, { anchor_id: anchorId });
  },
  anchor_stream_mismatch({ anchorId }) {
    const text = "The stream no longer reproduces the root that the anchor signed";
    return reply(409, "anchor_stream_mismatch", text, { anchor_id: anchorId });
  },
};

/** Status, body and headers of `refusal`. */
export function describeRefusal(refusal: Refusal): RefusalReply {
  // Each row takes refusals of its own kind; the compiler cannot follow that here.
  const told = (TABLE[refusal.kind] as (refusal: Refusal) => RefusalReply)(refusal);
  const { body } = told;
  if (refusal.hint !== undefined) body.hint = refusal.hint;
  body.docs = docsOf(body.error_type);
  return told;
}

/** The page of an `error_type` in the documentation that this server has. */
export function docsOf(errorType: string): string {
  return `/_docs/errors/${errorType}`;
}

/** The `error_type` of a refusal, its name for programs. */
export function errorTypeOf(refusal: Refusal): string {
  return describeRefusal(refusal).body.error_type;
}

/** A name that a client has sent may be a megabyte long, and a path may hold many of them. */
const TEXT_CHARACTERS_MAX = 4_000;
const PATH_CHARACTERS_MAX = 1_000;

function cutEnd(text: string, charactersMax: number): string {
  return text.length <= charactersMax ? text : `${text.slice(0, charactersMax - 3)}...`;
}

function reply(
  status: number,
  errorType: string,
  error: string,
  fields: Record<string, unknown> = {},
): RefusalReply {
  const text = cutEnd(error, TEXT_CHARACTERS_MAX);
  return { status, body: { error: text, error_type: errorType, ...fields } };
}

function unavailable(message: string, retryAfterMs: number): RefusalReply {
  const seconds = String(Math.ceil(retryAfterMs / MS_PER_SECOND));
  return { ...reply(503, "unavailable", message), headers: { "retry-after": seconds } };
}

function place({ eventIndex, targetIndex }: FaultPlace) {
  return { target_index: targetIndex, event_index: eventIndex };
}

function pathAndPlace(refusal: FaultPlace & { readonly path?: string }) {
  const path = refusal.path && cutEnd(refusal.path, PATH_CHARACTERS_MAX);
  return { path, ...place(refusal) };
}

/** In an atomic write the type is part of the body, so an unknown one is a fault of the body. */
function unknownTypeStatus({ targetIndex }: FaultPlace): number {
  return targetIndex === undefined ? 404 : 422;
}

function violationsReply(
  errorType: string,
  summary: string,
  violations: readonly Violation[],
): RefusalReply {
  const first = violations[0];
  const error = first === undefined ? summary : `${summary}: ${first.message}`;
  return reply(422, errorType, error, { path: first?.path, violations });
}
