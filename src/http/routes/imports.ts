/** Imports of backdated events, and their progress. See docs/reference/imports.md. */

import type { Operator } from "../../domain/access/access.ts";
import { type ImportForm, viewImport } from "../../domain/import/progress.ts";
import type { JsonObject } from "../../domain/json.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { ImportService } from "../../features/imports/imports_service.ts";
import { sendOk, sendText } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { checkFileHeaders, readPieces } from "../decode/file_body.ts";
import { decodeImportQuery, linesOf, readImportBody } from "../decode/import.ts";
import { parseJsonText } from "../decode/json_text.ts";
import { decodePageQuery } from "../decode/query.ts";
import { answerFailure, answerRefused } from "../failure.ts";
import { describeRefusal, sendOutcome, sendRefusal } from "../reply.ts";
import { tellProgress } from "../told_progress.ts";
import { findNamedTenant } from "./operator_tenant.ts";

type Request = Parameters<ImportService["run"]>[1];
type Outcome = Awaited<ReturnType<ImportService["run"]>>;
type Progress = NonNullable<Outcome["progress"]>;

/** `POST /_admin/import` `{environment?, instance_id?, import_id?, events}`. */
export async function importEvents(edge: Edge, call: Call, operator: Operator): Promise<Response> {
  const body = await readImportBody(call);
  if (!body.ok) return answerRefused(edge, call, body.refusal);
  const tenant = await findNamedTenant(edge, call, operator, body.value);
  if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
  const { importId, events } = body.value;
  const outcome = await edge.service.imports.run(tenant.value, {
    form: "import",
    importId,
    async *pieces() {
      yield* linesOf(events);
    },
    parse: (text) => parseJsonText(text, { turns: call.host }, "An event"),
  });
  return answer(edge, call, outcome, "import");
}

/** `POST /_admin/import_jsonl?environment=&instance_id=&import_id=&progress=`: one event a line. */
export function importLines(edge: Edge, call: Call, operator: Operator): Promise<Response> {
  return importFile(edge, call, operator, "import_jsonl");
}

/** `POST /_admin/cold_start`: the same, but only into an empty environment. */
export function coldStart(edge: Edge, call: Call, operator: Operator): Promise<Response> {
  return importFile(edge, call, operator, "cold_start");
}

async function importFile(
  edge: Edge,
  call: Call,
  operator: Operator,
  form: ImportForm,
): Promise<Response> {
  const { requestId, request } = call;
  const headers = checkFileHeaders(request.headers);
  if (!headers.ok) return sendRefusal(requestId, headers.refusal);
  const query = decodeImportQuery(call.query);
  if (!query.ok) return sendRefusal(requestId, query.refusal);
  const tenant = await findNamedTenant(edge, call, operator);
  if (!tenant.ok) return sendRefusal(requestId, tenant.refusal);
  const { importId, isTold } = query.value;
  const asked: Request = {
    form,
    importId,
    pieces: (stopping) => readPieces(request.body, stopping),
    parse: (text) => parseJsonText(text, { turns: call.host }, "The line"),
  };
  if (!isTold) return await run(edge, call, tenant.value, asked);
  return await tellProgress(edge.host, requestId, async (tell) => {
    const told = { ...asked, onProgress: (progress: Progress) => tell(describe(progress)) };
    try {
      return await run(edge, call, tenant.value, told);
    } catch (error) {
      // The head of the answer may already have been sent.
      return answerFailure(edge, call, error);
    }
  });
}

async function run(edge: Edge, call: Call, tenant: Tenant, request: Request): Promise<Response> {
  return answer(edge, call, await edge.service.imports.run(tenant, request), request.form);
}

function describe({ record, written }: Progress): JsonObject {
  return { written, import: { ...viewImport(record) } };
}

function answer(edge: Edge, call: Call, outcome: Outcome, form: ImportForm): Response {
  if (outcome.ok) return sendOk(call.requestId, describe(outcome.progress));
  const { refusal, line, progress } = outcome;
  const more: JsonObject = { ...progress && describe(progress) };
  if (line !== undefined && form === "import") more.event_index = line - 1;
  else if (line !== undefined) more.line = line;
  const { status, body } = describeRefusal(refusal);
  // A type named by a line is part of the body, so a missing one is not a missing path.
  if (status !== 404) return answerRefused(edge, call, refusal, more);
  return sendText(call.requestId, 422, JSON.stringify({ ok: false, ...body, ...more }));
}

/** `GET /_admin/imports?environment=&instance_id=`: sorted by id. */
export async function listImports(edge: Edge, call: Call, operator: Operator): Promise<Response> {
  const query = decodePageQuery(new URLSearchParams(call.query));
  if (!query.ok) return sendRefusal(call.requestId, query.refusal);
  const tenant = await findNamedTenant(edge, call, operator);
  if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
  const page = await edge.service.imports.list(tenant.value, query.value);
  return sendOutcome(call.requestId, page);
}

/** `GET /_admin/imports/{id}?environment=&instance_id=`. */
export async function readImport(edge: Edge, call: Call, operator: Operator): Promise<Response> {
  const tenant = await findNamedTenant(edge, call, operator);
  if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
  const found = await edge.service.imports.read(tenant.value, call.params[0]!);
  if (!found.ok) return sendRefusal(call.requestId, found.refusal);
  return sendOk(call.requestId, { import: found.value });
}
