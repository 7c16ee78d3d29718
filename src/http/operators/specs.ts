/** Specs: deploy, read, history. See docs/reference/specs.md. */

import { Buffer } from "node:buffer";
import { isJsonObject } from "../../domain/json.ts";
import { jsonTextSteps } from "../../domain/json_text_steps.ts";
import { limits } from "../../domain/limits.ts";
import { runInPieces, waitForTurn } from "../../domain/fairness/pieces.ts";
import type { Outcome } from "../../domain/refusal.ts";
import type { SpecVersion } from "../../domain/spec/deployment.ts";
import { sendBare, sendTagged } from "../conditional.ts";
import { operator } from "../endpoint.ts";
import { answerRefused } from "../failure.ts";
import { byteLength, LONG_ANSWER_BYTES_MIN } from "../long_answer.ts";
import { longReadsOf, NO_TURN } from "../long_reads.ts";
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
    const { specs } = edge.service;
    const measured = await specs.measureSpec(tenant.value);
    if (!measured.ok) return sendRefusal(call.requestId, measured.refusal);
    const { bytes, ...version } = measured.value;
    const length = bytes + byteLength(openSpec(version)) + CLOSED_SPEC.length;
    const bare = sendBare(call, contentOf(version), length);
    if (bare !== undefined) return bare;
    const read = async () => {
      // Many that wait for each other would go on in one turn of the event loop.
      if (length >= LONG_ANSWER_BYTES_MIN) await waitForTurn(call.host, true);
      return await specs.readSpecText(tenant.value);
    };
    const found = await longReadsOf(edge.service).run(call.owner, read, lengthOfSpec);
    if (found === undefined) return answerRefused(edge, call, NO_TURN);
    if (!found.ok) return sendRefusal(call.requestId, found.refusal);
    const { text, ...current } = found.value;
    return await sendTagged(call, [openSpec(current), text, CLOSED_SPEC], contentOf(current));
  },
});

function lengthOfSpec(found: Outcome<{ readonly text: string }>): number {
  return found.ok ? found.value.text.length : 0;
}

/** The answer up to the text of the spec, which is sent as it is stored. */
function openSpec({ version, spec_hash, created_at }: SpecVersion): string {
  const fields = JSON.stringify({ ok: true, version, spec_hash, created_at });
  return `${fields.slice(0, -1)},"spec":`;
}

const CLOSED_SPEC = "}";

/**
 * Identifies the answer. A store that was restored to an earlier moment gives the numbers of lost
 * versions again, so the time belongs to it, too.
 */
function contentOf({ version, spec_hash, created_at }: SpecVersion): string {
  return `${version}-${spec_hash}-${Date.parse(created_at).toString(36)}`;
}

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
