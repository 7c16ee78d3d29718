/**
 * Outcome to response: the one table from refusals to status, text and headers. A new refusal does
 * not compile until it has a row. Spec: "Errors" and "Exact messages and bodies".
 */

import type { FaultPlace, Outcome, Refusal, Violation } from "../domain/refusal.ts";
import { sendOk, sendText } from "./answer.ts";

/** A refusal in the words of HTTP. `body` follows `ok: false`; undefined fields are left out. */
export interface RefusalReply {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly headers?: Record<string, string>;
}

/** Answers with `refusal`. */
export function sendRefusal(requestId: string, refusal: Refusal): Response {
  const { status, body, headers } = describeRefusal(refusal);
  return sendText(requestId, status, JSON.stringify({ ok: false, ...body }), headers);
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

/** Status, body and headers of `refusal`. */
export function describeRefusal(refusal: Refusal): RefusalReply {
  switch (refusal.kind) {
    case "bad_request":
      return reply(400, "bad_request", refusal.message, pathAndPlace(refusal));
    case "unauthorized":
      return {
        ...reply(401, "unauthorized", refusal.message),
        headers: { "www-authenticate": "Bearer" },
      };
    case "forbidden":
      return reply(403, "forbidden", refusal.message);
    case "not_found":
      return reply(404, "not_found", refusal.message);
    case "aggregate_type_unknown": {
      const text = `Aggregate type '${refusal.aggregateType}' not found in spec`;
      return reply(unknownTypeStatus(refusal), "not_found", text, place(refusal));
    }
    case "event_type_unknown": {
      const { aggregateType, eventType } = refusal;
      const text = `Event type '${eventType}' not found in spec for aggregate '${aggregateType}'`;
      return reply(unknownTypeStatus(refusal), "not_found", text, place(refusal));
    }
    case "event_type_reserved": {
      const text = "Event types beginning with '_' are reserved";
      return reply(422, "bad_request", text, place(refusal));
    }
    case "aggregate_missing":
      return reply(404, "not_found", "Aggregate not found");
    case "method_not_allowed":
      return {
        ...reply(405, "method_not_allowed", "Method not allowed"),
        headers: { allow: refusal.allow },
      };
    case "identifier_invalid":
      return reply(422, "identifier_invalid", refusal.message, pathAndPlace(refusal));
    case "metadata_invalid":
      return reply(422, "metadata_invalid", refusal.message, pathAndPlace(refusal));
    case "write_invalid":
      return reply(422, "bad_request", refusal.message, pathAndPlace(refusal));
    case "schema_validation":
      return reply(422, "schema_validation", "Event data failed schema validation", {
        path: refusal.faults[0]?.path ?? "data",
        ...place(refusal),
        details: refusal.faults,
      });
    case "occ_conflict": {
      const { length, expected } = refusal;
      const text = `Concurrent write detected. Stream has ${length} events, expected ${expected}.`;
      const lengths = { current_length: length, expected_length: expected };
      return reply(409, "occ_conflict", text, lengths);
    }
    case "occ_conflict_atomic":
      return {
        status: 409,
        body: {
          error: "occ_conflict",
          key: refusal.key,
          current_length: refusal.length,
          expected_length: refusal.expected,
        },
      };
    case "implications_in_multi_write":
      return {
        status: 422,
        body: {
          error: "implications_in_multi_write",
          target_index: refusal.targetIndex,
          message: "An event whose definition declares implications cannot be written atomically " +
            "with other aggregates",
        },
      };
    case "idempotency_key_invalid":
      return reply(422, "bad_request", refusal.message);
    case "idempotency_mismatch": {
      const text = "Idempotency key reused with different request body";
      return reply(422, "idempotency_mismatch", text);
    }
    case "idempotency_in_progress": {
      const text = "Request with this idempotency key is still being processed";
      return { ...reply(409, "idempotency_in_progress", text), headers: { "retry-after": "1" } };
    }
    case "payload_too_large": {
      const fields = { ...pathAndPlace(refusal), limit: refusal.limit };
      return reply(413, "payload_too_large", refusal.message, fields);
    }
    case "fold_budget_exceeded": {
      const fields = { bytes: refusal.bytes, limit: refusal.limit };
      return reply(422, "fold_budget_exceeded", refusal.message, fields);
    }
    case "spec_invalid":
      return specReply("spec_invalid", "Spec is invalid", refusal.violations);
    case "spec_incompatible": {
      const text = "Spec is incompatible with the deployed spec";
      return specReply("spec_incompatible", text, refusal.violations);
    }
    case "operator_input_invalid":
      return reply(422, "bad_request", refusal.message, { path: refusal.path });
    case "already_exists":
      return reply(409, "bad_request", refusal.message, { path: refusal.path });
    case "login_locked":
      return {
        ...reply(429, "rate_limited", "Too many failed logins; try again later"),
        headers: { "retry-after": String(refusal.retryAfterSeconds) },
      };
  }
}

function reply(
  status: number,
  errorType: string,
  error: string,
  fields: Record<string, unknown> = {},
): RefusalReply {
  return { status, body: { error, error_type: errorType, ...fields } };
}

function place({ eventIndex, targetIndex }: FaultPlace) {
  return { target_index: targetIndex, event_index: eventIndex };
}

function pathAndPlace(refusal: FaultPlace & { readonly path?: string }) {
  return { path: refusal.path, ...place(refusal) };
}

/** In an atomic write a type is part of the body, so an unknown one is a fault of the body. */
function unknownTypeStatus({ targetIndex }: FaultPlace): number {
  return targetIndex === undefined ? 404 : 422;
}

function specReply(
  errorType: string,
  summary: string,
  violations: readonly Violation[],
): RefusalReply {
  const first = violations[0];
  const error = first === undefined ? summary : `${summary}: ${first.message}`;
  return reply(422, errorType, error, { path: first?.path, violations });
}
