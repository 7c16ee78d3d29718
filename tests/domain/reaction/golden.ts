/**
 * Runs the cases in tests/golden/implications: each file has one subject. Each case has
 * implications of `order.was_placed` and says what an event implies, or the faults for which
 * they must be refused. The fields of a case:
 *
 * - `name`; `implications`, compiled at the path `implications` with the terms of the examples;
 * - either `event` (missing parts are filled in), `actions` in order, and `failures`, each with
 *   its `path` and a part of its `message`; absent means none;
 * - or `violations`, each with its `path`, its `rule` and perhaps its `hint`, all and in order.
 */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { StoredEvent } from "../../../src/domain/event.ts";
import type { JsonValue } from "../../../src/domain/json.ts";
import { compileExample, completeEvent, showActions } from "./worked_example.ts";

interface GoldenFailure {
  readonly path: string;
  readonly message: string;
}

interface GoldenViolation {
  readonly path: string;
  readonly rule: string;
  readonly hint?: string;
}

export interface GoldenCase {
  readonly name: string;
  readonly implications: JsonValue;
  readonly event?: Partial<StoredEvent>;
  readonly actions?: readonly JsonValue[];
  readonly failures?: readonly GoldenFailure[];
  readonly violations?: readonly GoldenViolation[];
}

const FOLDER = new URL("../../golden/implications/", import.meta.url);

/** All cases, by the name of their file. */
export const GOLDEN = new Map<string, readonly GoldenCase[]>();
for (const entry of Deno.readDirSync(FOLDER)) {
  const text = Deno.readTextFileSync(new URL(entry.name, FOLDER));
  GOLDEN.set(entry.name.replace(/\.json$/, ""), JSON.parse(text));
}

function checkActions(golden: GoldenCase): void {
  const compiled = compileExample(golden.implications);
  ok(compiled.ok, `refused: ${JSON.stringify(compiled)}`);
  const event = completeEvent(golden.event ?? {});
  const before = JSON.stringify(event);
  const { actions, failures } = compiled.reactions(event);
  strictEqual(JSON.stringify(event), before, "the event is as it was");
  // As text, because the order of keys in data is part of what is stored.
  strictEqual(JSON.stringify(showActions(actions)), JSON.stringify(golden.actions ?? []));
  const wanted = golden.failures ?? [];
  deepStrictEqual(failures.map(({ path }) => path), wanted.map(({ path }) => path));
  for (const [index, { message }] of wanted.entries()) {
    ok(failures[index]!.message.includes(message), failures[index]!.message);
  }
  for (const { emission } of actions) {
    strictEqual(emission.key, `${emission.aggregateType}:${emission.id}`);
  }
}

function checkViolations({ implications, violations }: GoldenCase): void {
  const compiled = compileExample(implications);
  ok(!compiled.ok, "it was accepted");
  deepStrictEqual(
    compiled.violations.map(({ path, rule }) => ({ path, rule })),
    violations!.map(({ path, rule }) => ({ path, rule })),
  );
  for (const [index, { message, hint }] of compiled.violations.entries()) {
    ok(message !== "" && hint !== "");
    const wanted = violations![index]!.hint;
    if (wanted !== undefined) strictEqual(hint, wanted);
  }
}

/** Registers one test for each case of a subject; a file of that name must exist. */
export function testGolden(subject: string): void {
  const cases = GOLDEN.get(subject);
  ok(cases !== undefined && cases.length > 0, `${subject}.json has no cases`);
  for (const golden of cases) {
    Deno.test(`golden implications ${subject}: ${golden.name}`, () => {
      if (golden.violations !== undefined) checkViolations(golden);
      else checkActions(golden);
    });
  }
}
