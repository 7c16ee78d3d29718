/** OpenAPI rows of the calls for operators. See docs/reference/operators.md. */

import { TIERS } from "../../../domain/access/access.ts";
import type { Operations } from "../operation.ts";
import {
  answer,
  array,
  BOOLEAN,
  choice,
  COUNT,
  ENVIRONMENT,
  type FieldSchemas,
  FREE_OBJECT,
  HEX_32,
  input,
  object,
  page,
  PAGING,
  TENANT,
  TEXT,
  TIME,
} from "../schema.ts";

const CREDENTIALS = input({ email: TEXT, password: { type: "string", format: "password" } });
const TIER = choice(TIERS);
const SCOPE = choice(["read", "write"]);
const INSTANCE: FieldSchemas = { id: TEXT, slug: TEXT, tier: TIER, created_at: TIME };
const VERSION: FieldSchemas = {
  version: { type: "integer", minimum: 1 },
  spec_hash: HEX_32,
  created_at: TIME,
};
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
const BLOB: FieldSchemas = { name: TEXT, version: COUNT, sha256: HEX_32, exports: array(TEXT) };

export const OPERATORS: Operations = {
  "POST /api/login": {
    id: "logIn",
    summary: "An operator token for email and password",
    body: CREDENTIALS,
    answers: { 200: answer({ token: TEXT, expires_at: TIME }) },
    errors: ["unauthorized", "login_locked"],
  },
  "POST /api/users": {
    id: "addUser",
    summary: "Adds an account that may log in",
    body: CREDENTIALS,
    answers: { 201: answer({ email: TEXT }) },
    errors: ["operator_input_invalid", "already_exists"],
  },
  "GET /api/instances": {
    id: "listInstances",
    summary: "The instances that the token covers",
    query: PAGING,
    answers: { 200: page(object(INSTANCE)) },
  },
  "POST /api/instances": {
    id: "createInstance",
    summary: "Makes an instance",
    body: input({ slug: TEXT, "tier?": TIER }),
    answers: { 201: answer(INSTANCE) },
    errors: ["operator_input_invalid", "already_exists"],
  },
  "GET /api/instances/{id}": {
    id: "readInstance",
    summary: "One instance",
    answers: { 200: answer(INSTANCE) },
    errors: ["not_found"],
  },
  "PATCH /api/instances/{id}": {
    id: "changeTier",
    summary: "Changes the tier of an instance",
    body: input({ tier: TIER }),
    answers: { 200: answer(INSTANCE) },
    errors: ["not_found", "operator_input_invalid"],
  },
  "POST /api/instances/{id}/spec": {
    id: "deploySpec",
    summary: "Deploys a spec to one environment",
    query: ENVIRONMENT,
    body: input({ spec: FREE_OBJECT, ...ENVIRONMENT, "force?": BOOLEAN, "dry_run?": BOOLEAN }),
    answers: {
      200: answer({
        spec_hash: HEX_32,
        version: VERSION.version!,
        changes: array(TEXT),
        warnings: array(object({ rule: TEXT, path: TEXT, message: TEXT, hint: TEXT })),
      }),
    },
    errors: ["not_found", "spec_invalid", "spec_incompatible"],
  },
  "GET /api/instances/{id}/spec": {
    id: "readSpec",
    summary: "The current spec of an environment",
    isTagged: true,
    query: ENVIRONMENT,
    answers: { 200: answer({ ...VERSION, spec: FREE_OBJECT }) },
    errors: ["not_found"],
  },
  "GET /api/instances/{id}/specs": {
    id: "listSpecs",
    summary: "All versions of the spec of an environment, oldest first",
    query: { ...PAGING, ...ENVIRONMENT },
    answers: { 200: page(object(VERSION)) },
    errors: ["not_found"],
  },
  "GET /api/instances/{id}/usage": {
    id: "readUsage",
    summary: "Events of a month, and how many the plan allows",
    query: { ...ENVIRONMENT, "month?": { type: "string", description: "Such as `2030-01`" } },
    answers: {
      200: answer({
        instance_id: TEXT,
        environment: TEXT,
        tier: TIER,
        month: TEXT,
        events_written: COUNT,
        limit: { type: ["integer", "null"], minimum: 0 },
        resets_at: TIME,
      }),
    },
    errors: ["bad_request", "not_found"],
  },
  "GET /api/instances/{id}/keys": {
    id: "listApiKeys",
    summary: "API keys, never their text",
    query: { ...PAGING, ...ENVIRONMENT },
    answers: { 200: page(object(API_KEY)) },
    errors: ["not_found"],
  },
  "POST /api/instances/{id}/keys": {
    id: "issueApiKey",
    summary: "Makes an API key",
    query: ENVIRONMENT,
    body: input({ name: TEXT, scope: SCOPE, ...ENVIRONMENT }),
    answers: { 201: NEW_KEY },
    errors: ["not_found", "operator_input_invalid"],
  },
  "DELETE /api/keys/{id}": {
    id: "revokeApiKey",
    summary: "Ends an API key now",
    answers: { 200: answer({}) },
    errors: ["not_found"],
  },
  "POST /api/keys/{id}/rotate": {
    id: "rotateApiKey",
    summary: "A new text for an API key; the old one ends at once",
    body: input({}),
    bodyForm: "optional json",
    answers: { 201: NEW_KEY },
    errors: ["not_found"],
  },
  "POST /api/keys/{id}/schedule_revocation": {
    id: "scheduleRevocation",
    summary: "Sets when an API key ends",
    body: input({ revoke_at: TIME }),
    answers: { 200: answer(API_KEY) },
    errors: ["not_found", "operator_input_invalid"],
  },
  "POST /_admin/blobs": {
    id: "uploadBlob",
    summary: "Keeps a WebAssembly module as the next version of its blob",
    query: TENANT,
    body: input({
      name: TEXT,
      file: { type: "string", contentMediaType: "application/wasm" },
      ...TENANT,
    }),
    bodyForm: "multipart",
    answers: { 201: answer(BLOB) },
    errors: ["not_found", "module_invalid", "blob_incompatible"],
  },
  "GET /_admin/blobs": {
    id: "listBlobs",
    summary: "All versions of all blobs",
    query: { ...PAGING, ...TENANT },
    answers: { 200: page(object({ ...BLOB, bytes: COUNT, created_at: TIME })) },
    errors: ["not_found"],
  },
  "POST /_admin/debug": {
    id: "setDebug",
    summary: "Turns traces of module calls on or off",
    query: TENANT,
    body: input({ wasm_trace: BOOLEAN, ...TENANT }),
    answers: { 200: answer({ wasm_trace: BOOLEAN }) },
    errors: ["not_found"],
  },
  "GET /_admin/debug": {
    id: "readDebug",
    summary: "The module calls traced, newest first",
    query: TENANT,
    answers: {
      200: answer({
        wasm_trace: BOOLEAN,
        data: array(object({
          at: TIME,
          purpose: choice(["read", "rebuild", "write", "implication"]),
          blob: TEXT,
          version: COUNT,
          entrypoint: TEXT,
          event_type: TEXT,
          calls: COUNT,
          milliseconds: { type: "number" },
          input_bytes: COUNT,
          output_bytes: COUNT,
          end: TEXT,
        })),
      }),
    },
    errors: ["not_found"],
  },
};
