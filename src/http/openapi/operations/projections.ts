/** OpenAPI rows of projections. See docs/reference/projections.md. */

import type { Operations } from "../operation.ts";
import {
  answer,
  array,
  choice,
  COUNT,
  FLAG,
  FREE_OBJECT,
  input,
  object,
  page,
  pageWith,
  PAGING,
  SECONDS,
  TEXT,
  TIME,
} from "../schema.ts";

const ENVIRONMENT = { "environment?": TEXT } as const;

/** Requests the last good rows of a broken projection. */
const STALE = { "stale?": FLAG } as const;

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

export const PROJECTIONS: Operations = {
  "POST /api/instances/{id}/projections": {
    id: "deployProjection",
    summary: "Deploys a projection to one environment; 200 where it is the same as before",
    query: ENVIRONMENT,
    body: input({ projection: FREE_OBJECT, ...ENVIRONMENT }),
    answers: { 200: answer({ projection: STATUS }), 201: answer({ projection: STATUS }) },
    errors: ["not_found", "projection_invalid"],
  },
  "GET /api/instances/{id}/projections": {
    id: "listProjections",
    summary: "The projections of one environment and how they are",
    query: { ...PAGING, ...ENVIRONMENT },
    answers: { 200: page(STATUS) },
    errors: ["not_found"],
  },
  "DELETE /api/instances/{id}/projections/{name}": {
    id: "deleteProjection",
    summary: "Deletes a projection and its rows",
    query: ENVIRONMENT,
    answers: { 200: answer({}) },
    errors: ["not_found"],
  },
  "GET /_projections/{name}": {
    id: "listProjectionRows",
    summary: "Rows of a projection by key",
    query: { ...PAGING, ...STALE },
    answers: { 200: pageWith(object(ROW), { "stale?": { const: true } }) },
    errors: ["not_found", "projection_broken"],
  },
  "GET /_projections/{name}/{key}": {
    id: "readProjectionRow",
    summary: "One row of a projection, kept or computed now",
    query: { "synchronous?": FLAG, ...STALE },
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
  },
  "GET /_projections/{name}/export.csv": {
    id: "exportProjection",
    summary: "All rows of a projection as CSV",
    query: {
      "columns?": { ...TEXT, description: "Names with commas between them" },
      "formulas?": { ...choice(["keep", "text"]), default: "keep" },
      ...STALE,
    },
    answers: { 200: "text/csv" },
    errors: ["not_found", "bad_request", "projection_broken"],
  },
};
