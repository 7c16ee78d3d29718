/**
 * Projections: deploy, list and delete; rows, pages of rows and CSV.
 *
 * See docs/reference/projections.md.
 */

import type { Operator } from "../../domain/access/access.ts";
import { limits } from "../../domain/limits.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { RowPage, RowView } from "../../domain/projection/status.ts";
import { sendOk, sendText } from "../answer.ts";
import type { Call, Edge } from "../call.ts";
import { mayCompress } from "../compress.ts";
import { readFields } from "../decode/operator.ts";
import { decodePageQuery, readFlag } from "../decode/query.ts";
import { answerRefused } from "../failure.ts";
import { pageOf } from "../list_page.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";
import { findOperatorTenant } from "./operator_tenant.ts";

const ENVELOPE = { projection: "any", "environment?": "string" } as const;
const STATUS_CREATED = 201;

/**
 * `POST /api/instances/{id}/projections` `{projection, environment?}`: 200 if it exists
 * unchanged.
 */
export async function deployProjection(edge: Edge, call: Call, operator: Operator) {
  const { requestId } = call;
  const body = await readFields(call, ENVELOPE, limits.projectionBodyBytesMax);
  if (!body.ok) return answerRefused(edge, call, body.refusal);
  const { projection, environment } = body.value;
  if (typeof projection !== "object" || projection === null || Array.isArray(projection)) {
    const message = "projection must be an object";
    return sendRefusal(requestId, { kind: "bad_request", message, path: "projection" });
  }
  const tenant = await findOperatorTenant(edge, call, operator, environment);
  if (!tenant.ok) return sendRefusal(requestId, tenant.refusal);
  const { projections } = edge.service;
  const outcome = await projections.deploy(tenant.value, projection);
  if (!outcome.ok) return sendRefusal(requestId, outcome.refusal);
  const { name, isNew } = outcome.value;
  const status = (await projections.list(tenant.value)).find((each) => each.name === name);
  return sendOk(requestId, { projection: status ?? null }, isNew ? STATUS_CREATED : 200);
}

/** `GET /api/instances/{id}/projections?environment=`: sorted by name. */
export async function listProjections(edge: Edge, call: Call, operator: Operator) {
  const query = decodePageQuery(new URLSearchParams(call.query));
  if (!query.ok) return sendRefusal(call.requestId, query.refusal);
  const tenant = await findOperatorTenant(edge, call, operator);
  if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
  const statuses = await edge.service.projections.list(tenant.value);
  return sendOk(call.requestId, pageOf(statuses, ({ name }) => name, query.value));
}

/** `DELETE /api/instances/{id}/projections/{name}?environment=`. */
export async function deleteProjection(edge: Edge, call: Call, operator: Operator) {
  const { requestId, params: [, name = ""] } = call;
  const tenant = await findOperatorTenant(edge, call, operator);
  if (!tenant.ok) return sendRefusal(requestId, tenant.refusal);
  return sendOutcome(requestId, await edge.service.projections.remove(tenant.value, name));
}

/** `GET /_projections/{name}/{key}?synchronous=&stale=`. */
export async function readRow(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const { requestId, params: [name = "", key = ""] } = call;
  const query = new URLSearchParams(call.query);
  const synchronous = readFlag(query, "synchronous");
  if (!synchronous.ok) return sendRefusal(requestId, synchronous.refusal);
  const stale = readFlag(query, "stale");
  if (!stale.ok) return sendRefusal(requestId, stale.refusal);
  const request = { name, key, synchronous: synchronous.value, stale: stale.value };
  const outcome = await edge.service.projections.readRow(tenant, request);
  if (!outcome.ok) return answerRefused(edge, call, outcome.refusal);
  return sendRows(edge, requestId, outcome.value);
}

/** Sends rows, with the lag in a header. */
function sendRows(edge: Edge, requestId: string, { lag = 0, ...body }: RowView | RowPage) {
  const text = JSON.stringify({ ok: true, ...body });
  return sendText(requestId, 200, text, lagHeader(edge, lag, body.stale));
}

/** `GET /_projections/{name}?limit=&start=&stale=`: rows sorted by key. */
export async function listRows(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  // Also serves the projection named `query`, whose path has another method of its own.
  const { requestId, params: [name = "query"] } = call;
  const search = new URLSearchParams(call.query);
  const query = decodePageQuery(search);
  if (!query.ok) return sendRefusal(requestId, query.refusal);
  const stale = readFlag(search, "stale");
  if (!stale.ok) return sendRefusal(requestId, stale.refusal);
  const { projections } = edge.service;
  const outcome = await projections.listRows(tenant, name, query.value, stale.value);
  if (!outcome.ok) return answerRefused(edge, call, outcome.refusal);
  return sendRows(edge, requestId, outcome.value);
}

/** `GET /_projections/{name}/export.csv?columns=a,b&formulas=text&stale=true`. */
export async function exportCsv(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const { requestId, request, params: [name = ""] } = call;
  const query = new URLSearchParams(call.query);
  const columns = query.get("columns")?.split(",");
  const formulas = query.get("formulas") ?? "keep";
  if (formulas !== "keep" && formulas !== "text") {
    const message = `formulas must be keep or text, not ${JSON.stringify(formulas)}`;
    return sendRefusal(requestId, { kind: "bad_request", message, path: "formulas" });
  }
  const stale = readFlag(query, "stale");
  if (!stale.ok) return sendRefusal(requestId, stale.refusal);
  const wanted = { name, columns, formulasAsText: formulas === "text", stale: stale.value };
  const outcome = await edge.service.projections.exportCsv(tenant, wanted);
  if (!outcome.ok) return answerRefused(edge, call, outcome.refusal);
  const { lag, stale: isStale, pages } = outcome.value;
  const headers: Record<string, string> = {
    "content-type": "text/csv; charset=utf-8; header=present",
    "content-disposition": `attachment; filename="${name}.csv"`,
    "x-request-id": requestId,
    "access-control-allow-origin": "*",
    ...lagHeader(edge, lag, isStale),
  };
  // HEAD reads no rows: the length is not known before the export ends.
  if (request.method === "HEAD") return new Response(null, { headers });
  return mayCompress(new Response(ReadableStream.from(pages), { headers }));
}

/** A header that says how many of the latest commits an answer may lack. */
export function lagHeader(
  { options }: Edge,
  commits: number,
  isStale = false,
): Record<string, string> {
  if (commits === 0 && !isStale) return {};
  return { [`X-${options.headerPrefix}-Projection-Lag`]: String(commits) };
}
