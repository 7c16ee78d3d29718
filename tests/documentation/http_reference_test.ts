/**
 * Keeps docs/reference/endpoints.md, docs/reference/errors.md and the pages of docs/errors true:
 * every path, every refusal, every text.
 */

import assert from "node:assert/strict";
import type { Refusal } from "../../src/domain/refusal.ts";
import type { Route } from "../../src/http/call.ts";
import { errorsOf } from "../../src/http/openapi/describe_route.ts";
import { type ErrorName, ERRORS as REFUSALS } from "../../src/http/openapi/errors.ts";
import { PATHS } from "../../src/http/paths.ts";
import { describeRefusal } from "../../src/http/reply.ts";
import { newCounters } from "../../src/domain/measures/counters.ts";
import { codeOf, fencedBlocks, markdownFiles, readText, sectionOf, tableRows } from "./markdown.ts";

const ENDPOINTS = readText("docs/reference/endpoints.md");
const ERRORS = readText("docs/reference/errors.md");

/** Where a text has a number: the table has a name instead. */
function named(text: string): number {
  return text as unknown as number;
}

type Samples = { readonly [K in Refusal["kind"]]: Extract<Refusal, { readonly kind: K }> };

const message = "varies";
const path = "metadata";
const violation = { rule: "unknown_key", path: "x", message: "<first message>", hint: "" };
const types = { aggregateType: "<aggregate_type>", eventType: "<event_type>" };
const lengths = { length: named("<n>"), expected: named("<m>") };

/** One refusal of every kind; a new kind does not compile until it is here. */
const SAMPLES: Samples = {
  bad_request: { kind: "bad_request", message },
  unauthorized: { kind: "unauthorized", message },
  forbidden: { kind: "forbidden", message },
  not_found: { kind: "not_found", message },
  aggregate_type_unknown: { kind: "aggregate_type_unknown", ...types },
  event_type_unknown: { kind: "event_type_unknown", ...types },
  event_type_reserved: { kind: "event_type_reserved" },
  aggregate_missing: { kind: "aggregate_missing" },
  beyond_length: { kind: "beyond_length", length: 3, asked: 4 },
  method_not_allowed: { kind: "method_not_allowed", allow: "GET" },
  identifier_invalid: { kind: "identifier_invalid", path, message },
  metadata_invalid: { kind: "metadata_invalid", path, message },
  write_invalid: { kind: "write_invalid", path, message },
  schema_validation: { kind: "schema_validation", faults: [{ path: "data", message }] },
  occ_conflict: { kind: "occ_conflict", ...lengths },
  occ_conflict_atomic: { kind: "occ_conflict_atomic", key: "order:global", ...lengths },
  implications_in_multi_write: { kind: "implications_in_multi_write", targetIndex: 0 },
  idempotency_key_invalid: { kind: "idempotency_key_invalid", message },
  idempotency_mismatch: { kind: "idempotency_mismatch" },
  idempotency_in_progress: { kind: "idempotency_in_progress" },
  payload_too_large: { kind: "payload_too_large", message, limit: 1 },
  fold_budget_exceeded: { kind: "fold_budget_exceeded", message, bytes: 2, limit: 1 },
  handler_error: { kind: "handler_error", error: { type: "too_late", message } },
  module_failed: { kind: "module_failed", failure: "wasm_trap", message, context: {} },
  modules_unavailable: { kind: "modules_unavailable", message, retryAfterMs: 1_000 },
  no_room: { kind: "no_room", message },
  server_stopping: { kind: "server_stopping" },
  guard_failed: {
    kind: "guard_failed",
    message: "the guard's own `message`",
    guard: 0,
    eventType: "was_sold",
  },
  precondition_failed: { kind: "precondition_failed", index: 0, key: "a:b", length: 1, message },
  module_invalid: { kind: "module_invalid", violation },
  blob_incompatible: { kind: "blob_incompatible", violations: [violation] },
  spec_invalid: { kind: "spec_invalid", violations: [violation] },
  projection_invalid: { kind: "projection_invalid", violations: [violation] },
  spec_incompatible: { kind: "spec_incompatible", violations: [violation] },
  sql_not_allowed: { kind: "sql_not_allowed", message },
  sql_timeout: { kind: "sql_timeout", message },
  projection_broken: { kind: "projection_broken", name: "<name>", reason: "<path>: <fault>" },
  sql_unavailable: { kind: "sql_unavailable", message, retryAfterMs: 1_000 },
  operator_input_invalid: { kind: "operator_input_invalid", path, message },
  erasure_begun: { kind: "erasure_begun", state: "running" },
  already_exists: { kind: "already_exists", path, message },
  body_late: { kind: "body_late", seconds: 30 },
  cursor_expired: { kind: "cursor_expired", newest: "0001" },
  import_conflict: { kind: "import_conflict", reason: "not_empty", message },
  import_unavailable: { kind: "import_unavailable", message, retryAfterSeconds: 5 },
  rate_limited: { kind: "rate_limited", scope: "ip", limit: 1, retryAfterMs: 1_000 },
  plan_limit: { kind: "plan_limit", usage: 2, limit: 2, events: 1, resetsAt: "2030-02-01" },
  login_locked: { kind: "login_locked", retryAfterSeconds: 1 },
  anchor_not_found: { kind: "anchor_not_found" },
  stream_not_found: { kind: "stream_not_found" },
  invalid_index: { kind: "invalid_index" },
  beyond_anchor_coverage: {
    kind: "beyond_anchor_coverage",
    reason: "index",
    anchorId: "anc_1",
    anchorCreatedAt: "2026-01-01T00:00:00.000Z",
    coveredEventCount: 1,
  },
  anchor_format_unsupported: { kind: "anchor_format_unsupported", anchorId: "anc_1" },
  anchor_stream_mismatch: { kind: "anchor_stream_mismatch", anchorId: "anc_1" },
};

Deno.test("the API reference lists every path with each of its methods, and no others", () => {
  const rows = tableRows(sectionOf(ENDPOINTS, "## All endpoints"));
  const listed = rows.map(([call]) => /^\[`([^`]+)`\]/.exec(call!)?.[1]);
  const built = PATHS.flatMap(({ pattern, methods }) =>
    [...methods.keys()].map((method) => `${method} ${pattern}`)
  );
  // The reference calls every path parameter by its name in the router, so the texts are equal.
  assert.deepEqual(listed.toSorted(), built.toSorted());
});

interface ListedRoute {
  readonly name: string;
  readonly route: Route;
  /** Its row in the table of all endpoints. */
  readonly cells: readonly string[];
}

function listedRoutes(): ListedRoute[] {
  const rows = tableRows(sectionOf(ENDPOINTS, "## All endpoints"));
  return PATHS.flatMap(({ pattern, methods }) =>
    [...methods].map(([method, route]) => {
      const name = `${method} ${pattern}`;
      return { name, route, cells: rows.find(([call]) => call!.startsWith(`[\`${name}\`]`)) ?? [] };
    })
  );
}

Deno.test("the API reference says who may call each path", () => {
  const words = {
    health: "none",
    open: "none",
    metrics: "operator, or none",
    read: "read key",
    write: "write key",
    operator: "operator",
  };
  for (const { name, route, cells } of listedRoutes()) {
    assert.equal(cells[1], words[route.access], name);
  }
});

/** Its own parameters. Every read also has the one with which operators name the instance. */
function queryOf({ access, operation }: Route) {
  const { instance_id, ...own } = operation.query ?? {};
  if (access !== "read") return operation.query ?? {};
  assert.ok(instance_id !== undefined, operation.id);
  return own;
}

Deno.test("the API reference says once which parameter and answer all reads have", () => {
  const text = ENDPOINTS.replaceAll(/\s+/g, " ");
  assert.ok(text.includes("Every call with a read key also takes `instance_id` from operators"));
  assert.ok(text.includes("404 for an instance that does not exist"));
});

Deno.test("the API reference lists the query parameters of each path", () => {
  for (const { name, route, cells } of listedRoutes()) {
    const names = Object.keys(queryOf(route));
    assert.equal(cells[2], names.map((one) => `\`${one}\``).join(", "), name);
  }
});

Deno.test("a table of query parameters in the API reference has those of its path", () => {
  let tables = 0;
  for (const { name, route, cells } of listedRoutes()) {
    const [, page = "", anchor = ""] = /\]\(([^#]*)#(.*)\)/.exec(cells[0]!) ?? [];
    if (page === "") continue;
    const text = readText(`docs/reference/${page}`);
    const title = text.match(/^#+ .*$/gm)!.find((line) => anchorOf(line) === anchor)!;
    const [, table] = /^\| Query \|.*\n((?:\|.*\n)*)/m.exec(sectionOf(text, title)) ?? [];
    if (table === undefined) continue;
    tables++;
    const current = Object.entries(queryOf(route))
      .filter(([, { schema }]) => schema.deprecated !== true);
    const shown = tableRows(`| Query |\n${table}`).flatMap(([cell]) => cell!.match(/\w+/g)!);
    assert.deepEqual(shown.toSorted(), current.map(([name]) => name).toSorted(), name);
  }
  assert.ok(tables >= 5, `${tables} tables are found`);
});

function anchorOf(heading: string): string {
  return heading.replace(/^#+ /, "").toLowerCase().replaceAll(/[^\p{L}\p{N}_\- ]/gu, "")
    .replaceAll(" ", "-");
}

Deno.test("the API reference lists the statuses of each path beside those that all have", () => {
  for (const { name, route: { access, operation }, cells } of listedRoutes()) {
    const { answers, isTagged } = operation;
    // Reads have one more in common, which the text below the table tells.
    const kind = access === "read" ? "write" : access;
    const common = statusesOf(errorsOf(kind, { id: "", summary: "", answers: {} }));
    const own = statusesOf(errorsOf(kind, operation)).filter((one) => !common.includes(one));
    const all = [...Object.keys(answers).map(Number), ...isTagged ? [304] : [], ...own];
    assert.equal(cells[3], [...new Set(all)].sort((a, b) => a - b).join(", "), name);
  }
});

function statusesOf(names: Iterable<ErrorName>): number[] {
  return Array.from(names, (name) => REFUSALS[name].status);
}

/** All values that `error_type` has in answers, with their statuses. */
function typesOfAnswers(): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, number[]>();
  for (const { status, schema } of Object.values(REFUSALS)) {
    const { error_type } = schema.properties as Record<string, { const?: string; enum?: string[] }>;
    for (const type of error_type!.enum ?? [error_type!.const!]) {
      found.set(type, [...new Set([...found.get(type) ?? [], status])].sort((a, b) => a - b));
    }
  }
  return found;
}

/** Those that only error records have, of what events set off. */
function typesOfRecords(): readonly string[] {
  const answers = typesOfAnswers();
  return [...newCounters().errorRecords.keys()].filter((type) => !answers.has(type));
}

function pageOf(errorType: string): string {
  return readText(`docs/errors/${errorType}.md`);
}

/** The rows of a page that tell a text: its status and the text. */
function causesOn(page: string): { readonly status: string; readonly text: string }[] {
  return tableRows(sectionOf(page, "## Why")).flatMap(([first = "", second]) =>
    /^\d{3}$/.test(first)
      ? [{ status: first, text: codeOf(second) ?? second! }]
      : codeOf(first) !== undefined
      ? [{ status: "", text: codeOf(first)! }]
      : []
  );
}

Deno.test("each error_type has a page, and no page is about one that does not exist", () => {
  const pages = markdownFiles("docs/errors").map((path) => /([^/]+)\.md$/.exec(path)![1]);
  assert.deepEqual(pages, [...typesOfAnswers().keys(), ...typesOfRecords()].toSorted());
});

Deno.test("the page of an error_type tells why, what to do, and shows one", () => {
  for (const type of [...typesOfAnswers().keys(), ...typesOfRecords()]) {
    const page = pageOf(type);
    assert.ok(page.startsWith(`# ${type}\n\n`), `${type}: title`);
    assert.ok(sectionOf(page, "## What to do").includes("\n- "), `${type}: what to do`);
    assert.ok(causesOn(page).length > 0 || typesOfRecords().includes(type), `${type}: causes`);
    const shown = fencedBlocks(sectionOf(page, "## Example"))
      .filter(({ language }) => language === "json").map(({ text }) => JSON.parse(text));
    assert.ok(shown.length > 0, `${type}: an example`);
    for (const body of shown) assert.equal(body.error_type, type);
  }
});

Deno.test("the index of errors lists each error_type with its statuses, and no other", () => {
  const answers = [...typesOfAnswers()].map(([type, statuses]) => [type, statuses.join(", ")]);
  const records = typesOfRecords().map((type) => [type, ""]);
  const listed = tableRows(sectionOf(ERRORS, "## All errors")).map(([link, second]) => [
    /^\[`(\w+)`\]\(\.\.\/errors\/\1\.md\)$/.exec(link!)?.[1],
    /^\d/.test(second!) ? second : "",
  ]);
  assert.deepEqual(listed.toSorted(), [...answers, ...records].toSorted());
});

Deno.test("the page of an error_type has each of its refusals with status, text and fields", () => {
  for (const [kind, refusal] of Object.entries(SAMPLES)) {
    const { status, body } = describeRefusal(refusal);
    const page = pageOf(body.error_type);
    const causes = causesOn(page).filter((cause) => cause.status === String(status));
    // One has the object of a module there, and one the message of a guard.
    const text = typeof body.error === "object" ? "the handler's own object" : body.error;
    const isTold = causes.some((cause) => text === "varies" || cause.text === text);
    assert.ok(isTold, `${body.error_type} of ${kind}: ${status} ${text}`);
    for (const field of ["violations", "details", "limit", "bytes", "current_length", "key"]) {
      if (field in body) assert.ok(page.includes(`\`${field}\``), `${kind}: ${field}`);
    }
  }
});

Deno.test("the page of an error_type has no status that it does not have", () => {
  for (const [type, statuses] of typesOfAnswers()) {
    const told = new Set(causesOn(pageOf(type)).map(({ status }) => Number(status)));
    assert.deepEqual([...told].sort((a, b) => a - b), statuses, type);
  }
});

const LITERAL = /"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/;
/** One literal, or several with a plus between them. */
const LITERALS = new RegExp(`(?:${LITERAL.source})(?:\\s*\\+\\s*(?:${LITERAL.source}))*`, "g");

/** All texts of the sources, joined where they are, as patterns for a whole text. */
function textsOfSources(): RegExp[] {
  const folders = ["src/http", "src/domain", "src/features", "src/sql", "src/wasm"];
  return folders.flatMap(readSources).flatMap((source) =>
    (source.match(LITERALS) ?? []).map((joined) => {
      const parts = joined.match(new RegExp(LITERAL, "g")) ?? [];
      return patternOf(parts.map((part) => part.slice(1, -1)).join(""));
    })
  );
}

function patternOf(text: string): RegExp {
  const parts = text.split(/\$\{[^}]*\}/).map((part) =>
    part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
  );
  // A text that is nothing but a value would fit everything.
  const isTooVague = parts.join("").replaceAll("\\", "").length < 8;
  return isTooVague ? /^$/ : new RegExp(`^${parts.join(".+")}$`, "s");
}

function readSources(folder: string): string[] {
  const root = new URL("../../", import.meta.url);
  return [...Deno.readDirSync(new URL(folder, root))].flatMap(({ name, isDirectory }) => {
    const inner = `${folder}/${name}`;
    if (isDirectory) return readSources(inner);
    return name.endsWith(".ts") ? [readText(inner)] : [];
  });
}

Deno.test("each text of an error on its page is one that the sources have", () => {
  const patterns = textsOfSources();
  // Those that are put together of parts have been compared with their samples.
  const samples = Object.values(SAMPLES).map((refusal) => describeRefusal(refusal).body.error);
  const texts = markdownFiles("docs/errors").flatMap((path) => causesOn(readText(path)))
    .map(({ text }) => text).filter((text) => text !== "the handler's own object");
  assert.ok(texts.length > 200, `the texts are found: ${texts.length}`);
  const unknown = texts.filter((text) =>
    !samples.includes(text) && !patterns.some((pattern) => pattern.test(text))
  );
  assert.deepEqual(unknown, [], "texts that no source has");
});
