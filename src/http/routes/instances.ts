/** Instances and their tiers. See docs/reference/operators.md. */

import type { Operator } from "../../domain/access/access.ts";
import { sendOk } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { readFields } from "../decode/operator.ts";
import { decodePageQuery } from "../decode/query.ts";
import { answerRefused } from "../failure.ts";
import { pageOf } from "../list_page.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";
import { checkUnrestricted } from "./accounts.ts";

const DEFAULT_TIER = "unlimited";

/** `POST /api/instances` `{slug, tier?}`. */
export async function createInstance(edge: Edge, call: Call, operator: Operator) {
  const allowed = checkUnrestricted(operator);
  if (!allowed.ok) return sendRefusal(call.requestId, allowed.refusal);
  const body = await readFields(call, { slug: "string", "tier?": "string" });
  if (!body.ok) return answerRefused(edge, call, body.refusal);
  const { slug, tier = DEFAULT_TIER } = body.value;
  return sendOutcome(call.requestId, await edge.service.access.createInstance(slug, tier), 201);
}

/** `GET /api/instances`: the instances that the token covers. */
export async function listInstances(edge: Edge, call: Call, operator: Operator) {
  const query = decodePageQuery(new URLSearchParams(call.query));
  if (!query.ok) return sendRefusal(call.requestId, query.refusal);
  const instances = await edge.service.access.listInstances(operator);
  return sendOk(call.requestId, pageOf(instances, (instance) => instance.id, query.value));
}

/** `GET /api/instances/{id}`. */
export async function readInstance(edge: Edge, call: Call, operator: Operator) {
  const [id = ""] = call.params;
  return sendOutcome(call.requestId, await edge.service.access.readInstance(operator, id));
}

/** `PATCH /api/instances/{id}` `{tier}`: refused for operators who are restricted to instances. */
export async function changeTier(edge: Edge, call: Call, operator: Operator) {
  const allowed = checkUnrestricted(operator);
  if (!allowed.ok) return sendRefusal(call.requestId, allowed.refusal);
  const [id = ""] = call.params;
  const body = await readFields(call, { tier: "string" });
  if (!body.ok) return answerRefused(edge, call, body.refusal);
  const outcome = await edge.service.access.changeTier(id, body.value.tier);
  return sendOutcome(call.requestId, outcome);
}
