/**
 * OpenAPI rows of errors, sagas, scheduled events, listeners and pending reactions.
 *
 * See docs/reference/reactions.md.
 */

import { DELIVERY_STATES, TRY_FAILURES } from "../../../domain/listener/delivery.ts";
import { PENDING_KINDS } from "../../../domain/reaction/pending.ts";
import { SAGA_STATES } from "../../../domain/saga/instance.ts";
import type { Operations } from "../operation.ts";
import {
  answer,
  array,
  BOOLEAN,
  choice,
  COUNT,
  FREE_OBJECT,
  input,
  INTEGER,
  object,
  page,
  pageWith,
  PAGING,
  ref,
  SECONDS,
  TENANT,
  TEXT,
  TIME,
} from "../schema.ts";

const REFERENCE = ref("EventReference");

const SCHEDULED = object({
  scheduled_id: TEXT,
  fire_at: TIME,
  created_at: TIME,
  key: TEXT,
  event_type: TEXT,
  data: FREE_OBJECT,
  cancel_on: array(object({ aggregate_type: TEXT, id: TEXT, event_type: TEXT })),
  scheduled_by: REFERENCE,
});

const SAGA = {
  saga_id: TEXT,
  name: TEXT,
  state: choice(SAGA_STATES),
  started_at: SECONDS,
  trigger: REFERENCE,
};

const SAGA_DETAIL = object({
  ...SAGA,
  updated_at: SECONDS,
  "waiting_for?": object({
    step: TEXT,
    "key?": TEXT,
    "event_types?": array(TEXT),
    until: SECONDS,
  }),
  history: array(object({
    at: SECONDS,
    step: TEXT,
    outcome: TEXT,
    "event?": REFERENCE,
    "reason?": TEXT,
  })),
});

const LISTENER = object({
  name: TEXT,
  url: TEXT,
  events: array(TEXT),
  enabled: BOOLEAN,
  deliveries: object(Object.fromEntries(DELIVERY_STATES.map((state) => [state, COUNT]))),
  counted_to: COUNT,
  circuit: object({ state: choice(["closed", "open", "half_open"]), "until?": SECONDS }),
});

const DELIVERY = object({
  delivery_id: TEXT,
  state: choice(DELIVERY_STATES),
  "reason?": TEXT,
  event: object({ key: TEXT, stream_id: TEXT }),
  created_at: TIME,
  "next_try_at?": TIME,
  "ended_at?": TIME,
  attempts: COUNT,
  tries: array(object({
    at: TIME,
    "status?": INTEGER,
    "failure?": choice(TRY_FAILURES),
    duration_ms: COUNT,
  })),
});

const PENDING_COUNT = object({ count: COUNT, bytes: COUNT, is_more: BOOLEAN });
const PENDING = object({
  kind: choice(PENDING_KINDS),
  key: TEXT,
  event_type: TEXT,
  root_key: TEXT,
  since: TIME,
  "fire_at?": TIME,
  "saga_id?": TEXT,
  tries: COUNT,
});
export const REACTIONS: Operations = {
  "GET /_admin/reactions": {
    id: "readPendingReactions",
    summary: "What events have set off and what is not done yet",
    query: { ...PAGING, ...TENANT },
    answers: {
      200: pageWith(PENDING, {
        paused: BOOLEAN,
        "paused_since?": TIME,
        "paused_by?": TEXT,
        pending: object({
          implied: PENDING_COUNT,
          scheduled: PENDING_COUNT,
          saga: PENDING_COUNT,
          delivery: PENDING_COUNT,
          oldest: { type: ["string", "null"], format: "date-time" },
        }),
      }),
    },
    errors: ["not_found"],
  },
  "POST /_admin/reactions": {
    id: "manageReactions",
    summary: "Pauses and resumes what events set off, or discards what is pending of it",
    query: TENANT,
    body: input({
      action: choice(["pause", "resume", "discard"]),
      "filter?": {
        ...input({
          "kind?": choice(PENDING_KINDS),
          "aggregate_type?": TEXT,
          "event_type?": TEXT,
          "root_key?": TEXT,
        }),
        description: "For `discard`: only what has all of these. Left out: everything",
      },
      "start?": { type: "string", description: "For `discard`: as `next_start` gives it" },
      ...TENANT,
    }),
    answers: {
      200: answer({
        "paused?": BOOLEAN,
        "discarded?": object({ implied: COUNT, scheduled: COUNT, saga: COUNT }),
        "truncated?": BOOLEAN,
        "next_start?": TEXT,
      }),
    },
    errors: ["not_found"],
  },
  "GET /_errors": {
    id: "listErrors",
    summary: "The error records of the last 24 hours, newest first",
    query: PAGING,
    answers: { 200: page(ref("ErrorRecord")) },
  },
  "GET /_errors/{id}": {
    id: "readError",
    summary: "What is known of a 5xx, or of something implied that failed",
    answers: { 200: answer({ error: ref("ErrorRecord") }) },
    errors: ["not_found"],
  },
  "GET /_sagas": {
    id: "listSagas",
    summary: "Sagas by name and state, newest first",
    query: { ...PAGING, "name?": TEXT, "state?": choice(SAGA_STATES) },
    answers: { 200: page(object(SAGA)) },
  },
  "GET /_sagas/{id}": {
    id: "readSaga",
    summary: "How far one saga has come",
    answers: { 200: answer({ saga: SAGA_DETAIL }) },
    errors: ["not_found"],
  },
  "GET /_scheduled": {
    id: "listScheduled",
    summary: "Events that will be written later",
    query: PAGING,
    answers: { 200: page(SCHEDULED) },
  },
  "GET /_scheduled/{id}": {
    id: "readScheduled",
    summary: "One event that will be written later",
    answers: { 200: answer({ scheduled: SCHEDULED }) },
    errors: ["not_found"],
  },
  "DELETE /_scheduled/{id}": {
    id: "cancelScheduled",
    summary: "Cancels an event that would be written later",
    answers: { 200: answer({}) },
    errors: ["not_found"],
  },
  "GET /_listeners": {
    id: "listListeners",
    summary: "Listeners and how their deliveries are",
    query: PAGING,
    answers: { 200: page(LISTENER) },
  },
  "GET /_listeners/{name}/deliveries": {
    id: "listDeliveries",
    summary: "What became of each delivery to a listener",
    query: { ...PAGING, "state?": choice(DELIVERY_STATES) },
    answers: { 200: page(DELIVERY) },
    errors: ["not_found"],
  },
  "POST /_listeners/{name}/replay": {
    id: "replayDeliveries",
    summary: "Sends deliveries again",
    body: input({ "since?": TIME, "start?": TEXT, "delivery_id?": TEXT }),
    answers: { 202: answer({ replayed: COUNT, truncated: BOOLEAN, "next_start?": TEXT }) },
    errors: ["not_found", "operator_input_invalid"],
  },
};
