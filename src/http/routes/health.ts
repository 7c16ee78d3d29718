/** Liveness and readiness for load balancers: no key needed, on every host. */

import { sendOk } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { answerRefused } from "../failure.ts";

/** `GET /health/live`: the process answers, and its store does not require a restart. */
export function answerLive(edge: Edge, call: Call): Response {
  const failure = edge.service.failure();
  if (failure !== undefined) throw failure;
  return sendOk(call.requestId, {});
}

/** `GET /health/ready`: the store answers too; an error of `ping` becomes a 503. */
export async function answerReady(edge: Edge, call: Call): Promise<Response> {
  // Checked first, so that a load balancer sends nothing more.
  if (edge.options.drain?.isStopping()) {
    return answerRefused(edge, call, { kind: "server_stopping" });
  }
  await edge.service.ping();
  return sendOk(call.requestId, {});
}
