/** Listeners and their deliveries. See docs/reference/listeners.md. */

import { DELIVERY_STATES, TRY_FAILURES } from "../../domain/listener/delivery.ts";
import { accept, type Outcome } from "../../domain/refusal.ts";
import { parseUtcTime } from "../../domain/utc_time.ts";
import { read, write } from "../endpoint.ts";
import { badField, type Fields } from "../fields.ts";
import {
  answer,
  array,
  BOOLEAN,
  choice,
  COUNT,
  INTEGER,
  object,
  page,
  SECONDS,
  TEXT,
  TIME,
} from "../openapi/schema.ts";
import { oneOf, PAGE_QUERY } from "../parameter.ts";
import { sendRefusal } from "../reply.ts";
import { sendInTurn } from "./in_turn.ts";

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

export const listListeners = read({
  id: "listListeners",
  summary: "Listeners and how their deliveries are",
  query: PAGE_QUERY,
  answers: { 200: page(LISTENER) },
  run(edge, call, tenant, { query }) {
    const list = async () => accept(await edge.service.data.listListeners(tenant, query));
    return sendInTurn(edge, call, list);
  },
});

export const listDeliveries = read({
  id: "listDeliveries",
  summary: "What became of each delivery to a listener",
  query: { ...PAGE_QUERY, state: oneOf(DELIVERY_STATES) },
  answers: { 200: page(DELIVERY) },
  errors: ["not_found"],
  run(edge, call, tenant, { query }) {
    const [listener = ""] = call.params;
    const request = { listener, ...query };
    return sendInTurn(edge, call, () => edge.service.data.listDeliveries(tenant, request));
  },
});

export const REPLAY_FIELDS = { "since?": TIME, "start?": TEXT, "delivery_id?": TEXT } as const;

export const replayDeliveries = write({
  id: "replayDeliveries",
  summary: "Sends deliveries again",
  fields: REPLAY_FIELDS,
  example: { since: "2026-01-31T09:30:00Z" },
  answers: { 202: answer({ replayed: COUNT, truncated: BOOLEAN, "next_start?": TEXT }) },
  errors: ["not_found", "operator_input_invalid"],
  async run(edge, call, tenant, { body }) {
    const replay = checkReplay(body);
    if (!replay.ok) return sendRefusal(call.requestId, replay.refusal);
    const [listener = ""] = call.params;
    const request = { listener, ...replay.value };
    const ask = () => edge.service.data.replayDeliveries(tenant, request);
    return await sendInTurn(edge, call, ask, 202);
  },
});

type Replay =
  | { readonly deliveryId: string }
  | { readonly sinceMs: number; readonly start?: string };

/** Either `{delivery_id}` or `{since, start?}`. */
export function checkReplay(
  { since, start, delivery_id: deliveryId }: Fields<typeof REPLAY_FIELDS>,
): Outcome<Replay> {
  if ((since === undefined) === (deliveryId === undefined)) {
    return badField("since", "Send either since or delivery_id");
  }
  if (deliveryId !== undefined) {
    return start === undefined
      ? accept({ deliveryId })
      : badField("start", "start goes with since, not with delivery_id");
  }
  const sinceMs = parseUtcTime(since!);
  if (sinceMs === undefined) {
    const message = "since must be an ISO 8601 UTC time, for example 2030-01-31T12:00:00Z";
    return badField("since", message);
  }
  return accept({ sinceMs, ...(start !== undefined && { start }) });
}
