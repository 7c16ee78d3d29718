/** Specs: deploy, read, history. See docs/reference/specs.md. */

import { Buffer } from "node:buffer";
import { isJsonObject } from "../../domain/json.ts";
import { jsonTextSteps } from "../../domain/json_text_steps.ts";
import { limits } from "../../domain/limits.ts";
import { runInPieces } from "../../domain/fairness/pieces.ts";
import { sendTagged } from "../conditional.ts";
import { operator } from "../endpoint.ts";
import {
  answer,
  ANYTHING,
  array,
  BOOLEAN,
  COUNT,
  type FieldSchemas,
  FREE_OBJECT,
  HEX_32,
  object,
  page,
  type Schema,
  TEXT,
  TIME,
} from "../openapi/schema.ts";
import { ENVIRONMENT_FIELDS, ENVIRONMENT_QUERY, findOperatorTenant } from "../operator_tenant.ts";
import { PAGE_QUERY } from "../parameter.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";

const NUMBER: Schema = { type: "integer", minimum: 1 };
const VERSION: FieldSchemas = { version: NUMBER, spec_hash: HEX_32, created_at: TIME };

const CHECK_DATA = {
  ...BOOLEAN,
  description: "Only with `dry_run`: tries the spec on stored data",
} as const satisfies Schema;

/** What a new spec would do to stored data. */
const DATA_CHECK = object({
  events: COUNT,
  refused: array(object({
    event_type: TEXT,
    count: COUNT,
    examples: array(object({
      key: TEXT,
      id: TEXT,
      details: array(object({ path: TEXT, message: TEXT })),
    })),
  })),
  aggregates: COUNT,
  changed: array(object({
    type: TEXT,
    count: COUNT,
    examples: array(object({ key: TEXT, before: ANYTHING, after: ANYTHING, "error?": TEXT })),
  })),
  "guards?": object({
    judged: COUNT,
    failed: array(object({
      event_type: TEXT,
      guard: COUNT,
      message: TEXT,
      count: COUNT,
      examples: array(object({ key: TEXT, id: TEXT })),
    })),
    untried: COUNT,
  }),
  complete: BOOLEAN,
});

export const deploySpec = operator({
  id: "deploySpec",
  summary: "Deploys a spec to one environment",
  query: ENVIRONMENT_QUERY,
  fields: {
    spec: FREE_OBJECT,
    "force?": BOOLEAN,
    "dry_run?": BOOLEAN,
    "check_data?": CHECK_DATA,
    ...ENVIRONMENT_FIELDS,
  },
  bytesMax: limits.specBodyBytesMax,
  hint: "A spec is sent in an envelope: " +
    '{"spec": {"aggregate_types": {...}}, "environment": "test"}',
  example: {
    spec: {
      agent_types: ["user"],
      aggregate_types: {
        order: {
          events: {
            was_noted: {
              schema: true,
              handler: [{ set: { target: "text", value: "$.data.text" } }],
            },
          },
        },
      },
    },
    environment: "test",
    dry_run: true,
  },
  answers: {
    200: answer({
      spec_hash: HEX_32,
      version: NUMBER,
      changes: array(TEXT),
      warnings: array(object({ rule: TEXT, path: TEXT, message: TEXT, hint: TEXT })),
      "data_check?": DATA_CHECK,
    }),
  },
  errors: ["not_found", "spec_invalid", "spec_incompatible"],
  async run(edge, call, operator, asked) {
    const { requestId } = call;
    const { spec, force = false, dry_run: dryRun = false, check_data: checkData } = asked.body;
    if (!isJsonObject(spec)) {
      const message = "spec must be an object";
      return sendRefusal(requestId, { kind: "bad_request", message, path: "spec" });
    }
    // The limit applies to the spec, not to the white space it was sent with.
    const limit = limits.specBytesMax;
    if (Buffer.byteLength(await runInPieces(jsonTextSteps(spec, limit), call.host)) > limit) {
      const message = `Spec exceeds ${limit} bytes`;
      return sendRefusal(requestId, { kind: "payload_too_large", message, limit, path: "spec" });
    }
    if (checkData && !dryRun) {
      const message = "check_data is for dry runs: send dry_run too";
      return sendRefusal(requestId, { kind: "bad_request", message, path: "check_data" });
    }
    const tenant = await findOperatorTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(requestId, tenant.refusal);
    const request = { spec, force, dryRun, checkData };
    return sendOutcome(requestId, await edge.service.specs.deploySpec(tenant.value, request));
  },
});

export const readSpec = operator({
  id: "readSpec",
  summary: "The current spec of an environment",
  isTagged: true,
  query: ENVIRONMENT_QUERY,
  answers: { 200: answer({ ...VERSION, spec: FREE_OBJECT }) },
  errors: ["not_found"],
  async run(edge, call, operator, asked) {
    const tenant = await findOperatorTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
    const spec = await edge.service.specs.readSpec(tenant.value);
    if (!spec.ok) return sendRefusal(call.requestId, spec.refusal);
    return await sendTagged(call, [JSON.stringify({ ok: true, ...spec.value })]);
  },
});

export const listSpecs = operator({
  id: "listSpecs",
  summary: "All versions of the spec of an environment, oldest first",
  query: { ...PAGE_QUERY, ...ENVIRONMENT_QUERY },
  answers: { 200: page(object(VERSION)) },
  errors: ["not_found"],
  async run(edge, call, operator, asked) {
    const tenant = await findOperatorTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
    const page = await edge.service.specs.listSpecs(tenant.value, asked.query);
    return sendOutcome(call.requestId, page);
  },
});
