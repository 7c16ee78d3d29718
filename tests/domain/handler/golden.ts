/**
 * Runs the cases in tests/golden/tick: each file has one subject, each case one handler. A case
 * says what the handler must do, or the faults for which it must be refused. The fields of a
 * case:
 *
 * - `name`; `handler`, compiled at the path `handler`;
 * - either `state`, `event` or `events` (missing parts of an event are filled in), and
 *   `expect`;
 * - or `violations`, each with its `path` and `rule`, all of them and in order.
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { StoredEvent } from "../../../src/domain/event.ts";
import { newFoldBudget } from "../../../src/domain/handler/budget.ts";
import { compileHandler } from "../../../src/domain/handler/compile_handler.ts";
import { fold } from "../../../src/domain/handler/fold.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";

export interface GoldenCase {
  readonly name: string;
  readonly handler: JsonValue;
  readonly state?: JsonObject;
  readonly event?: Partial<StoredEvent>;
  readonly events?: readonly Partial<StoredEvent>[];
  readonly expect?: JsonObject;
  readonly violations?: readonly { readonly path: string; readonly rule: string }[];
}

const FOLDER = new URL("../../golden/tick/", import.meta.url);

/** All cases, by the name of their file. */
export const GOLDEN = new Map<string, readonly GoldenCase[]>();
for (const entry of Deno.readDirSync(FOLDER)) {
  const text = Deno.readTextFileSync(new URL(entry.name, FOLDER));
  GOLDEN.set(entry.name.replace(/\.json$/, ""), JSON.parse(text));
}

/**
 * Compares JSON text, as the state would be stored: key order and an own `__proto__` count too.
 */
function foldText(golden: GoldenCase): string {
  const compiled = compileHandler(golden.handler, "handler");
  ok(compiled.ok, `refused: ${JSON.stringify(compiled)}`);
  const events = (golden.events ?? [golden.event ?? {}]).map(completeEvent);
  const before = JSON.stringify(events);
  const handlers = new Map(events.map((event) => [event.type, compiled.handler]));
  const outcome = fold(handlers, structuredState(golden.state), events, newFoldBudget());
  strictEqual(JSON.stringify(events), before, "the events are as they were");
  ok(outcome.ok);
  const text = JSON.stringify(outcome.value);
  deepStrictEqual(outcome.value, JSON.parse(text), "JSON text can hold the state: it has no -0");
  return text;
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

/** Registers one test for each case of a subject; a file of that name must exist. */
export function testGolden(subject: string): void {
  const cases = GOLDEN.get(subject);
  ok(cases !== undefined && cases.length > 0, `tests/golden/tick/${subject}.json has no cases`);
  for (const golden of cases) {
    Deno.test(`golden tick ${subject}: ${golden.name}`, () => {
      if (golden.violations !== undefined) checkViolations(golden);
      else strictEqual(foldText(golden), JSON.stringify(golden.expect));
    });
  }
}
