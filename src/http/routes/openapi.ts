/** EXT `GET /openapi.json`: without a key generic, with one for the deployed spec. */

import { sendRefusal } from "../reply.ts";
import { sendText } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { authenticateHolder } from "../middleware/authenticate.ts";
import { openApiDocument } from "../openapi/document.ts";

/** The generic document of each edge, made when it is first asked for. */
const generic = new WeakMap<Edge, string>();

export async function answerOpenApi(edge: Edge, call: Call): Promise<Response> {
  const header = call.request.headers.get("authorization");
  if (header === null) return sendGeneric(edge, call);
  const holder = await authenticateHolder(edge.service.access, header, call.place, "read");
  if (!holder.ok) return sendRefusal(call.requestId, holder.refusal);
  const { tenant } = holder.value;
  call.tenant = tenant;
  const deployed = await edge.service.specs.readSpec(tenant);
  // Before the first deploy there are no types, and only the generic document is true.
  if (!deployed.ok) return sendGeneric(edge, call);
  const document = openApiDocument(edge.paths, deployed.value);
  return sendText(call.requestId, 200, JSON.stringify(document));
}

function sendGeneric(edge: Edge, call: Call): Response {
  let text = generic.get(edge);
  if (text === undefined) {
    generic.set(edge, text = JSON.stringify(openApiDocument(edge.paths)));
  }
  return sendText(call.requestId, 200, text);
}
