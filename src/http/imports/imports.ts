/** Imports of backdated events, and their progress. See docs/reference/imports.md. */

import { type ImportForm, isImportId, viewImport } from "../../domain/import/progress.ts";
import type { JsonObject, JsonValue } from "../../domain/json.ts";
import { openPieces, type Turns } from "../../domain/fairness/pieces.ts";
import { jsonTextSteps } from "../../domain/json_text_steps.ts";
import { limits } from "../../domain/limits.ts";
import { accept, type Outcome, refuse } from "../../domain/refusal.ts";
import type { Tenant } from "../../domain/tenant.ts";
import type { ImportService } from "../../features/imports/imports_service.ts";
import { sendOk, sendText } from "../answer.ts";
import type { Call, Edge, Route } from "../call.ts";
import { parseJsonText } from "../decode/json_text.ts";
import { operator } from "../endpoint.ts";
import { answerFailure, answerRefused } from "../failure.ts";
import { badField } from "../fields.ts";
import type { ErrorName } from "../openapi/errors.ts";
import {
  answer,
  array,
  COUNT,
  FREE_OBJECT,
  input,
  ORIGIN,
  page,
  ref,
  SECONDS,
  TEXT,
} from "../openapi/schema.ts";
import { findNamedTenant, TENANT_FIELDS, TENANT_QUERY } from "../operator_tenant.ts";
import { badQuery, flag, PAGE_QUERY, type Parameter } from "../parameter.ts";
import { describeRefusal, sendOutcome, sendRefusal } from "../reply.ts";
import { checkFileHeaders, readPieces } from "./file_body.ts";
import type { Host } from "../../host.ts";

type Request = Parameters<ImportService["run"]>[1];
type Done = Awaited<ReturnType<ImportService["run"]>>;
type Progress = NonNullable<Done["progress"]>;

const PARTY = input({ type: TEXT, id: TEXT });
const EVENT = input({
  key: { type: "string", description: "`<aggregate_type>:<aggregate_id>`" },
  type: TEXT,
  data: FREE_OBJECT,
  metadata: input({
    actor: PARTY,
    "target?": PARTY,
    timestamp: SECONDS,
    "origin?": input(ORIGIN),
  }),
});
const EXAMPLE: JsonObject = {
  key: "order:global",
  type: "was_noted",
  data: { text: "Rings twice" },
  metadata: { actor: { type: "user", id: "global" }, timestamp: 1_767_225_600 },
};

const IMPORT_ID = {
  type: "string",
  pattern: "^[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$",
  description: "The same file under the same id goes on where it was",
} as const;
const ID_RULE = "must be 1 to 100 letters, digits and . _ : - and begin with a letter or digit";
const IMPORT_ID_PARAMETER: Parameter<string | undefined> = {
  schema: IMPORT_ID,
  decode(text, name) {
    return text === null || isImportId(text) ? accept(text ?? undefined) : badQuery(name, ID_RULE);
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

export const importEvents = operator({
  id: "importEvents",
  summary: "Writes backdated events; each is checked before the first is written",
  query: TENANT_QUERY,
  fields: {
    ...TENANT_FIELDS,
    "import_id?": IMPORT_ID,
    events: array(EVENT, { minItems: 1, maxItems: limits.importEventsMax }),
  },
  bytesMax: limits.requestBodyBytesMax,
  example: { import_id: "orders-2025", events: [EXAMPLE] },
  answers: { 200: DONE },
  errors: [...ERRORS, "write_invalid"],
  async run(edge, call, operator, asked) {
    const { import_id: importId } = asked.body;
    const events = checkImport(asked.body);
    if (!events.ok) return sendRefusal(call.requestId, events.refusal);
    const tenant = await findNamedTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
    return await run(edge, call, tenant.value, {
      form: "import",
      importId,
      async *pieces() {
        yield* linesOf(events.value, call.host);
      },
      parse: (text) => parseJsonText([text], { turns: call.host }, "An event"),
    });
  },
});

function checkImport(
  { import_id: importId, events }: { readonly import_id?: string; readonly events: JsonValue },
): Outcome<readonly JsonValue[]> {
  if (importId !== undefined && !isImportId(importId)) {
    return badField("import_id", `import_id ${ID_RULE}`);
  }
  const { importEventsMax } = limits;
  if (!Array.isArray(events) || events.length === 0) {
    return badField("events", "events must be an array of at least one event");
  }
  if (events.length > importEventsMax) {
    const message = `events must hold at most ${importEventsMax} events; ` +
      "POST /_admin/import_jsonl takes more";
    return refuse({ kind: "write_invalid", path: "events", message });
  }
  return accept(events);
}

/** The events as lines of JSON, in chunks. What is behind the limit of a line is left out. */
async function* linesOf(
  events: readonly JsonValue[],
  turns: Turns,
): AsyncGenerator<Outcome<Uint8Array>> {
  const pieces = openPieces(turns);
  let lines = "";
  for (const event of events) {
    const steps = jsonTextSteps(event, limits.importLineBytesMax);
    let step = steps.next();
    for (; !step.done; step = steps.next()) await pieces.rest();
    lines += `${step.value}\n`;
    if (lines.length < PIECE_CHARACTERS) continue;
    yield accept(encoder.encode(lines));
    lines = "";
  }
  if (lines !== "") yield accept(encoder.encode(lines));
}

const encoder = new TextEncoder();
const PIECE_CHARACTERS = 64 * 1024;

export const importLines = fileRoute(
  "import_jsonl",
  "importLines",
  "Writes backdated events of a file, one on each line; `progress` tells how far it is",
);

/** Only into an environment without events. */
export const coldStart = fileRoute(
  "cold_start",
  "coldStart",
  "The same into an environment without events, quicker where their order is mixed",
);

function fileRoute(form: ImportForm, id: string, summary: string): Route {
  return operator({
    id,
    summary,
    query: { import_id: IMPORT_ID_PARAMETER, progress: flag(), ...TENANT_QUERY },
    body: EVENT,
    bodyForm: "json lines",
    example: EXAMPLE,
    answers: { 200: DONE },
    errors: ERRORS,
    async run(edge, call, operator, { query, body }) {
      const { requestId, request } = call;
      const headers = checkFileHeaders(request.headers);
      if (!headers.ok) return sendRefusal(requestId, headers.refusal);
      const tenant = await findNamedTenant(edge, call, operator, { query, body });
      if (!tenant.ok) return sendRefusal(requestId, tenant.refusal);
      const wanted: Request = {
        form,
        importId: query.import_id,
        pieces: (stopping) => readPieces(request.body, stopping),
        parse: (text) => parseJsonText([text], { turns: call.host }, "The line"),
      };
      return query.progress
        ? await runTold(edge, call, tenant.value, wanted)
        : await run(edge, call, tenant.value, wanted);
    },
  });
}

async function runTold(
  edge: Edge,
  call: Call,
  tenant: Tenant,
  request: Request,
): Promise<Response> {
  return await tellProgress(edge.host, call.requestId, async (tell) => {
    const told = { ...request, onProgress: (progress: Progress) => tell(describe(progress)) };
    try {
      return await run(edge, call, tenant, told);
    } catch (error) {
      // The head of the answer may already have been sent.
      return answerFailure(edge, call, error);
    }
  });
}

async function run(edge: Edge, call: Call, tenant: Tenant, request: Request): Promise<Response> {
  return report(edge, call, await edge.service.imports.run(tenant, request), request.form);
}

function describe({ record, written }: Progress): JsonObject {
  return { written, import: { ...viewImport(record) } };
}

function report(edge: Edge, call: Call, outcome: Done, form: ImportForm): Response {
  if (outcome.ok) return sendOk(call.requestId, describe(outcome.progress));
  const { refusal, line, progress } = outcome;
  const more: JsonObject = { ...progress && describe(progress) };
  if (line !== undefined && form === "import") more.event_index = line - 1;
  else if (line !== undefined) more.line = line;
  const { status, body } = describeRefusal(refusal);
  // A type named by a line is part of the body, so a missing one is not a missing path.
  if (status !== 404) return answerRefused(edge, call, refusal, more);
  return sendText(call.requestId, 422, JSON.stringify({ ok: false, ...body, ...more }));
}

export const listImports = operator({
  id: "listImports",
  summary: "Imports by their ids, and how far they have come",
  query: { ...PAGE_QUERY, ...TENANT_QUERY },
  answers: { 200: page(ref("Import")) },
  errors: ["not_found"],
  async run(edge, call, operator, asked) {
    const tenant = await findNamedTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
    const page = await edge.service.imports.list(tenant.value, asked.query);
    return sendOutcome(call.requestId, page);
  },
});

export const readImport = operator({
  id: "readImport",
  summary: "How far one import has come",
  query: TENANT_QUERY,
  answers: { 200: answer({ import: ref("Import") }) },
  errors: ["not_found"],
  async run(edge, call, operator, asked) {
    const tenant = await findNamedTenant(edge, call, operator, asked);
    if (!tenant.ok) return sendRefusal(call.requestId, tenant.refusal);
    const found = await edge.service.imports.read(tenant.value, call.params[0]!);
    if (!found.ok) return sendRefusal(call.requestId, found.refusal);
    return sendOk(call.requestId, { import: found.value });
  },
});

const NDJSON_TYPE = "application/x-ndjson";
const TELL_EVERY_MS = 1_000;

type Tell = (progress: JsonObject) => void;

/**
 * Reports the progress of a long call as lines of JSON, at most one a second. The last line holds
 * what would have been the whole answer, with its status. A call that ends before its first
 * progress gets an ordinary answer. `run` returns the answer and must never throw.
 */
async function tellProgress(
  host: Pick<Host, "monotonicMs">,
  requestId: string,
  run: (tell: Tell) => Promise<Response>,
): Promise<Response> {
  const begun = Promise.withResolvers<undefined>();
  const lines = new TransformStream<string, string>();
  const writer = lines.writable.getWriter();
  let nextMs = -Infinity;

  // The client may have gone; that does not stop the work.
  const write = (line: object) => writer.write(`${JSON.stringify(line)}\n`).catch(() => {});

  const answered = run((progress) => {
    const nowMs = host.monotonicMs();
    if (nowMs < nextMs) return;
    nextMs = nowMs + TELL_EVERY_MS;
    begun.resolve(undefined);
    write({ progress: true, ...progress });
  });
  const first = await Promise.race([answered, begun.promise]);
  if (first !== undefined) return first;
  answered.then(async (response) => {
    write({ ...await response.json() as JsonObject, status: response.status });
    writer.close().catch(() => {});
  });
  return new Response(lines.readable.pipeThrough(new TextEncoderStream()), {
    headers: {
      "content-type": NDJSON_TYPE,
      "x-request-id": requestId,
      "access-control-allow-origin": "*",
    },
  });
}
