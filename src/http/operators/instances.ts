/** Instances and their tiers. See docs/reference/operators.md. */

import { TIERS } from "../../domain/access/access.ts";
import { waitForTurn } from "../../domain/fairness/pieces.ts";
import { operator, unrestricted } from "../endpoint.ts";
import { answer, choice, type FieldSchemas, object, page, TEXT, TIME } from "../openapi/schema.ts";
import { PAGE_QUERY } from "../parameter.ts";
import { sendOutcome } from "../reply.ts";

const DEFAULT_TIER = "unlimited";
const TIER = choice(TIERS);
const INSTANCE: FieldSchemas = { id: TEXT, slug: TEXT, tier: TIER, created_at: TIME };

export const createInstance = unrestricted({
  id: "createInstance",
  summary: "Makes an instance",
  fields: { slug: TEXT, "tier?": TIER },
  example: { slug: "shop", tier: "free" },
  answers: { 201: answer(INSTANCE) },
  errors: ["operator_input_invalid", "already_exists"],
  async run(edge, { requestId }, _operator, { body: { slug, tier = DEFAULT_TIER } }) {
    return sendOutcome(requestId, await edge.service.access.createInstance(slug, tier), 201);
  },
});

export const listInstances = operator({
  id: "listInstances",
  summary: "The instances that the token covers",
  query: PAGE_QUERY,
  answers: { 200: page(object(INSTANCE)) },
  async run(edge, { requestId }, operator, { query }) {
    // Many that ask at once would all be served in one turn of the event loop.
    await waitForTurn(edge.host, true);
    return sendOutcome(requestId, await edge.service.access.listInstances(operator, query));
  },
});

export const readInstance = operator({
  id: "readInstance",
  summary: "One instance",
  answers: { 200: answer(INSTANCE) },
  errors: ["not_found"],
  async run(edge, { requestId, params: [id = ""] }, operator) {
    return sendOutcome(requestId, await edge.service.access.readInstance(operator, id));
  },
});

export const changeTier = unrestricted({
  id: "changeTier",
  summary: "Changes the tier of an instance",
  fields: { tier: TIER },
  example: { tier: "pro" },
  answers: { 200: answer(INSTANCE) },
  errors: ["not_found", "operator_input_invalid"],
  async run(edge, { requestId, params: [id = ""] }, _operator, { body }) {
    return sendOutcome(requestId, await edge.service.access.changeTier(id, body.tier));
  },
});
