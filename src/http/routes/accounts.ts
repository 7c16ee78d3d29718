/** Operator accounts: login and new users. See docs/reference/operators.md. */

import type { Operator } from "../../domain/access/access.ts";
import { limits } from "../../domain/limits.ts";
import { type Outcome, refuse } from "../../domain/refusal.ts";
import { type Call, callerAddress, type Edge } from "../call.ts";
import { networkOf } from "../client_address.ts";
import { readFields } from "../decode/operator.ts";
import { answerRefused } from "../failure.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";

const CREDENTIALS = { email: "string", password: "string" } as const;

/** `POST /api/login`: answers with an operator token. */
export async function logIn(edge: Edge, call: Call): Promise<Response> {
  const body = await readFields(call, CREDENTIALS, limits.openBodyBytesMax);
  if (!body.ok) return answerRefused(edge, call, body.refusal);
  const client = callerAddress(edge, call);
  const { email, password } = body.value;
  const outcome = await edge.service.access.login({ email, password, network: networkOf(client) });
  if (!outcome.ok) {
    edge.host.log("warn", "Login refused", { request_id: call.requestId, client });
  }
  return sendOutcome(call.requestId, outcome);
}

/** `POST /api/users`. */
export async function addUser(edge: Edge, call: Call, operator: Operator): Promise<Response> {
  const allowed = checkUnrestricted(operator);
  if (!allowed.ok) return sendRefusal(call.requestId, allowed.refusal);
  const body = await readFields(call, CREDENTIALS);
  if (!body.ok) return answerRefused(edge, call, body.refusal);
  const outcome = await edge.service.access.addUser(body.value.email, body.value.password);
  return sendOutcome(call.requestId, outcome, 201);
}

/** Calls about the whole deployment refuse a token that is restricted to instances. */
export function checkUnrestricted(operator: Operator): Outcome<Operator> {
  if (operator.instances === undefined) return { ok: true, value: operator };
  const message = "This call needs an operator token that is not restricted to instances";
  return refuse({ kind: "forbidden", message });
}
