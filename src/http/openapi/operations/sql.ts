/** OpenAPI rows of SQL over projections. See docs/reference/projections.md. */

import type { Operations } from "../operation.ts";
import { answer, array, BOOLEAN, COUNT, FREE_OBJECT, input, type Schema, TEXT } from "../schema.ts";
import { PROJECTIONS } from "./projections.ts";

const SCALARS = { type: ["string", "number", "boolean", "null"] };
const PARAMS: Schema = {
  description: "An array for ?, an object for :name",
  anyOf: [{ type: "array", items: SCALARS }, { type: "object", additionalProperties: SCALARS }],
};

export const SQL: Operations = {
  "POST /_projections/query": {
    id: "queryProjections",
    summary: "Runs one SQL statement that reads tables named as the projections",
    body: input({ sql: TEXT, "params?": PARAMS, "stale?": BOOLEAN }),
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
  },
  // Without this path, the one before it would hide a projection named `query`.
  "GET /_projections/query": {
    ...PROJECTIONS["GET /_projections/{name}"]!,
    id: "listProjectionRowsOfQuery",
    summary: "Rows of the projection that is named query",
  },
};
