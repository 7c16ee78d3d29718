/** WebAssembly modules of an environment: upload and listing. See docs/reference/modules.md. */

import type { Operator } from "../../domain/access/access.ts";
import { sendOk } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { readUploadForm } from "../decode/multipart.ts";
import { decodePageQuery } from "../decode/query.ts";
import { answerRefused } from "../failure.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";
import { findNamedTenant } from "./operator_tenant.ts";

/** `POST /_admin/blobs`, multipart `name`, `file`, `environment?`, `instance_id?`. */
export async function uploadBlob(edge: Edge, call: Call, operator: Operator) {
  const form = await readUploadForm(call);
  if (!form.ok) return answerRefused(edge, call, form.refusal);
  const tenant = await findNamedTenant(edge, call, operator, form.value);
  if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
  const { name, file } = form.value;
  const outcome = await edge.service.specs.uploadBlob(tenant.value, name, file);
  if (!outcome.ok) return answerRefused(edge, call, outcome.refusal);
  const { version, sha256, exports } = outcome.value;
  return sendOk(call.requestId, { name, version, sha256, exports }, 201);
}

/** `GET /_admin/blobs?environment=&instance_id=`: all versions, sorted by name and number. */
export async function listBlobs(edge: Edge, call: Call, operator: Operator) {
  const query = decodePageQuery(new URLSearchParams(call.query));
  if (!query.ok) return sendRefusal(call.requestId, query.refusal);
  const tenant = await findNamedTenant(edge, call, operator);
  if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
  const outcome = await edge.service.specs.listBlobs(tenant.value, query.value);
  return sendOutcome(call.requestId, outcome);
}
