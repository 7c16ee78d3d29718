/** What an event has set off. See docs/reference/pending.md, "What an event has set off". */

import { DELIVERY_STATES } from "../../domain/listener/delivery.ts";
import { SAGA_STATES } from "../../domain/saga/instance.ts";
import type { EffectsRequest } from "../../features/reactions/read_effects.ts";
import { NOT_KEPT, sendText } from "../answer.ts";
import { read } from "../endpoint.ts";
import { longReadsOf, NO_TURN } from "../long_reads.ts";
import {
  answer,
  array,
  BOOLEAN,
  choice,
  COUNT,
  object,
  ref,
  SECONDS,
  TEXT,
  TIME,
} from "../openapi/schema.ts";
import { within } from "../parameter.ts";
import { sendRefusal } from "../reply.ts";

const DEPTH_MAX = 8;

const EVENT = { key: TEXT, "stream_id?": TEXT, "event_type?": TEXT, "erased?": { const: true } };

const SCHEDULED = object({
  scheduled_id: TEXT,
  state: choice(["pending", "fired", "cancelled"]),
  key: TEXT,
  event_type: TEXT,
  fire_at: TIME,
  "ended_at?": TIME,
  "stream_id?": TEXT,
  "cancelled_by?": object({
    reason: choice(["event", "request", "operator", "failed", "erased"]),
    "key?": TEXT,
    "event_type?": TEXT,
    "stream_id?": TEXT,
  }),
});

const SAGA = object({
  saga_id: TEXT,
  name: TEXT,
  state: choice(SAGA_STATES),
  started: BOOLEAN,
  steps: array(object({
    at: SECONDS,
    step: TEXT,
    outcome: TEXT,
    "event?": ref("EventReference"),
    "reason?": TEXT,
  })),
});

export const readEffects = read({
  id: "readEffects",
  summary: "What an event has set off",
  query: { depth: within(1, DEPTH_MAX, 1) },
  answers: {
    200: answer({
      data: array(object({
        depth: COUNT,
        ...EVENT,
        implied: array(object({ ...EVENT, "pending?": { const: true } })),
        "scheduled?": array(SCHEDULED),
        "sagas?": array(SAGA),
        "deliveries?": array(
          object({ listener: TEXT, delivery_id: TEXT, state: choice(DELIVERY_STATES) }),
        ),
      })),
      complete: BOOLEAN,
      truncated: BOOLEAN,
    }),
  },
  errors: ["aggregate_type_unknown", "identifier_invalid", "invalid_index", "not_found"],
  async run(edge, call, tenant, { query: { depth } }) {
    const [aggregateType = "", id = "", index = ""] = call.params;
    const request: EffectsRequest = { aggregateType, id, index, depth };
    const read = () => edge.service.data.readEffects(tenant, request);
    const outcome = await longReadsOf(edge.service).run(call.owner, read, () => 0);
    if (outcome === undefined) return sendRefusal(call.requestId, NO_TURN);
    if (!outcome.ok) return sendRefusal(call.requestId, outcome.refusal);
    const body = JSON.stringify({ ok: true, ...outcome.value });
    return sendText(call.requestId, 200, body, NOT_KEPT);
  },
});
