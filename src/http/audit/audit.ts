/** Anchors, signing keys and proofs. See docs/reference/audit.md. */

import { sendOk, sendParts } from "../answer.ts";
import { operator, read } from "../endpoint.ts";
import { listBody } from "../long_answer.ts";
import {
  answer,
  array,
  choice,
  COUNT,
  type FieldSchemas,
  HEX_32,
  object,
  page,
  ref,
  TEXT,
  TIME,
} from "../openapi/schema.ts";
import { ENVIRONMENT_QUERY, findNamedTenant, TENANT_FIELDS } from "../operator_tenant.ts";
import { flag, PAGE_QUERY, text } from "../parameter.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";

const ALGORITHM = "ed25519";
const KEY: FieldSchemas = { public_key: HEX_32, created_at: TIME };
const SIGNER: FieldSchemas = { algorithm: { const: ALGORITHM }, ...KEY };
const PROOF: FieldSchemas = {
  siblings: array(HEX_32),
  directions: array(choice(["left", "right"])),
};
const PLATFORM_ANCHOR = object({
  format: { const: 2 },
  id: TEXT,
  merkle_root: HEX_32,
  instance_count: COUNT,
  cutoff_at: TIME,
  created_at: TIME,
  signature: TEXT,
  public_key: HEX_32,
});

export const attest = read({
  id: "attestEvent",
  summary: "The proof of one event",
  query: { anchor: text({ description: "The id of an anchor; default: the newest" }) },
  answers: {
    200: answer({
      format: { const: 2 },
      event: object({ index: COUNT, id: TEXT, raw: TEXT, hash: HEX_32, prev_hash: TEXT }),
      stream: object({ key: TEXT, merkle_root: HEX_32, event_count: COUNT }),
      stream_proof: object(PROOF),
      instance_proof: object({ index: COUNT, stream_count: COUNT, ...PROOF }),
      anchor: ref("Anchor"),
      anchored_at: TIME,
    }),
  },
  errors: [
    "aggregate_type_unknown",
    "identifier_invalid",
    "invalid_index",
    "anchor_not_found",
    "stream_not_found",
    "beyond_anchor_coverage",
    "anchor_format_unsupported",
    "anchor_stream_mismatch",
  ],
  async run(edge, call, tenant, { query: { anchor } }) {
    const { requestId, params: [aggregateType = "", id = "", index = ""] } = call;
    const request = { aggregateType, id, index, anchor };
    return sendOutcome(requestId, await edge.service.audit.attest(tenant, request));
  },
});

export const listAnchors = read({
  id: "listAnchors",
  summary: "The anchors of the environment, newest first",
  query: PAGE_QUERY,
  answers: { 200: page(ref("Anchor")) },
  async run(edge, { requestId }, tenant, { query }) {
    return sendOutcome(requestId, await edge.service.audit.listAnchors(tenant, query));
  },
});

export const readAnchor = read({
  id: "readAnchor",
  summary: "One anchor, or `latest`",
  answers: { 200: answer({ anchor: ref("Anchor") }) },
  errors: ["anchor_not_found"],
  async run(edge, { requestId, params: [id = ""] }, tenant) {
    const outcome = await edge.service.audit.readAnchor(tenant, id === "latest" ? undefined : id);
    if (!outcome.ok) return sendRefusal(requestId, outcome.refusal);
    return sendOk(requestId, { anchor: outcome.value });
  },
});

export const readSigningKey = read({
  id: "readSigningKey",
  summary: "The key that signs anchors",
  query: { all: flag({ description: "Also those before it" }) },
  answers: {
    200: answer({ instance_id: TEXT, environment: TEXT, ...SIGNER, "keys?": array(object(KEY)) }),
  },
  async run(edge, { requestId }, tenant, { query: { all } }) {
    const { audit } = edge.service;
    const keys = all ? await audit.listSigningKeys(tenant) : undefined;
    const { public_key, created_at } = keys?.at(-1) ?? await audit.readSigningKey(tenant);
    const fields = {
      algorithm: ALGORITHM,
      public_key,
      instance_id: tenant.instanceId,
      environment: tenant.environment,
      created_at,
    };
    if (keys === undefined) return sendOk(requestId, fields);
    const head = `{"ok":true,${JSON.stringify(fields).slice(1, -1)},"keys":[`;
    const textOf = (key: object) => JSON.stringify(key);
    return sendParts(requestId, await listBody(keys, textOf, [head, "]}"], edge.host));
  },
});

export const readPlatformKey = read({
  id: "readPlatformKey",
  summary: "The key that signs anchors over all instances",
  answers: { 200: answer(SIGNER) },
  async run(edge, { requestId }) {
    const key = await edge.service.audit.readPlatformKey();
    return sendOk(requestId, { algorithm: ALGORITHM, ...key });
  },
});

export const readPlatformAnchor = read({
  id: "readPlatformAnchor",
  summary: "The newest anchor over all instances",
  answers: { 200: answer({ anchor: PLATFORM_ANCHOR }) },
  errors: ["anchor_not_found"],
  async run(edge, { requestId }) {
    const outcome = await edge.service.audit.readPlatformAnchor();
    if (!outcome.ok) return sendRefusal(requestId, outcome.refusal);
    return sendOk(requestId, { anchor: outcome.value });
  },
});

export const makeAnchor = operator({
  id: "makeAnchor",
  summary: "Makes an anchor now",
  query: ENVIRONMENT_QUERY,
  fields: TENANT_FIELDS,
  example: { environment: "test" },
  answers: {
    200: answer({ anchor: { anyOf: [ref("Anchor"), { type: "null" }] } }),
    201: answer({ anchor: ref("Anchor") }),
  },
  errors: ["not_found"],
  async run(edge, call, operator, asked) {
    const tenant = await findNamedTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
    const { isNew, anchor = null } = await edge.service.audit.makeAnchor(tenant.value);
    return sendOk(call.requestId, { anchor }, isNew ? 201 : 200);
  },
});

export const rotateSigningKey = operator({
  id: "rotateSigningKey",
  summary: "A new key for the anchors of the instance",
  query: ENVIRONMENT_QUERY,
  fields: TENANT_FIELDS,
  example: { environment: "test" },
  answers: { 201: answer(SIGNER) },
  errors: ["not_found"],
  async run(edge, call, operator, asked) {
    const tenant = await findNamedTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
    const key = await edge.service.audit.rotateSigningKey(tenant.value);
    return sendOk(call.requestId, { algorithm: ALGORITHM, ...key }, 201);
  },
});
