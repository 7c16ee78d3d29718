/** `GET /openapi.json`: generic without a key, specific to the deployed spec with one. */

import { runInPieces } from "../../domain/fairness/pieces.ts";
import type { SpecVersion } from "../../domain/spec/deployment.ts";
import type { Tenant } from "../../domain/tenant.ts";
import { createRecentTexts, type RecentMap } from "../../domain/recent_map.ts";
import { limits } from "../../domain/limits.ts";
import { limitInstance } from "../middleware/rate_limit.ts";
import { sendRefusal } from "../reply.ts";
import type { Call, Edge } from "../call.ts";
import { checkInstance, INSTANCE_QUERY, open } from "../endpoint.ts";
import { sendTagged } from "../conditional.ts";
import { cutParts } from "../long_answer.ts";
import { authenticateHolder } from "../middleware/authenticate.ts";
import { openApiSteps } from "../openapi/document.ts";
import { FREE_OBJECT } from "../openapi/schema.ts";

/** The documents that one edge has made. */
interface Documents {
  /**
   * The document without a spec, made at its first request, as bytes: all answers share them, so
   * those that nobody reads take no memory.
   */
  generic?: Promise<readonly Uint8Array<ArrayBuffer>[]>;
  /** By the spec that they describe. */
  readonly made: RecentMap<string, string>;
  readonly underWay: Map<string, Promise<string | undefined>>;
}

const documentsOf = new WeakMap<Edge, Documents>();

function openDocuments(edge: Edge): Documents {
  let documents = documentsOf.get(edge);
  if (documents === undefined) {
    const made = createRecentTexts<string>(
      limits.openApiKeptCharactersMax,
      (text) => text.length,
    );
    documentsOf.set(edge, documents = { made, underWay: new Map() });
  }
  return documents;
}

export const answerOpenApi = open("open", {
  id: "readOpenApi",
  isTagged: true,
  summary: "This document; with an API key for the spec that is deployed to its environment",
  query: INSTANCE_QUERY,
  answers: { 200: FREE_OBJECT },
  errors: ["unauthorized", "forbidden", "not_found", "internal", "store_away"],
  async run(edge, call, _who, { query }) {
    const header = call.request.headers.get("authorization");
    if (header === null) return await sendGeneric(edge, call);
    const holder = await authenticateHolder(edge.service.access, header, call, "read");
    if (!holder.ok) return sendRefusal(call.requestId, holder.refusal);
    const { tenant, instance, operator } = holder.value;
    call.tenant = tenant;
    call.owner = operator ?? tenant.instanceId;
    const allowed = checkInstance(tenant, query);
    if (!allowed.ok) return sendRefusal(call.requestId, allowed.refusal);
    // Any call without a key is limited by its address.
    if (operator === undefined) {
      const limited = await limitInstance(edge, call, instance, "read");
      if (!limited.ok) return sendRefusal(call.requestId, limited.refusal);
    }
    const version = await edge.service.specs.readSpecVersion(tenant);
    // Before the first deploy there are no types, so only the generic document is correct.
    if (version === undefined) return await sendGeneric(edge, call);
    const text = await documentOf(edge, tenant, version);
    return text === undefined ? await sendGeneric(edge, call) : await sendTagged(call, [text]);
  },
});

/** Makes the document once for a spec, in time slices; concurrent requests share the work. */
async function documentOf(
  edge: Edge,
  tenant: Tenant,
  version: SpecVersion,
): Promise<string | undefined> {
  const { made, underWay } = openDocuments(edge);
  const name = nameOf(version);
  const known = made.get(name);
  if (known !== undefined) return known;
  let making = underWay.get(name);
  if (making === undefined) {
    making = makeDocument(edge, tenant).finally(() => underWay.delete(name));
    underWay.set(name, making);
  }
  return await making;
}

async function makeDocument(edge: Edge, tenant: Tenant): Promise<string | undefined> {
  const deployed = await edge.service.specs.readSpec(tenant);
  if (!deployed.ok) return undefined;
  const text = await runInPieces(openApiSteps(edge.paths, deployed.value), edge.host);
  // The current spec may have changed since the request.
  openDocuments(edge).made.set(nameOf(deployed.value), text);
  return text;
}

function nameOf({ spec_hash, version }: SpecVersion): string {
  return `${spec_hash} ${version}`;
}

async function sendGeneric(edge: Edge, call: Call): Promise<Response> {
  const documents = openDocuments(edge);
  documents.generic ??= makeGeneric(edge);
  return await sendTagged(call, await documents.generic);
}

/** In time slices; concurrent requests share the work. */
async function makeGeneric({ paths, host }: Edge): Promise<Uint8Array<ArrayBuffer>[]> {
  return [...cutParts([await runInPieces(openApiSteps(paths), host)])];
}
