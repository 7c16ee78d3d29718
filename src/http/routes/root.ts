/** EXT `GET /`: for who opens the address in a browser, or asks it what it is. No key. */

import { sendOk } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { API_VERSION } from "../openapi/document.ts";

/** Names what is here and where it is described, as paths under this address. */
export function answerRoot(_edge: Edge, { requestId, place }: Call): Response {
  const name = "Daybook: immutable events in, folded state out, proof included";
  const { environment } = place;
  const links = { openapi: "/openapi.json", health: "/health/ready" };
  return sendOk(requestId, { name, version: API_VERSION, environment, ...links });
}
