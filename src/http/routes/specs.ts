/** Specs: deploy, read, history. See docs/reference/specs.md. */

import { Buffer } from "node:buffer";
import type { Operator } from "../../domain/access/access.ts";
import type { JsonValue } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import type { Call, Edge } from "../call.ts";
import { sendTagged } from "../conditional.ts";
import { readFields } from "../decode/operator.ts";
import { decodePageQuery } from "../decode/query.ts";
import { answerRefused } from "../failure.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";
import { findOperatorTenant } from "./operator_tenant.ts";

const ENVELOPE = {
  spec: "any",
  "force?": "boolean",
  "dry_run?": "boolean",
  "environment?": "string",
} as const;

const AROUND_SPEC = "A spec is sent in an envelope: " +
  '{"spec": {"aggregate_types": {...}}, "environment": "test"}';

/** `POST /api/instances/{id}/spec` `{spec, force?, dry_run?, environment?}`. */
export async function deploySpec(edge: Edge, call: Call, operator: Operator) {
  const { requestId } = call;
  const body = await readFields(call, ENVELOPE, limits.specBodyBytesMax, AROUND_SPEC);
  if (!body.ok) return answerRefused(edge, call, body.refusal);
  const { spec, force = false, dry_run: dryRun = false, environment } = body.value;
  // The limit applies to the spec, not to the white space it was sent with.
  if (exceedsSpecLimit(spec)) {
    const limit = limits.specBytesMax;
    const message = `Spec exceeds ${limit} bytes`;
    return sendRefusal(requestId, { kind: "payload_too_large", message, limit, path: "spec" });
  }
  if (typeof spec !== "object" || spec === null || Array.isArray(spec)) {
    const message = "spec must be an object";
    return sendRefusal(requestId, { kind: "bad_request", message, path: "spec" });
  }
  const tenant = await findOperatorTenant(edge, call, operator, environment);
  if (!tenant.ok) return sendRefusal(requestId, tenant.refusal);
  const request = { spec, force, dryRun };
  return sendOutcome(requestId, await edge.service.specs.deploySpec(tenant.value, request));
}

function exceedsSpecLimit(spec: JsonValue): boolean {
  return Buffer.byteLength(JSON.stringify(spec)) > limits.specBytesMax;
}

/** `GET /api/instances/{id}/spec?environment=`: the current spec. */
export async function readSpec(edge: Edge, call: Call, operator: Operator) {
  const tenant = await findOperatorTenant(edge, call, operator);
  if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
  const spec = await edge.service.specs.readSpec(tenant.value);
  if (!spec.ok) return sendRefusal(call.requestId, spec.refusal);
  return await sendTagged(call, [JSON.stringify({ ok: true, ...spec.value })]);
}

/** `GET /api/instances/{id}/specs?environment=`: all versions, oldest first. */
export async function listSpecs(edge: Edge, call: Call, operator: Operator) {
  const query = decodePageQuery(new URLSearchParams(call.query));
  if (!query.ok) return sendRefusal(call.requestId, query.refusal);
  const tenant = await findOperatorTenant(edge, call, operator);
  if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
  return sendOutcome(call.requestId, await edge.service.specs.listSpecs(tenant.value, query.value));
}
