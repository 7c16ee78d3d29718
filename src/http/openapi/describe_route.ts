/** Describes one route and its row as an Operation Object of OpenAPI 3.1. */

import type { JsonObject } from "../../domain/json.ts";
import type { Route } from "../call.ts";
import type { Query } from "../parameter.ts";
import { refusalSchema } from "./error_schemas.ts";
import { type ErrorName, ERRORS } from "./errors.ts";
import type { BodyForm, Operation } from "./operation.ts";
import type { FieldSchemas, Schema } from "./schema.ts";

const JSON_TYPE = "application/json";

const BODY_TYPES: Readonly<Record<BodyForm, string>> = {
  "json": JSON_TYPE,
  "optional json": JSON_TYPE,
  "multipart": "multipart/form-data",
  "json lines": "application/x-ndjson",
};

/** The credentials for each kind of access; the kinds not listed need none. */
const SECURITY: Partial<Record<Route["access"], readonly JsonObject[]>> = {
  read: [{ apiKey: [] }, { operatorToken: [] }],
  write: [{ apiKey: [] }],
  operator: [{ operatorToken: [] }],
  metrics: [{ operatorToken: [] }, {}],
};

const THROWN: readonly ErrorName[] = ["internal", "store_away", "server_stopping", "no_room"];
/** Unknown query parameters are refused on every route. */
const BY_QUERY: readonly ErrorName[] = ["bad_request"];
const CALLERS: readonly ErrorName[] = ["rate_limited", ...BY_QUERY, ...THROWN];
const HOLDERS: readonly ErrorName[] = ["unauthorized", "forbidden", ...CALLERS];

/** The refusals that any call of a kind may get. */
const BY_ACCESS: Readonly<Record<Route["access"], readonly ErrorName[]>> = {
  health: BY_QUERY,
  metrics: BY_QUERY,
  open: CALLERS,
  // An operator may name an instance that does not exist.
  read: [...HOLDERS, "not_found"],
  write: HOLDERS,
  operator: HOLDERS,
};
const BY_BODY: readonly ErrorName[] = ["bad_request", "payload_too_large", "body_late"];

/** Path parameters whose name does not explain them. */
const PARAMETERS: Readonly<Record<string, string>> = {
  type: "Aggregate type",
  event: "Event type",
  index: "Place of the event in its stream, from 0",
};

const KNOWN_TAG: FieldSchemas = {
  "If-None-Match?": { type: "string", description: "The ETag of what the client has" },
};

/** All refusals that a call may get: those of its row, its access and its body. */
export function errorsOf(access: Route["access"], operation: Operation): ReadonlySet<ErrorName> {
  const { body, errors = [] } = operation;
  return new Set([
    ...(body === undefined ? [] : BY_BODY),
    ...BY_ACCESS[access],
    ...errors,
  ]);
}

/** Makes the Operation Object. `pattern` names the remaining path parameters. */
export function describeRoute(
  pattern: string,
  access: Route["access"],
  operation: Operation,
  tag: string,
): JsonObject {
  const parameters = [
    ...pathParameters(pattern),
    ...queryParameters(operation.query ?? {}),
    ...headerParameters(operation.headers ?? {}),
    ...(operation.isTagged ? headerParameters(KNOWN_TAG) : []),
  ];
  return {
    operationId: operation.id,
    summary: operation.summary,
    tags: [tag],
    ...(parameters.length > 0 && { parameters }),
    ...(operation.body !== undefined && { requestBody: describeBody(operation) }),
    responses: {
      ...describeAnswers(access, operation),
      ...(operation.isTagged && { 304: UNCHANGED }),
      ...describeErrors(errorsOf(access, operation)),
    },
    security: [...SECURITY[access] ?? []],
  };
}

function pathParameters(pattern: string): JsonObject[] {
  return [...pattern.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => {
    const description = PARAMETERS[name];
    const schema = { type: "string" };
    return { name, in: "path", required: true, ...(description && { description }), schema };
  });
}

function queryParameters(query: Query): JsonObject[] {
  return Object.entries(query).map(([name, { schema, isRequired = false }]) =>
    describeParameter("query", name, isRequired, schema)
  );
}

function headerParameters(headers: FieldSchemas): JsonObject[] {
  return Object.entries(headers).map(([name, schema]) =>
    describeParameter("header", name.replace("?", ""), !name.endsWith("?"), schema)
  );
}

function describeParameter(
  place: "query" | "header",
  name: string,
  required: boolean,
  { description, deprecated, ...schema }: Schema,
): JsonObject {
  return {
    name,
    in: place,
    required,
    ...(description !== undefined && { description }),
    ...(deprecated !== undefined && { deprecated }),
    schema,
  };
}

function describeBody({ body, bodyForm = "json", example }: Operation): JsonObject {
  const shown = { schema: body!, ...(example !== undefined && { example }) };
  const content = { [BODY_TYPES[bodyForm]]: shown };
  return { required: bodyForm !== "optional json", content };
}

/** Answers to an API key report the rest of its rate limit. */
const RATE_HEADERS = ["Limit", "Remaining", "Scope", "Tier"].map((name) => `X-RateLimit-${name}`);

function describeAnswers(
  access: Route["access"],
  { answers, headers, isTagged }: Operation,
): JsonObject {
  const rates = access === "read" || access === "write" ? RATE_HEADERS : [];
  const names = [
    ...rates,
    ...(headers === undefined ? [] : ["X-Idempotency-Replayed", "X-SVC-Limit-Warning"]),
    ...(isTagged ? ["ETag"] : []),
  ];
  return Object.fromEntries(
    Object.entries(answers).map(([status, schema]) => [
      status,
      describeAnswer(DONE[status] ?? "Made or begun", schema, names),
    ]),
  );
}

const UNCHANGED: JsonObject = {
  description: "The client has what it would be sent",
  headers: { ETag: { $ref: "#/components/headers/ETag" } },
};

const DONE: Readonly<Record<string, string>> = { 200: "Done", 204: "Nothing new within the wait" };

function describeAnswer(
  description: string,
  schema: Schema | string | null,
  headers: readonly string[],
): JsonObject {
  const all = ["x-request-id", ...headers];
  const named = all.map((name) => [name, { $ref: `#/components/headers/${name}` }]);
  const about = { description, headers: Object.fromEntries(named) };
  if (schema === null) return about;
  const content: JsonObject = typeof schema === "string"
    ? { [schema]: { schema: { type: "string" } } }
    : { [JSON_TYPE]: { schema } };
  return { ...about, content };
}

/** One answer for each status, which covers all errors with that status. */
function describeErrors(names: ReadonlySet<ErrorName>): JsonObject {
  const byStatus = Map.groupBy(names, (name) => ERRORS[name].status);
  const statuses = [...byStatus].sort(([a], [b]) => a - b);
  return Object.fromEntries(statuses.map(([status, kinds]) => {
    const headers = new Set(kinds.flatMap((kind) => ERRORS[kind].headers ?? []));
    return [status, describeAnswer(kinds.join(", "), refusalSchema(kinds), [...headers])];
  }));
}
