/**
 * Every refusal as the OpenAPI document describes it: status, `error_type` and further fields.
 *
 * A new kind of refusal does not compile until it has a row. `reply.ts` has the error texts.
 */

import { TIERS } from "../../domain/access/access.ts";
import type { Refusal } from "../../domain/refusal.ts";
import {
  ANYTHING,
  array,
  choice,
  COUNT,
  type FieldSchemas,
  FREE_OBJECT,
  object,
  ref,
  type Schema,
  TEXT,
} from "./schema.ts";

/** The kinds of refusals, an unknown target type in an atomic write, and thrown errors. */
export type ErrorName = Refusal["kind"] | "target_type_unknown" | "internal" | "store_away";

interface ErrorForm {
  readonly status: number;
  readonly schema: Schema;
  /** Headers of the answer beside the common ones. */
  readonly headers?: readonly string[];
}

/** Additional fields if an import has begun. */
const IMPORT: FieldSchemas = { "line?": COUNT, "written?": COUNT, "import?": ref("Import") };
const PLACE: FieldSchemas = { "event_index?": COUNT, "target_index?": COUNT, ...IMPORT };
const PATH: FieldSchemas = { "path?": TEXT, ...PLACE };
const LENGTHS: FieldSchemas = { current_length: COUNT, expected_length: COUNT };
const VIOLATION = object({ rule: TEXT, path: TEXT, message: TEXT, hint: TEXT });
const VIOLATIONS: FieldSchemas = { "path?": TEXT, violations: array(VIOLATION) };
const FAULT: FieldSchemas = { context: FREE_OBJECT, error_id: TEXT };
const WHOLE: Schema = { type: "string", pattern: "^[0-9]+$" };
const RETRY = ["Retry-After"] as const;
const RATE = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Scope"] as const;
const ERROR_ID = ["x-error-id"] as const;
const HANDLER_ERROR = object({
  type: TEXT,
  message: TEXT,
  "code?": TEXT,
  "context?": FREE_OBJECT,
});

export const ERRORS: Readonly<Record<ErrorName, ErrorForm>> = {
  bad_request: error(400, "bad_request", PATH),
  unauthorized: error(401, "unauthorized", {}, ["WWW-Authenticate"]),
  forbidden: error(403, "forbidden"),
  not_found: error(404, "not_found"),
  aggregate_type_unknown: error(404, "not_found"),
  event_type_unknown: error(404, "not_found", PLACE),
  event_type_reserved: error(422, "bad_request", PLACE),
  aggregate_missing: error(404, "not_found"),
  beyond_length: error(422, "bad_request", { path: TEXT, current_length: COUNT }),
  method_not_allowed: error(405, "method_not_allowed", {}, ["Allow"]),
  identifier_invalid: error(422, "identifier_invalid", PATH),
  metadata_invalid: error(422, "metadata_invalid", PATH),
  write_invalid: error(422, "bad_request", PATH),
  schema_validation: error(422, "schema_validation", {
    path: TEXT,
    ...PLACE,
    details: array(object({ path: TEXT, message: TEXT })),
  }),
  occ_conflict: error(409, "occ_conflict", LENGTHS),
  occ_conflict_atomic: error(409, "occ_conflict", {
    error: { const: "occ_conflict" },
    key: TEXT,
    ...LENGTHS,
  }),
  guard_failed: error(422, "guard_failed", { path: TEXT, event_type: TEXT, ...PLACE }),
  precondition_failed: error(409, "precondition_failed", {
    precondition_index: COUNT,
    key: TEXT,
    current_length: COUNT,
  }),
  implications_in_multi_write: error(422, "implications_in_multi_write", {
    error: { const: "implications_in_multi_write" },
    target_index: COUNT,
    message: TEXT,
  }),
  idempotency_key_invalid: error(422, "bad_request"),
  idempotency_mismatch: error(422, "idempotency_mismatch"),
  idempotency_in_progress: error(409, "idempotency_in_progress", {}, RETRY),
  payload_too_large: error(413, "payload_too_large", { ...PATH, limit: COUNT }),
  fold_budget_exceeded: error(422, "fold_budget_exceeded", {
    bytes: COUNT,
    limit: COUNT,
    ...IMPORT,
  }),
  handler_error: form(422, {
    error: HANDLER_ERROR,
    error_type: { const: "handler_error" },
    ...PLACE,
  }),
  module_failed: form(500, {
    error: TEXT,
    error_type: choice(["wasm_trap", "wasm_timeout", "wasm_memory", "invalid_output"]),
    ...PLACE,
    ...FAULT,
  }, ERROR_ID),
  modules_unavailable: error(503, "unavailable", { ...FAULT, ...IMPORT }, [...RETRY, ...ERROR_ID]),
  no_room: error(503, "unavailable", FAULT, [...RETRY, ...ERROR_ID]),
  server_stopping: error(503, "unavailable", FAULT, [...RETRY, ...ERROR_ID]),
  module_invalid: error(422, "bad_request", VIOLATIONS),
  spec_invalid: error(422, "spec_invalid", VIOLATIONS),
  spec_incompatible: error(422, "spec_incompatible", VIOLATIONS),
  projection_invalid: error(422, "spec_invalid", VIOLATIONS),
  sql_not_allowed: error(422, "sql_not_allowed"),
  sql_timeout: error(422, "sql_timeout"),
  sql_unavailable: error(503, "unavailable", FAULT, [...RETRY, ...ERROR_ID]),
  projection_broken: error(503, "projection_broken", FAULT, ERROR_ID),
  blob_incompatible: error(422, "spec_incompatible", VIOLATIONS),
  operator_input_invalid: error(422, "bad_request", { path: TEXT }),
  already_exists: error(409, "bad_request", { path: TEXT }),
  body_late: error(408, "bad_request", IMPORT),
  cursor_expired: error(410, "cursor_expired", { newest: TEXT }),
  import_conflict: error(409, "import_conflict", {
    reason: choice(["other_file", "other_form", "taken_over", "not_empty"]),
    ...IMPORT,
  }),
  import_unavailable: error(503, "unavailable", { ...FAULT, ...IMPORT }, [...RETRY, ...ERROR_ID]),
  rate_limited: error(429, "rate_limited", {
    error: { const: "Rate limit exceeded" },
    scope: choice(["instance", "ip"]),
    limit: COUNT,
    window: { const: "1m" },
    "tier?": choice(TIERS),
  }, [...RATE, ...RETRY]),
  plan_limit: error(429, "plan_limit", {
    error: { const: "Limit exceeded" },
    metric: { const: "events_written" },
    usage: COUNT,
    limit: COUNT,
    message: TEXT,
  }, ["X-SVC-Limit-Exceeded"]),
  login_locked: error(429, "rate_limited", {}, RETRY),
  erasure_begun: error(409, "bad_request", { state: TEXT }),
  anchor_not_found: error(404, "anchor_not_found"),
  stream_not_found: error(404, "stream_not_found"),
  invalid_index: error(422, "invalid_index"),
  beyond_anchor_coverage: error(409, "beyond_anchor_coverage", {
    reason: choice(["index", "stream"]),
    anchor_id: TEXT,
    anchor_created_at: TEXT,
    covered_event_count: COUNT,
  }),
  anchor_format_unsupported: error(409, "anchor_format_unsupported", { anchor_id: TEXT }),
  anchor_stream_mismatch: error(409, "anchor_stream_mismatch", { anchor_id: TEXT }),
  target_type_unknown: error(422, "not_found", PLACE),
  internal: error(500, "internal", FAULT, ERROR_ID),
  store_away: error(503, "unavailable", FAULT, [...RETRY, ...ERROR_ID]),
};

/** The headers of answers, by name. */
export const HEADERS: Readonly<Record<string, { description: string; schema: Schema }>> = {
  "x-request-id": { description: "The request's own, or a new one", schema: TEXT },
  "x-error-id": { description: "For `GET /_errors/{id}`", schema: TEXT },
  "X-RateLimit-Limit": { description: "Requests within a minute", schema: WHOLE },
  "X-RateLimit-Remaining": { description: "How many of them are left", schema: WHOLE },
  "X-RateLimit-Scope": {
    description: "Whose requests are counted",
    schema: choice(["instance", "ip"]),
  },
  "X-RateLimit-Tier": { description: "Where it is known whose they are", schema: choice(TIERS) },
  "X-SVC-Limit-Exceeded": { description: "`events_written: <usage>/<limit>`", schema: TEXT },
  "X-SVC-Limit-Warning": {
    description: "`events_written: <usage>/<limit>`, from 80% of the month's events",
    schema: TEXT,
  },
  "ETag": { description: "Of what is told, for `If-None-Match`", schema: TEXT },
  "Retry-After": { description: "Seconds", schema: WHOLE },
  "WWW-Authenticate": { description: "The scheme", schema: { const: "Bearer" } },
  "Allow": { description: "The methods of the path", schema: TEXT },
  "X-Idempotency-Replayed": {
    description: "`true`: nothing was written, this is the first answer again",
    schema: ANYTHING,
  },
};

function error(
  status: number,
  errorType: string,
  fields: FieldSchemas = {},
  headers: readonly string[] = [],
): ErrorForm {
  return form(status, { error: TEXT, error_type: { const: errorType }, ...fields }, headers);
}

function form(status: number, fields: FieldSchemas, headers: readonly string[] = []): ErrorForm {
  const all = { ok: { const: false }, ...fields, "hint?": TEXT, docs: TEXT };
  return { status, schema: object(all), headers };
}
