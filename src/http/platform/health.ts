/** Liveness and readiness for load balancers: no key needed, on every host. */

import { sendOk } from "../answer.ts";
import { open } from "../endpoint.ts";
import { answerRefused } from "../failure.ts";
import { answer } from "../openapi/schema.ts";

/** The process answers, and its store does not require a restart. */
export const answerLive = open("health", {
  id: "answerLive",
  summary: "The process answers",
  answers: { 200: answer({}) },
  run(edge, { requestId }) {
    const failure = edge.service.failure();
    if (failure !== undefined) throw failure;
    return sendOk(requestId, {});
  },
});

/** The store answers too; an error of `ping` becomes a 503. */
export const answerReady = open("health", {
  id: "answerReady",
  summary: "The store answers too",
  answers: { 200: answer({}) },
  errors: ["internal", "store_away", "server_stopping"],
  async run(edge, call) {
    // Checked first, so that a load balancer sends nothing more.
    if (edge.options.drain?.isStopping()) {
      return answerRefused(edge, call, { kind: "server_stopping" });
    }
    await edge.service.ping();
    return sendOk(call.requestId, {});
  },
});
