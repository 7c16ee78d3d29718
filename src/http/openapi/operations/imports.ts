/** OpenAPI rows of imports of backdated events. See docs/reference/imports.md. */

import { limits } from "../../../domain/limits.ts";
import type { ErrorName } from "../errors.ts";
import type { Operation, Operations } from "../operation.ts";
import {
  answer,
  array,
  COUNT,
  type FieldSchemas,
  FLAG,
  FREE_OBJECT,
  input,
  page,
  PAGING,
  ref,
  type Schema,
  SECONDS,
  TENANT,
  TEXT,
} from "../schema.ts";

const PARTY = input({ type: TEXT, id: TEXT });
const EVENT = input({
  key: { type: "string", description: "`<aggregate_type>:<aggregate_id>`" },
  type: TEXT,
  data: FREE_OBJECT,
  metadata: input({ actor: PARTY, "target?": PARTY, timestamp: SECONDS }),
});
const IMPORT_ID: FieldSchemas = {
  "import_id?": {
    type: "string",
    pattern: "^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$",
    description: "The same file under the same id goes on where it was",
  },
};
const DONE = answer({ written: COUNT, import: ref("Import") });

/** The refusals of a line, and of an import as a whole. */
const ERRORS: readonly ErrorName[] = [
  "not_found",
  "target_type_unknown",
  "event_type_reserved",
  "identifier_invalid",
  "metadata_invalid",
  "schema_validation",
  "handler_error",
  "fold_budget_exceeded",
  "import_conflict",
  "import_unavailable",
  "module_failed",
  "modules_unavailable",
];

function ofLines(id: string, summary: string): Operation {
  return {
    id,
    summary,
    query: { ...IMPORT_ID, "progress?": FLAG, ...TENANT },
    body: EVENT,
    bodyForm: "json lines",
    answers: { 200: DONE },
    errors: ERRORS,
  };
}

const EVENTS: Schema = array(EVENT, { minItems: 1, maxItems: limits.importEventsMax });

export const IMPORTS: Operations = {
  "POST /_admin/import": {
    id: "importEvents",
    summary: "Writes backdated events; each is checked before the first is written",
    query: TENANT,
    body: input({ ...TENANT, ...IMPORT_ID, events: EVENTS }),
    answers: { 200: DONE },
    errors: [...ERRORS, "write_invalid"],
  },
  "POST /_admin/import_jsonl": ofLines(
    "importLines",
    "Writes backdated events of a file, one on each line; `progress` tells how far it is",
  ),
  "POST /_admin/cold_start": ofLines(
    "coldStart",
    "The same into an environment without events, quicker where their order is mixed",
  ),
  "GET /_admin/imports": {
    id: "listImports",
    summary: "Imports by their ids, and how far they have come",
    query: { ...PAGING, ...TENANT },
    answers: { 200: page(ref("Import")) },
    errors: ["not_found"],
  },
  "GET /_admin/imports/{id}": {
    id: "readImport",
    summary: "How far one import has come",
    query: TENANT,
    answers: { 200: answer({ import: ref("Import") }) },
    errors: ["not_found"],
  },
};
