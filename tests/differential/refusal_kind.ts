/**
 * Tells from an answer alone which kind of refusal produced it. A new kind does not compile
 * until it is declared here how to recognize it, or why no trace can meet it.
 */

import type { Refusal } from "../../src/domain/refusal.ts";

type Kind = Refusal["kind"];

export interface RefusedAnswer {
  readonly path: string;
  readonly status: number;
  readonly error: string;
  readonly errorType: string | undefined;
}

type Mark = (answer: RefusedAnswer) => boolean;

const NO_SQL = "traces ask no SQL, whose answers are no matter of the store: `queries/sql/` does";

/** How to recognize an answer of the kind, or why a sequential trace cannot meet it. */
const MARKS: Readonly<Record<Kind, Mark | string>> = {
  bad_request: ({ status }) => status === 400,
  unauthorized: ({ status }) => status === 401,
  forbidden: ({ status }) => status === 403,
  not_found: ({ status, error, errorType }) =>
    status === 404 && !error.includes("not found in spec") && error !== "Aggregate not found" &&
    !isOfEvidence(errorType),
  aggregate_type_unknown: ({ error }) => /^Aggregate type '.*' not found in spec$/s.test(error),
  event_type_unknown: ({ error }) => /^Event type '.*' not found in spec for /s.test(error),
  event_type_reserved: ({ error }) => error === "Event types beginning with '_' are reserved",
  beyond_length: ({ errorType, error }) =>
    errorType === "bad_request" && error.startsWith("The aggregate has "),
  aggregate_missing: ({ status, error }) => status === 404 && error === "Aggregate not found",
  method_not_allowed: ({ status }) => status === 405,
  identifier_invalid: ({ errorType }) => errorType === "identifier_invalid",
  metadata_invalid: ({ errorType }) => errorType === "metadata_invalid",
  write_invalid: (answer) => isPlain422(answer) && !isOperators(answer) && !isOfKey(answer),
  schema_validation: ({ errorType }) => errorType === "schema_validation",
  occ_conflict: ({ error, errorType }) => errorType === "occ_conflict" && error !== errorType,
  occ_conflict_atomic: ({ error }) => error === "occ_conflict",
  guard_failed: "no trace deploys guards: tests/features/ has them on each engine",
  precondition_failed: "as above",
  implications_in_multi_write: "no spec with implications can be deployed yet",
  idempotency_key_invalid: (answer) => isPlain422(answer) && isOfKey(answer),
  idempotency_mismatch: ({ errorType }) => errorType === "idempotency_mismatch",
  idempotency_in_progress: ({ errorType }) => errorType === "idempotency_in_progress",
  payload_too_large: ({ status }) => status === 413,
  fold_budget_exceeded: ({ errorType }) => errorType === "fold_budget_exceeded",
  handler_error: "no trace has WebAssembly modules: tests/features/ has them on each engine",
  module_failed: "as above",
  modules_unavailable: "as above",
  module_invalid: "as above",
  blob_incompatible: "as above",
  spec_invalid: ({ errorType }) => errorType === "spec_invalid",
  spec_incompatible: ({ errorType }) => errorType === "spec_incompatible",
  no_room: "traces hold little memory: `cli/hostile_clients_test.ts` holds much",
  server_stopping: "no trace stops its server: `http/serve_test.ts` does",
  projection_invalid: "traces deploy no projections: `end_to_end/projections_test.ts` does",
  projection_broken: "as above",
  erasure_begun: ({ error }) => error.startsWith("The stream is erased already, or "),
  plan_limit: "the traces' instances have no plan: `end_to_end/plans_test.ts` has",
  rate_limited: "traces stay below the limits: `end_to_end/rate_limits_test.ts` does not",
  sql_not_allowed: NO_SQL,
  sql_timeout: NO_SQL,
  sql_unavailable: NO_SQL,
  operator_input_invalid: (answer) => isPlain422(answer) && isOperators(answer),
  already_exists: ({ status, error, errorType }) =>
    status === 409 && errorType === "bad_request" && !error.startsWith("The stream is erased"),
  body_late: "takes half a minute of real time and concerns no store",
  cursor_expired: "no trace restores an older store",
  import_conflict: "no trace imports: tests/features/imports/ runs on each engine",
  import_unavailable: "as above",
  login_locked: ({ status }) => status === 429,
  anchor_not_found: ({ errorType }) => errorType === "anchor_not_found",
  stream_not_found: ({ errorType }) => errorType === "stream_not_found",
  invalid_index: ({ errorType }) => errorType === "invalid_index",
  beyond_anchor_coverage: ({ errorType }) => errorType === "beyond_anchor_coverage",
  anchor_format_unsupported: "this version makes no anchors of format 1",
  anchor_stream_mismatch: ({ errorType }) => errorType === "anchor_stream_mismatch",
};

function isOfEvidence(errorType: string | undefined): boolean {
  return errorType === "anchor_not_found" || errorType === "stream_not_found";
}

function isPlain422({ status, error, errorType }: RefusedAnswer): boolean {
  const isReserved = error === "Event types beginning with '_' are reserved";
  return status === 422 && errorType === "bad_request" && !isReserved;
}

function isOperators({ path }: RefusedAnswer): boolean {
  return path.startsWith("/api/") || path.startsWith("/_admin/");
}

function isOfKey({ error }: RefusedAnswer): boolean {
  return /^(?:Idempotency key |Multiple X-Idempotency-Key )/.test(error);
}

/**
 * The one kind that `answer`, with a status from 400 to 499, can have; all that fit if several
 * do.
 */
export function refusalKinds(answer: RefusedAnswer): Kind[] {
  const specific = REACHABLE_KINDS.filter((kind) => (MARKS[kind] as Mark)(answer));
  // An unknown type in an atomic write is a 422, so its text says more than its status.
  return specific.filter((kind) => kind !== "write_invalid" || specific.length === 1);
}

/** The kinds that a trace must meet at least once each. */
export const REACHABLE_KINDS: readonly Kind[] = (Object.keys(MARKS) as Kind[])
  .filter((kind) => typeof MARKS[kind] === "function");
