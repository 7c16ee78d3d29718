/** Sagas and their progress. See docs/reference/pending.md. */

import { accept } from "../../domain/refusal.ts";
import { SAGA_STATES } from "../../domain/saga/instance.ts";
import { read } from "../endpoint.ts";
import { answer, array, choice, object, page, ref, SECONDS, TEXT } from "../openapi/schema.ts";
import { oneOf, PAGE_QUERY, text } from "../parameter.ts";
import { sendInTurn } from "./in_turn.ts";

const SAGA = {
  saga_id: TEXT,
  name: TEXT,
  state: choice(SAGA_STATES),
  started_at: SECONDS,
  trigger: ref("EventReference"),
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
    "event?": ref("EventReference"),
    "reason?": TEXT,
  })),
});

export const listSagas = read({
  id: "listSagas",
  summary: "Sagas by name and state, newest first",
  query: { ...PAGE_QUERY, name: text(), state: oneOf(SAGA_STATES) },
  answers: { 200: page(object(SAGA)) },
  run(edge, call, tenant, { query }) {
    return sendInTurn(edge, call, () => edge.service.data.listSagas(tenant, query));
  },
});

export const readSaga = read({
  id: "readSaga",
  summary: "How far one saga has come",
  answers: { 200: answer({ saga: SAGA_DETAIL }) },
  errors: ["not_found"],
  run(edge, call, tenant) {
    const [id = ""] = call.params;
    return sendInTurn(edge, call, async () => {
      const found = await edge.service.data.readSaga(tenant, id);
      return found.ok ? accept({ saga: found.value }) : found;
    });
  },
});
