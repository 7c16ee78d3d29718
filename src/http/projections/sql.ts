/** SQL over projections. See docs/reference/queries.md. */

import { describeKind, isJsonObject, type JsonValue } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import {
  hasTooManyParameters,
  type SqlArgument,
  type SqlArguments,
  TOO_MANY_PARAMETERS,
} from "../../domain/projection/check_query.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { sendParts } from "../answer.ts";
import { read } from "../endpoint.ts";
import { answerRefused } from "../failure.ts";
import { badField } from "../fields.ts";
import {
  answer,
  array,
  BOOLEAN,
  COUNT,
  FREE_OBJECT,
  type Schema,
  TEXT,
} from "../openapi/schema.ts";
import { sendRefusal } from "../reply.ts";
import { lagHeader } from "./projections.ts";

const SCALARS = { type: ["string", "number", "boolean", "null"] };
const PARAMS: Schema = {
  description: "An array for ?, an object for :name",
  anyOf: [{ type: "array", items: SCALARS }, { type: "object", additionalProperties: SCALARS }],
};

const encoder = new TextEncoder();
const START = encoder.encode('{"ok":true,');
const STALE_START = encoder.encode('{"ok":true,"stale":true,');
const END = encoder.encode("}");

export const queryProjections = read({
  id: "queryProjections",
  summary: "Runs one SQL statement that reads tables named as the projections",
  fields: { sql: TEXT, "params?": PARAMS, "stale?": BOOLEAN },
  bytesMax: limits.sqlBodyBytesMax,
  example: { sql: "SELECT text FROM orders WHERE text = ?", params: ["Rings twice"] },
  answers: {
    200: answer({
      columns: array(TEXT),
      rows: array(FREE_OBJECT),
      row_count: COUNT,
      truncated: BOOLEAN,
      "stale?": { const: true },
    }),
  },
  errors: ["sql_not_allowed", "sql_timeout", "sql_unavailable", "projection_broken"],
  async run(edge, call, tenant, { body }) {
    const { requestId } = call;
    const params = decodeParams(body.params ?? []);
    if (!params.ok) return sendRefusal(requestId, params.refusal);
    const request = { sql: body.sql, params: params.value, ...(body.stale && { stale: true }) };
    const outcome = await edge.service.sql.query(tenant, request);
    if (!outcome.ok) return answerRefused(edge, call, outcome.refusal);
    const { fields, lag, stale } = outcome.value;
    const start = stale ? STALE_START : START;
    return sendParts(requestId, [start, fields, END], lagHeader(edge, lag, stale));
  },
});

function decodeParams(params: JsonValue): Outcome<SqlArguments> {
  if (!Array.isArray(params) && !isJsonObject(params)) {
    return badField("params", "params must be an array for ?, or an object for :name");
  }
  if (hasTooManyParameters(params)) {
    return refuse({ kind: "sql_not_allowed", message: TOO_MANY_PARAMETERS });
  }
  for (const [name, value] of Object.entries(params)) {
    if (isScalar(value)) continue;
    const path = `params.${name}`;
    const message = `${path} must be a string, a number, a boolean or null; it is ` +
      `${describeKind(value)}`;
    return badField(path, message);
  }
  return accept(params as SqlArguments);
}

function isScalar(value: JsonValue): value is SqlArgument {
  return typeof value !== "object" || value === null;
}
