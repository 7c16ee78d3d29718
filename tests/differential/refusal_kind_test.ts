/** Every refusal that a trace can meet is recognized from its answer, and as no other kind. */

import assert from "node:assert/strict";
import type { Refusal } from "../../src/domain/refusal.ts";
import { describeRefusal } from "../../src/http/reply.ts";
import { REACHABLE_KINDS, refusalKinds } from "./refusal_kind.ts";

const violations = [{
  rule: "unknown_key",
  path: "a",
  message: "A is unknown.",
  hint: "Remove it.",
}];

/** At least one of each kind, with texts as the product gives them. */
const SAMPLES: readonly Refusal[] = [
  { kind: "bad_request", message: "data is required", path: "data" },
  { kind: "unauthorized", message: "Invalid API key" },
  { kind: "forbidden", message: "The API key belongs to another environment" },
  { kind: "not_found", message: "No such path" },
  { kind: "aggregate_type_unknown", aggregateType: "a" },
  { kind: "aggregate_type_unknown", aggregateType: "a", targetIndex: 1 },
  { kind: "event_type_unknown", aggregateType: "a", eventType: "b" },
  { kind: "event_type_unknown", aggregateType: "a", eventType: "b", targetIndex: 0 },
  { kind: "event_type_reserved" },
  { kind: "aggregate_missing" },
  { kind: "method_not_allowed", allow: "GET" },
  { kind: "identifier_invalid", path: "key", message: "Identifier cannot be empty" },
  { kind: "metadata_invalid", path: "metadata.a", message: "Unknown metadata field: a" },
  { kind: "write_invalid", path: "targets", message: "targets must be an array" },
  { kind: "schema_validation", faults: [{ path: "data", message: "wrong" }] },
  { kind: "occ_conflict", length: 1, expected: 0 },
  { kind: "occ_conflict_atomic", key: "a:b", length: 1, expected: 0 },
  { kind: "idempotency_key_invalid", message: "Idempotency key cannot be empty" },
  {
    kind: "idempotency_key_invalid",
    message: "Multiple X-Idempotency-Key headers not allowed",
  },
  { kind: "idempotency_mismatch" },
  { kind: "idempotency_in_progress" },
  { kind: "payload_too_large", message: "Event data exceeds 1 bytes of JSON", limit: 1 },
  { kind: "fold_budget_exceeded", message: "too much", bytes: 2, limit: 1 },
  { kind: "spec_invalid", violations },
  { kind: "spec_incompatible", violations },
  { kind: "operator_input_invalid", path: "tier", message: "tier must be one of free" },
  { kind: "already_exists", path: "slug", message: "An instance with slug 'a' exists already" },
  { kind: "login_locked", retryAfterSeconds: 1 },
  { kind: "beyond_length", length: 3, asked: 4 },
  { kind: "erasure_begun", state: "completed" },
  { kind: "anchor_not_found" },
  { kind: "stream_not_found" },
  { kind: "invalid_index" },
  {
    kind: "beyond_anchor_coverage",
    reason: "index",
    anchorId: "anc_1",
    anchorCreatedAt: "2026-01-01T00:00:00.000Z",
    coveredEventCount: 1,
  },
  { kind: "anchor_stream_mismatch", anchorId: "anc_1" },
];

const OPERATORS: ReadonlySet<string> = new Set(["operator_input_invalid", "already_exists"]);

Deno.test("refusalKinds() knows each kind from its answer", () => {
  for (const refusal of SAMPLES) {
    const { status, body } = describeRefusal(refusal);
    const path = OPERATORS.has(refusal.kind) ? "/api/instances" : "/note/main/was_written";
    const errorType = body.error_type as string | undefined;
    const kinds = refusalKinds({ path, status, error: String(body.error), errorType });
    assert.deepEqual(kinds, [refusal.kind], JSON.stringify(body));
  }
  assert.deepEqual(new Set(SAMPLES.map(({ kind }) => kind)), new Set(REACHABLE_KINDS));
});
