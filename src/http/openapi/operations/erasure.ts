/** OpenAPI rows of requests to erase a stream. See docs/reference/erasure.md. */

import { TOMBSTONE_STATES } from "../../../domain/erasure/tombstone.ts";
import { limits } from "../../../domain/limits.ts";
import type { Operations } from "../operation.ts";
import {
  answer,
  choice,
  COUNT,
  type FieldSchemas,
  HEX_32,
  input,
  object,
  page,
  PAGING,
  TENANT,
  TEXT,
  TIME,
} from "../schema.ts";

const SAID = { type: "string", minLength: 1, maxLength: limits.erasureReasonCharactersMax };
const HOURS = { type: "integer", minimum: 0, maximum: limits.erasureGraceHoursMax };
const WISH: FieldSchemas = {
  key: { type: "string", description: "The stream: `<type>:<id>`" },
  reason: SAID,
  "legal_basis?": SAID,
};
const RECEIPT = object({
  format: { const: 1 },
  scope: { const: "erasure" },
  tombstone_id: TEXT,
  instance_id: TEXT,
  environment: TEXT,
  key: TEXT,
  reason: TEXT,
  legal_basis: { type: ["string", "null"] },
  requested_at: TIME,
  requested_by: TEXT,
  executed_at: TIME,
  completed_at: TIME,
  event_count: COUNT,
  erased_count: COUNT,
  generation: COUNT,
  previous_tip: HEX_32,
  tip: HEX_32,
  signature: TEXT,
  public_key: HEX_32,
});
const TOMBSTONE = object({
  id: TEXT,
  ...WISH,
  grace_hours: HOURS,
  state: choice(TOMBSTONE_STATES),
  requested_at: TIME,
  requested_by: TEXT,
  execute_at: TIME,
  "cancelled_at?": TIME,
  "executed_at?": TIME,
  "completed_at?": TIME,
  "receipt?": RECEIPT,
});

export const ERASURE: Operations = {
  "POST /_admin/tombstones": {
    id: "requestErasure",
    summary: "Asks for the erasure of a stream",
    query: TENANT,
    body: input({ ...WISH, "grace_hours?": HOURS, ...TENANT }),
    answers: { 202: answer({ tombstone: TOMBSTONE }) },
    errors: ["not_found", "operator_input_invalid", "stream_not_found", "already_exists"],
  },
  "GET /_admin/tombstones": {
    id: "listTombstones",
    summary: "The requests to erase a stream, newest first",
    query: { ...PAGING, ...TENANT },
    answers: { 200: page(TOMBSTONE) },
    errors: ["not_found"],
  },
  "GET /_admin/tombstones/{id}": {
    id: "readTombstone",
    summary: "One request to erase a stream, with its receipt when that is done",
    query: TENANT,
    answers: { 200: answer({ tombstone: TOMBSTONE }) },
    errors: ["not_found"],
  },
  "DELETE /_admin/tombstones/{id}": {
    id: "cancelErasure",
    summary: "Takes a request to erase a stream back",
    query: TENANT,
    answers: { 200: answer({ tombstone: TOMBSTONE }) },
    errors: ["not_found", "erasure_begun"],
  },
};
