/**
 * Projections: deploy, list and delete; rows, pages of rows and CSV.
 *
 * See docs/reference/projections.md.
 */

import { openPlaces } from "../../domain/fairness/per_name.ts";
import type { Turns } from "../../domain/fairness/pieces.ts";
import { isJsonObject } from "../../domain/json.ts";
import { limits } from "../../domain/limits.ts";
import type { RowPage, RowView } from "../../domain/projection/status.ts";
import { accept, type Outcome, type Refusal, refuse } from "../../domain/refusal.ts";
import type { CsvExport } from "../../features/projections/export_projection.ts";
import { sendOk, sendParts, sendText } from "../answer.ts";
import type { Edge, Route } from "../call.ts";
import { mayCompress } from "../answer.ts";
import { operator, read } from "../endpoint.ts";
import { answerRefused } from "../failure.ts";
import {
  answer,
  array,
  choice,
  COUNT,
  FREE_OBJECT,
  object,
  page,
  pageWith,
  SECONDS,
  TEXT,
  TIME,
} from "../openapi/schema.ts";
import { lengthOfParts, pageBody, streamAsTaken } from "../long_answer.ts";
import { longReadsOf, NO_TURN } from "../long_reads.ts";
import { findOperatorTenant } from "../operator_tenant.ts";
import { flag, PAGE_QUERY, type Parameter, text } from "../parameter.ts";
import { sendOutcome, sendRefusal } from "../reply.ts";

const STATUS_CREATED = 201;
const ENVIRONMENT = { environment: text() } as const;

const STATUS = object({
  name: TEXT,
  state: choice(["ready", "building", "broken"]),
  version: { type: ["integer", "null"], minimum: 1 },
  columns: array(object({
    name: TEXT,
    type: choice(["string", "integer", "number", "boolean", "timestamp", "json", "any"]),
  })),
  "building?": object({ version: COUNT, rows: COUNT, started_at: TIME }),
  lag: COUNT,
  failed_rows: COUNT,
  last_error: { type: ["string", "null"] },
  deployed_at: TIME,
  projection: FREE_OBJECT,
});

const ROW = {
  data: { type: ["object", "null"], additionalProperties: true },
  metadata: object({
    key: TEXT,
    updated_at: { type: ["integer", "null"], description: "Unix seconds" },
    position: COUNT,
    "error?": object({ error_id: TEXT, error_type: TEXT, since: SECONDS }),
  }),
};

export const deployProjection = operator({
  id: "deployProjection",
  summary: "Deploys a projection to one environment; 200 where it is the same as before",
  query: ENVIRONMENT,
  fields: { projection: FREE_OBJECT, "environment?": TEXT },
  bytesMax: limits.projectionBodyBytesMax,
  example: {
    projection: {
      name: "orders",
      for_each: "order",
      sources: { order: "$key" },
      select: { text: "$.order.text" },
    },
    environment: "test",
  },
  answers: { 200: answer({ projection: STATUS }), 201: answer({ projection: STATUS }) },
  errors: ["not_found", "projection_invalid"],
  async run(edge, call, operator, asked) {
    const { requestId } = call;
    const { projection } = asked.body;
    if (!isJsonObject(projection)) {
      const message = "projection must be an object";
      return sendRefusal(requestId, { kind: "bad_request", message, path: "projection" });
    }
    const tenant = await findOperatorTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(requestId, tenant.refusal);
    const { projections } = edge.service;
    const outcome = await projections.deploy(tenant.value, projection);
    if (!outcome.ok) return sendRefusal(requestId, outcome.refusal);
    const { name, isNew } = outcome.value;
    const status = await projections.show(tenant.value, name);
    return sendOk(requestId, { projection: status ?? null }, isNew ? STATUS_CREATED : 200);
  },
});

export const listProjections = operator({
  id: "listProjections",
  summary: "The projections of one environment and how they are",
  query: { ...PAGE_QUERY, ...ENVIRONMENT },
  answers: { 200: page(STATUS) },
  errors: ["not_found"],
  async run(edge, call, operator, asked) {
    const tenant = await findOperatorTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
    const place = tenant.value;
    async function read(): Promise<Outcome<string[]>> {
      const page = await edge.service.projections.list(place, asked.query);
      if (!page.ok) return page;
      const { data, ...fields } = page.value;
      const tail = JSON.stringify(fields).slice(1, -1);
      return accept(await pageBody(data, (status) => JSON.stringify(status), tail, edge.host));
    }
    const parts = await longReadsOf(edge.service).run(call.owner, read, lengthOfParts);
    if (parts === undefined) return answerRefused(edge, call, NO_TURN);
    if (!parts.ok) return sendRefusal(call.requestId, parts.refusal);
    return sendParts(call.requestId, parts.value);
  },
});

export const deleteProjection = operator({
  id: "deleteProjection",
  summary: "Deletes a projection and its rows",
  query: ENVIRONMENT,
  answers: { 200: answer({}) },
  errors: ["not_found"],
  async run(edge, call, operator, asked) {
    const { requestId, params: [, name = ""] } = call;
    const tenant = await findOperatorTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(requestId, tenant.refusal);
    return sendOutcome(requestId, await edge.service.projections.remove(tenant.value, name));
  },
});

export const readRow = read({
  id: "readProjectionRow",
  summary: "One row of a projection, kept or computed now",
  query: { synchronous: flag(), stale: flag() },
  answers: { 200: answer({ ...ROW, "stale?": { const: true } }) },
  errors: [
    "not_found",
    "projection_broken",
    "identifier_invalid",
    "fold_budget_exceeded",
    "handler_error",
    "module_failed",
    "modules_unavailable",
  ],
  async run(edge, call, tenant, { query }) {
    const { requestId, params: [name = "", key = ""] } = call;
    const read = () => edge.service.projections.readRow(tenant, { name, key, ...query });
    const turns = longReadsOf(edge.service);
    // A row that is computed holds the states that it shows, which may have megabytes.
    const outcome = query.synchronous
      ? await turns.run(call.owner, read, lengthOfRow)
      : await turns.runMostlyShort(call.owner, read, lengthOfRow);
    if (outcome === undefined) return answerRefused(edge, call, NO_TURN);
    if (!outcome.ok) return answerRefused(edge, call, outcome.refusal);
    return sendRow(edge, requestId, outcome.value);
  },
});

function lengthOfRow(row: Outcome<RowView>): number {
  return row.ok ? row.value.dataJson.length : 0;
}

/** Sends a row, with the lag in a header. */
function sendRow(edge: Edge, requestId: string, { lag = 0, ...row }: RowView) {
  const text = `{"ok":true,${rowText(row).slice(1)}`;
  return sendText(requestId, 200, text, lagHeader(edge, lag, row.stale));
}

/** A page of rows as text. */
export function rowPageBody(
  { lag: _, data, ...fields }: RowPage,
  turns: Turns,
): Promise<string[]> {
  const tail = JSON.stringify(fields).slice(1, -1);
  return pageBody(data, rowText, tail, turns);
}

function rowText({ dataJson, ...fields }: RowView): string {
  return `{"data":${dataJson},${JSON.stringify(fields).slice(1)}`;
}

export const listRows = rowsRoute("listProjectionRows", "Rows of a projection by key");

/** Without this path, that of SQL would hide a projection named `query`. */
export const listRowsOfQuery = rowsRoute(
  "listProjectionRowsOfQuery",
  "Rows of the projection that is named query",
);

function rowsRoute(id: string, summary: string): Route {
  return read({
    id,
    summary,
    query: { ...PAGE_QUERY, stale: flag() },
    answers: { 200: pageWith(object(ROW), { "stale?": { const: true } }) },
    errors: ["not_found", "projection_broken"],
    async run(edge, call, tenant, { query: { stale, ...page } }) {
      const { requestId, params: [name = "query"] } = call;
      async function read() {
        const outcome = await edge.service.projections.listRows(tenant, name, page, stale);
        if (!outcome.ok) return outcome;
        const { lag = 0, stale: isStale } = outcome.value;
        const parts = await rowPageBody(outcome.value, edge.host);
        return accept({ parts, headers: lagHeader(edge, lag, isStale) });
      }
      const made = await longReadsOf(edge.service).run(
        call.owner,
        read,
        (made) => made.ok ? lengthOfParts(accept(made.value.parts)) : 0,
      );
      if (made === undefined) return answerRefused(edge, call, NO_TURN);
      if (!made.ok) return answerRefused(edge, call, made.refusal);
      return sendParts(requestId, made.value.parts, made.value.headers);
    },
  });
}

const FORMULAS: Parameter<"keep" | "text"> = {
  schema: { ...choice(["keep", "text"]), default: "keep" },
  decode(text) {
    if (text === null || text === "keep") return accept("keep");
    if (text === "text") return accept("text");
    const message = `formulas must be keep or text, not ${JSON.stringify(text)}`;
    return refuse({ kind: "bad_request", message, path: "formulas" });
  },
};

const EXPORTS_PER_INSTANCE_MAX = 8;
/** Shared by all listeners of the process. An export keeps its place until its body has ended. */
const exportPlaces = openPlaces(EXPORTS_PER_INSTANCE_MAX);

const NO_EXPORT_PLACE: Refusal = {
  kind: "no_room",
  message:
    `This instance has ${EXPORTS_PER_INSTANCE_MAX} CSV exports under way; read them, then try again`,
};

export const exportCsv = read({
  id: "exportProjection",
  summary: "All rows of a projection as CSV",
  query: {
    columns: text({ description: "Names with commas between them" }),
    formulas: FORMULAS,
    stale: flag(),
  },
  answers: { 200: "text/csv" },
  errors: ["not_found", "bad_request", "projection_broken"],
  async run(edge, call, tenant, { query: { columns, formulas, stale } }) {
    const { requestId, request, params: [name = ""] } = call;
    const formulasAsText = formulas === "text";
    const wanted = { name, columns: columns?.split(","), formulasAsText, stale };
    const { owner } = call;
    if (!exportPlaces.enter(owner)) return answerRefused(edge, call, NO_EXPORT_PLACE);
    const leave = () => exportPlaces.leave(owner);
    let outcome: Outcome<CsvExport>;
    try {
      outcome = await edge.service.projections.exportCsv(tenant, wanted);
    } catch (error) {
      leave();
      throw error;
    }
    if (!outcome.ok || request.method === "HEAD") leave();
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
    return mayCompress(new Response(streamAsTaken(pages, leave), { headers }));
  },
});

/** A header that says how many of the latest commits an answer may lack. */
export function lagHeader(
  { options }: Edge,
  commits: number,
  isStale = false,
): Record<string, string> {
  if (commits === 0 && !isStale) return {};
  return { [`X-${options.headerPrefix}-Projection-Lag`]: String(commits) };
}
