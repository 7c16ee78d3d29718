/** Decodes the body of a query: `{sql, params?, stale?}`. See docs/reference/projections.md. */

import { describeKind, isJsonObject, type JsonObject, type JsonValue } from "../../domain/json.ts";
import type { QueryRequest } from "../../domain/projection/check_query.ts";
import type { SqlArgument, SqlArguments } from "../../domain/projection/sql_parameters.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import { checkFields } from "./operator.ts";

export function decodeQueryBody(body: JsonObject): Outcome<QueryRequest> {
  const fields = checkFields(body, { sql: "string", "params?": "any", "stale?": "boolean" });
  if (!fields.ok) return fields;
  const params = decodeParams(fields.value.params ?? []);
  if (!params.ok) return params;
  const { sql, stale = false } = fields.value;
  return accept({ sql, params: params.value, ...(stale && { stale }) });
}

function decodeParams(params: JsonValue): Outcome<SqlArguments> {
  if (!Array.isArray(params) && !isJsonObject(params)) {
    const message = "params must be an array for ?, or an object for :name";
    return refuse({ kind: "bad_request", message, path: "params" });
  }
  for (const [name, value] of Object.entries(params)) {
    if (isScalar(value)) continue;
    const path = `params.${name}`;
    const message = `${path} must be a string, a number, a boolean or null; it is ` +
      `${describeKind(value)}`;
    return refuse({ kind: "bad_request", message, path });
  }
  return accept(params as SqlArguments);
}

function isScalar(value: JsonValue): value is SqlArgument {
  return typeof value !== "object" || value === null;
}
