/** API keys: list, issue, rotate, revoke. See docs/reference/operators.md. */

import { sendOk } from "../answer.ts";
import { operator } from "../endpoint.ts";
import { pageLimit, pageOf } from "../../domain/list_page.ts";
import { answer, choice, type FieldSchemas, object, page, TEXT, TIME } from "../openapi/schema.ts";
import { ENVIRONMENT_FIELDS, ENVIRONMENT_QUERY, findOperatorTenant } from "../operator_tenant.ts";
import { PAGE_QUERY } from "../parameter.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";

const SCOPE = choice(["read", "write"]);
const API_KEY: FieldSchemas = {
  id: TEXT,
  name: TEXT,
  scope: SCOPE,
  environment: TEXT,
  created_at: TIME,
  "revoke_at?": TIME,
};
const NEW_KEY = answer({
  ...API_KEY,
  key: { type: "string", description: "Shown here once and kept nowhere" },
});

export const listApiKeys = operator({
  id: "listApiKeys",
  summary: "API keys, never their text",
  query: { ...PAGE_QUERY, ...ENVIRONMENT_QUERY },
  answers: { 200: page(object(API_KEY)) },
  errors: ["not_found"],
  async run(edge, call, operator, asked) {
    const tenant = await findOperatorTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
    const { limit, start } = asked.query;
    // One more shows whether anything follows.
    const page = { limit: pageLimit(limit) + 1, ...(start !== undefined && { start }) };
    const keys = await edge.service.access.listApiKeys(tenant.value, page);
    return sendOk(call.requestId, pageOf(keys, (key) => key.id, asked.query));
  },
});

/** The only answer, with that of `rotateApiKey`, that shows the key. */
export const issueApiKey = operator({
  id: "issueApiKey",
  summary: "Makes an API key",
  query: ENVIRONMENT_QUERY,
  fields: { name: TEXT, scope: SCOPE, ...ENVIRONMENT_FIELDS },
  example: { name: "shop front", scope: "write", environment: "test" },
  answers: { 201: NEW_KEY },
  errors: ["not_found", "operator_input_invalid"],
  async run(edge, call, operator, asked) {
    const { requestId } = call;
    const { name, scope } = asked.body;
    if (scope !== "read" && scope !== "write") {
      const message = "scope must be read or write";
      return sendRefusal(requestId, { kind: "operator_input_invalid", path: "scope", message });
    }
    const tenant = await findOperatorTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(requestId, tenant.refusal);
    const outcome = await edge.service.access.issueApiKey(tenant.value, name, scope);
    return sendOutcome(requestId, outcome, 201);
  },
});

export const rotateApiKey = operator({
  id: "rotateApiKey",
  summary: "A new text for an API key; the old one ends at once",
  fields: {},
  bodyForm: "optional json",
  example: {},
  answers: { 201: NEW_KEY },
  errors: ["not_found"],
  async run(edge, { requestId, params: [keyId = ""] }, operator) {
    return sendOutcome(requestId, await edge.service.access.rotateApiKey(operator, keyId), 201);
  },
});

export const scheduleRevocation = operator({
  id: "scheduleRevocation",
  summary: "Sets when an API key ends",
  fields: { revoke_at: TIME },
  example: { revoke_at: "2026-12-31T00:00:00Z" },
  answers: { 200: answer(API_KEY) },
  errors: ["not_found", "operator_input_invalid"],
  async run(edge, { requestId, params: [keyId = ""] }, operator, { body: { revoke_at } }) {
    const outcome = await edge.service.access.scheduleRevocation(operator, keyId, revoke_at);
    return sendOutcome(requestId, outcome);
  },
});

export const revokeApiKey = operator({
  id: "revokeApiKey",
  summary: "Ends an API key now",
  answers: { 200: answer({}) },
  errors: ["not_found"],
  async run(edge, { requestId, params: [keyId = ""] }, operator) {
    return sendOutcome(requestId, await edge.service.access.revokeApiKey(operator, keyId));
  },
});
