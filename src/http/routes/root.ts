/** `GET /`: tells a visitor or program what this address is. No key needed. */

import { sendOk } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { API_VERSION } from "../openapi/document.ts";

/** Names the service and the paths that describe it. */
export function answerRoot(_edge: Edge, { requestId, place }: Call): Response {
  const name = "Daybook: immutable events in, folded state out, proof included";
  const { environment } = place;
  const links = { openapi: "/openapi.json", health: "/health/ready" };
  return sendOk(requestId, { name, version: API_VERSION, environment, ...links });
}
