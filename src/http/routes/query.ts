/** `POST /_projections/query`: SQL over projections. See docs/reference/projections.md. */

import { limits } from "../../domain/limits.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { Call, Edge } from "../call.ts";
import { sendParts } from "../answer.ts";
import { readJsonBody } from "../decode/body.ts";
import { decodeQueryBody } from "../decode/sql.ts";
import { answerRefused } from "../failure.ts";
import { sendRefusal } from "../reply.ts";
import { lagHeader } from "./projections.ts";

const encoder = new TextEncoder();
const START = encoder.encode('{"ok":true,');
const STALE_START = encoder.encode('{"ok":true,"stale":true,');
const END = encoder.encode("}");

export async function queryViews(edge: Edge, call: Call, tenant: Tenant): Promise<Response> {
  const { requestId } = call;
  const body = await readJsonBody(call, limits.sqlBodyBytesMax);
  if (!body.ok) return answerRefused(edge, call, body.refusal);
  const request = decodeQueryBody(body.value);
  if (!request.ok) return sendRefusal(requestId, request.refusal);
  const outcome = await edge.service.sql.query(tenant, request.value);
  if (!outcome.ok) return answerRefused(edge, call, outcome.refusal);
  const { fields, lag, stale } = outcome.value;
  const start = stale ? STALE_START : START;
  return sendParts(requestId, [start, fields, END], lagHeader(edge, lag, stale));
}
