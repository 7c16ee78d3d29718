/** Anchors, signing keys and bundles. See docs/reference/audit.md. */

import type { Operator } from "../../domain/access/access.ts";
import type { Tenant } from "../../domain/tenant.ts";
import { sendOk } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { decodeEnvironment, readFields } from "../decode/operator.ts";
import { decodePageQuery, readFlag } from "../decode/query.ts";
import { answerRefused } from "../failure.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";

const ALGORITHM = "ed25519";
const PLACE = { "environment?": "string", "instance_id?": "string" } as const;

/** `GET /{type}/{id}/audit/attestation/{index}?anchor=`. */
export async function attest(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const { requestId, params: [aggregateType = "", id = "", index = ""] } = call;
  const anchor = new URLSearchParams(call.query).get("anchor") ?? undefined;
  const request = { aggregateType, id, index, anchor };
  return sendOutcome(requestId, await edge.service.audit.attest(tenant, request));
}

/** `GET /_audit/anchors`: newest first. */
export async function listAnchors(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const query = decodePageQuery(new URLSearchParams(call.query));
  if (!query.ok) return sendRefusal(call.requestId, query.refusal);
  return sendOutcome(call.requestId, await edge.service.audit.listAnchors(tenant, query.value));
}

/** `GET /_audit/anchors/{id}`; the id may be `latest`. */
export async function readAnchor(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const { requestId, params: [id = ""] } = call;
  const outcome = await edge.service.audit.readAnchor(tenant, id === "latest" ? undefined : id);
  if (!outcome.ok) return sendRefusal(requestId, outcome.refusal);
  return sendOk(requestId, { anchor: outcome.value });
}

/** `GET /_audit/signing-key`: the current key; with `?all`, every key so far. */
export async function readSigningKey(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const all = readFlag(new URLSearchParams(call.query), "all");
  if (!all.ok) return sendRefusal(call.requestId, all.refusal);
  const keys = await edge.service.audit.listSigningKeys(tenant);
  const { public_key, created_at } = keys.at(-1)!;
  return sendOk(call.requestId, {
    algorithm: ALGORITHM,
    public_key,
    instance_id: tenant.instanceId,
    environment: tenant.environment,
    created_at,
    keys: all.value ? keys : undefined,
  });
}

/** `GET /_audit/platform-key`. */
export async function readPlatformKey(edge: Edge, call: Call): Promise<Response> {
  const key = await edge.service.audit.readPlatformKey();
  return sendOk(call.requestId, { algorithm: ALGORITHM, ...key });
}

/** `GET /_audit/platform-anchors/latest`. */
export async function readPlatformAnchor(edge: Edge, call: Call): Promise<Response> {
  const outcome = await edge.service.audit.readPlatformAnchor();
  if (!outcome.ok) return sendRefusal(call.requestId, outcome.refusal);
  return sendOk(call.requestId, { anchor: outcome.value });
}

/**
 * `POST /_admin/anchors` `{environment?, instance_id?}`: makes an anchor if anything has
 * changed.
 */
export async function makeAnchor(edge: Edge, call: Call, operator: Operator): Promise<Response> {
  const tenant = await findTenant(edge, call, operator);
  if (!tenant.ok) return answerRefused(edge, call, tenant.refusal);
  const { isNew, anchor = null } = await edge.service.audit.makeAnchor(tenant.value);
  return sendOk(call.requestId, { anchor }, isNew ? 201 : 200);
}

/** `POST /_admin/signing-keys` `{environment?, instance_id?}`: replaces the current key. */
export async function rotateSigningKey(
  edge: Edge,
  call: Call,
  operator: Operator,
): Promise<Response> {
  const tenant = await findTenant(edge, call, operator);
  if (!tenant.ok) return answerRefused(edge, call, tenant.refusal);
  const key = await edge.service.audit.rotateSigningKey(tenant.value);
  return sendOk(call.requestId, { algorithm: ALGORITHM, ...key }, 201);
}

async function findTenant(edge: Edge, call: Call, operator: Operator) {
  const body = await readFields(call, PLACE);
  if (!body.ok) return body;
  const environment = decodeEnvironment(
    call.query,
    body.value.environment,
    call.place.environment,
  );
  if (!environment.ok) return environment;
  const { instance_id } = body.value;
  const tenant = await edge.service.access.resolveTenant(operator, instance_id, environment.value);
  if (tenant.ok) call.tenant = tenant.value;
  return tenant;
}
