/**
 * Walks tests/golden/tick: each file one subject, each case a handler with what it must do or with
 * the faults it must be refused for. Fails on a case with a field nobody reads, on a file without a
 * subject, and on an operation or a predicate without cases. The fields of a case:
 *
 * - `name`; `handler`, compiled at the path `handler`;
 * - either `state`, `event` or `events` (what is absent of an event is filled in), and `expect`;
 * - or `violations`, each with its `path` and `rule`, all of them and in order.
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { StoredEvent } from "../../../src/domain/event.ts";
import { newFoldBudget } from "../../../src/domain/handler/budget.ts";
import { compileHandler } from "../../../src/domain/handler/compile_handler.ts";
import { fold } from "../../../src/domain/handler/fold.ts";
import { OPERATION_NAMES } from "../../../src/domain/handler/operations.ts";
import { PREDICATE_NAMES } from "../../../src/domain/handler/predicate.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";

interface GoldenCase {
  readonly name: string;
  readonly handler: JsonValue;
  readonly state?: JsonObject;
  readonly event?: Partial<StoredEvent>;
  readonly events?: readonly Partial<StoredEvent>[];
  readonly expect?: JsonObject;
  readonly violations?: readonly { readonly path: string; readonly rule: string }[];
}

const FOLDER = new URL("../../golden/tick/", import.meta.url);
const LANGUAGE = ["handlers", "paths", "predicates", "targets", "templates", "where"];
const FOLD_FIELDS = ["name", "handler", "state", "expect"];

const subjects = new Map<string, readonly GoldenCase[]>();
for (const entry of Deno.readDirSync(FOLDER)) {
  const text = Deno.readTextFileSync(new URL(entry.name, FOLDER));
  subjects.set(entry.name.replace(/\.json$/, ""), JSON.parse(text));
}

/** JSON text compares what the state would be stored as: order of keys and own `__proto__` too. */
function foldText(golden: GoldenCase): string {
  const compiled = compileHandler(golden.handler, "handler");
  ok(compiled.ok, `refused: ${JSON.stringify(compiled)}`);
  const events = (golden.events ?? [golden.event ?? {}]).map(completeEvent);
  const before = JSON.stringify(events);
  const handlers = new Map(events.map((event) => [event.type, compiled.handler]));
  const outcome = fold(handlers, structuredState(golden.state), events, newFoldBudget());
  strictEqual(JSON.stringify(events), before, "the events are as they were");
  ok(outcome.ok);
  return JSON.stringify(outcome.value);
}

function structuredState(state: JsonObject | undefined): JsonObject {
  return JSON.parse(JSON.stringify(state ?? {}));
}

function completeEvent(event: Partial<StoredEvent>): StoredEvent {
  return {
    key: "order:1NVENT0RY",
    type: "was_placed",
    data: {},
    metadata: { actor: { type: "user", id: "global" }, timestamp: 1_700_000_000 },
    ...event,
  };
}

function checkViolations(golden: GoldenCase): void {
  const compiled = compileHandler(golden.handler, "handler");
  ok(!compiled.ok, "it was accepted");
  deepStrictEqual(compiled.violations.map(({ path, rule }) => ({ path, rule })), golden.violations);
  for (const { message, hint } of compiled.violations) ok(message !== "" && hint !== "");
}

for (const [subject, cases] of subjects) {
  for (const golden of cases) {
    Deno.test(`golden tick ${subject}: ${golden.name}`, () => {
      if (golden.violations !== undefined) checkViolations(golden);
      else strictEqual(foldText(golden), JSON.stringify(golden.expect));
    });
  }
}

Deno.test("golden tick cases have the fields that are read, and no others", () => {
  for (const cases of subjects.values()) {
    for (const golden of cases) {
      const fields = golden.violations !== undefined
        ? ["name", "handler", "violations"]
        : [...FOLD_FIELDS, golden.events === undefined ? "event" : "events"];
      deepStrictEqual(Object.keys(golden).sort(), fields.sort(), golden.name);
    }
  }
});

Deno.test("golden tick has a file for each operation and part of the language, and no other", () => {
  deepStrictEqual([...subjects.keys()].sort(), [...OPERATION_NAMES, ...LANGUAGE].sort());
});

Deno.test("golden tick has cases that run and cases that are refused for each operation", () => {
  for (const name of OPERATION_NAMES) {
    const cases = subjects.get(name) ?? [];
    ok(cases.some((golden) => golden.expect !== undefined), name);
    ok(cases.some((golden) => golden.violations !== undefined), name);
  }
});

Deno.test("golden tick tries each target type, wrong or right, for each operation", () => {
  const types = ["missing", "null", "boolean", "number", "string", "array", "object"];
  for (const name of OPERATION_NAMES) {
    for (const type of types) {
      ok(subjects.get(name)?.some((golden) => golden.name.endsWith(` ${type}`)), `${name} ${type}`);
    }
  }
});

Deno.test("golden tick has cases for each predicate", () => {
  for (const name of PREDICATE_NAMES) {
    ok(subjects.get("predicates")?.some((golden) => golden.name.startsWith(`${name}:`)), name);
  }
});
