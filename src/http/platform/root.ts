/** `GET /`: tells a visitor or program what this address is. No key needed. */

import { ENVIRONMENTS } from "../../domain/tenant.ts";
import { sendOk } from "../answer.ts";
import { open } from "../endpoint.ts";
import { API_VERSION } from "../openapi/document.ts";
import { answer, choice, TEXT } from "../openapi/schema.ts";

/** Names the service and the paths that describe it. */
export const answerRoot = open("health", {
  id: "readRoot",
  summary: "What this address is, and where it is described",
  answers: {
    200: answer({
      name: TEXT,
      version: TEXT,
      environment: choice(ENVIRONMENTS),
      openapi: TEXT,
      health: TEXT,
    }),
  },
  run(_edge, { requestId, place: { environment } }) {
    const name = "Daybook: immutable events in, folded state out, proof included";
    const links = { openapi: "/openapi.json", health: "/health/ready" };
    return sendOk(requestId, { name, version: API_VERSION, environment, ...links });
  },
});
