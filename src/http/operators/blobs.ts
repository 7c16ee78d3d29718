/** WebAssembly modules of an environment: upload and listing. See docs/reference/modules.md. */

import { sendOk } from "../answer.ts";
import { operator } from "../endpoint.ts";
import { answerRefused } from "../failure.ts";
import {
  answer,
  array,
  COUNT,
  type FieldSchemas,
  HEX_32,
  input,
  object,
  page,
  TEXT,
  TIME,
} from "../openapi/schema.ts";
import { findNamedTenant, TENANT_FIELDS, TENANT_QUERY } from "../operator_tenant.ts";
import { PAGE_QUERY } from "../parameter.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";
import { readUploadForm } from "./multipart.ts";

const BLOB: FieldSchemas = { name: TEXT, version: COUNT, sha256: HEX_32, exports: array(TEXT) };

export const uploadBlob = operator({
  id: "uploadBlob",
  summary: "Keeps a WebAssembly module as the next version of its blob",
  query: TENANT_QUERY,
  body: input({
    name: TEXT,
    file: { type: "string", contentMediaType: "application/wasm" },
    ...TENANT_FIELDS,
  }),
  bodyForm: "multipart",
  answers: { 201: answer(BLOB) },
  errors: ["not_found", "module_invalid", "blob_incompatible"],
  async run(edge, call, operator, { query }) {
    const form = await readUploadForm(call);
    if (!form.ok) return answerRefused(edge, call, form.refusal);
    const tenant = await findNamedTenant(edge, call, operator, { query, body: form.value });
    if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
    const { name, file } = form.value;
    const outcome = await edge.service.specs.uploadBlob(tenant.value, name, file);
    if (!outcome.ok) return answerRefused(edge, call, outcome.refusal);
    const { version, sha256, exports } = outcome.value;
    return sendOk(call.requestId, { name, version, sha256, exports }, 201);
  },
});

export const listBlobs = operator({
  id: "listBlobs",
  summary: "All versions of all blobs",
  query: { ...PAGE_QUERY, ...TENANT_QUERY },
  answers: { 200: page(object({ ...BLOB, bytes: COUNT, created_at: TIME })) },
  errors: ["not_found"],
  async run(edge, call, operator, asked) {
    const tenant = await findNamedTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
    const page = await edge.service.specs.listBlobs(tenant.value, asked.query);
    return sendOutcome(call.requestId, page);
  },
});
