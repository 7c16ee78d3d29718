/**
 * Turns one row into a route. The row declares the query and the body; the OpenAPI document and the
 * values that `run` gets are both made from it.
 *
 * The query is decoded once the caller is known to have access, then the body. See
 * docs/reference/basics.md, "Order of checks".
 */

import type { Operator } from "../domain/access/access.ts";
import { ACCEPTED, type Outcome, refuse } from "../domain/refusal.ts";
import type { Tenant } from "../domain/tenant.ts";
import type { Call, Edge, Route, Run } from "./call.ts";
import { answerRefused } from "./failure.ts";
import { type Fields, type FieldsForm, readFields } from "./fields.ts";
import type { Operation } from "./openapi/operation.ts";
import { type FieldSchemas, input } from "./openapi/schema.ts";
import { INSTANCE_PARAMETER } from "./middleware/authenticate.ts";
import { type Query, queryDecoder, text, type Values } from "./parameter.ts";
import { sendRefusal } from "./reply.ts";

/** What a request asks for, beside its path. */
export interface Asked<Q extends Query, F extends FieldSchemas> {
  readonly query: Values<Q>;
  readonly body: Fields<F>;
}

type None = Record<never, never>;

export interface Row<Who, Q extends Query, F extends FieldSchemas> extends Operation, FieldsForm {
  readonly bodyForm?: Operation["bodyForm"];
  readonly query?: Q;
  /** The fields of a small body of JSON. Routes that read their bodies themselves have `body`. */
  readonly fields?: F;
  run(edge: Edge, call: Call, who: Who, asked: Asked<Q, F>): Response | Promise<Response>;
}

/** For calls without a credential. */
export function open<const Q extends Query = None, const F extends FieldSchemas = None>(
  access: "health" | "metrics" | "open",
  row: Row<void, Q, F>,
): Route {
  return { access, ...decoded(row) };
}

/** Every call that reads data takes it: from operators, who have no instance of their own. */
export const INSTANCE_QUERY = {
  [INSTANCE_PARAMETER]: text({
    description: "Whose data an operator token reads, which needs it; a key has its own instance",
  }),
} as const satisfies Query;

/** For calls with an API key that may read, and with the token of an operator. */
export function read<const Q extends Query = None, const F extends FieldSchemas = None>(
  row: Row<Tenant, Q, F>,
): Route {
  const query = { ...row.query ?? {} as Q, ...INSTANCE_QUERY };
  // A row reads its own parameters, and the instance that is named changes none of them.
  const whole = { ...row, query } as Row<Tenant, typeof INSTANCE_QUERY, F>;
  return { access: "read", ...decoded(whole, checkInstance) };
}

/** 403 if the query names another instance than the one whose key was sent. */
export function checkInstance(
  { instanceId }: Tenant,
  { instance_id: named }: Values<typeof INSTANCE_QUERY>,
): Outcome<unknown> {
  if (named === undefined || named === instanceId) return ACCEPTED;
  return refuse({ kind: "forbidden", message: "The API key belongs to another instance" });
}

/** For calls with an API key that may write. */
export function write<const Q extends Query = None, const F extends FieldSchemas = None>(
  row: Row<Tenant, Q, F>,
): Route {
  return { access: "write", ...decoded(row) };
}

/** For calls with an operator token. */
export function operator<const Q extends Query = None, const F extends FieldSchemas = None>(
  row: Row<Operator, Q, F>,
): Route {
  return { access: "operator", ...decoded(row) };
}

/** For calls about the whole deployment: not with a token that is restricted to instances. */
export function unrestricted<const Q extends Query = None, const F extends FieldSchemas = None>(
  row: Row<Operator, Q, F>,
): Route {
  return { access: "operator", ...decoded(row, checkUnrestricted) };
}

export function checkUnrestricted(operator: Operator): Outcome<Operator> {
  if (operator.instances === undefined) return { ok: true, value: operator };
  const message = "This call needs an operator token that is not restricted to instances";
  return refuse({ kind: "forbidden", message });
}

/** `allow` is asked before the body is read. */
function decoded<Who, Q extends Query, F extends FieldSchemas>(
  row: Row<Who, Q, F>,
  allow?: (who: Who, query: Values<Q>) => Outcome<unknown>,
): { operation: Operation; run: Run<Who> } {
  const { fields } = row;
  const decodeQuery = queryDecoder(row.query ?? {} as Q);
  const absent = decodeQuery("");

  function run(edge: Edge, call: Call, who: Who): Response | Promise<Response> {
    const query = call.query === "" ? absent : decodeQuery(call.query);
    if (!query.ok) return sendRefusal(call.requestId, query.refusal);
    const allowed = allow?.(who, query.value);
    if (allowed?.ok === false) return sendRefusal(call.requestId, allowed.refusal);
    return fields === undefined
      ? row.run(edge, call, who, { query: query.value, body: {} as Fields<F> })
      : runWithBody(edge, call, who, { query: query.value, fields });
  }

  async function runWithBody(
    edge: Edge,
    call: Call,
    who: Who,
    { query, fields }: { query: Values<Q>; fields: F },
  ): Promise<Response> {
    const body = await readFields(call, fields, row);
    if (!body.ok) return answerRefused(edge, call, body.refusal);
    return await row.run(edge, call, who, { query, body: body.value });
  }

  return { operation: fields === undefined ? row : { ...row, body: input(fields) }, run };
}
