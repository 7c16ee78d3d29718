/**
 * Runs the golden cases of every operation and checks that no case goes unread. It fails on a
 * field or a file that nobody reads, and on an operation or a predicate without cases.
 */

import { deepStrictEqual, ok } from "node:assert/strict";
import fc from "fast-check";
import { OPERATION_NAMES } from "../../../src/domain/handler/operations.ts";
import { PREDICATE_NAMES } from "../../../src/domain/handler/predicate.ts";
import { GOLDEN, testGolden } from "./golden.ts";
import { handlerDefinition } from "./random_handler.ts";

/** The other subjects; each is read by the test named after it, `handlers` here. */
const PARTS = ["handlers", "paths", "predicates", "targets", "templates", "where"];
const FOLD_FIELDS = ["name", "handler", "state", "expect"];

for (const name of OPERATION_NAMES) testGolden(name);
testGolden("handlers");

Deno.test("golden tick cases have the fields that are read, and no others", () => {
  for (const cases of GOLDEN.values()) {
    for (const golden of cases) {
      const fields = golden.violations !== undefined
        ? ["name", "handler", "violations"]
        : [...FOLD_FIELDS, golden.events === undefined ? "event" : "events"];
      deepStrictEqual(Object.keys(golden).sort(), fields.sort(), golden.name);
    }
  }
});

Deno.test("golden tick has a file for each operation and each part, and no other", () => {
  for (const name of GOLDEN.keys()) {
    ok(PARTS.includes(name) || OPERATION_NAMES.includes(name), `no operation is named ${name}`);
  }
  for (const name of [...OPERATION_NAMES, ...PARTS]) {
    ok(GOLDEN.has(name), `tests/golden/tick/${name}.json is missing`);
  }
});

Deno.test("golden tick has cases that run and cases that are refused for each operation", () => {
  for (const name of OPERATION_NAMES) {
    const cases = GOLDEN.get(name) ?? [];
    ok(cases.some((golden) => golden.expect !== undefined), name);
    ok(cases.some((golden) => golden.violations !== undefined), name);
  }
});

Deno.test("golden tick tries each type of target for each operation", () => {
  const types = ["missing", "null", "boolean", "number", "string", "array", "object"];
  for (const name of OPERATION_NAMES) {
    for (const type of types) {
      ok(GOLDEN.get(name)?.some((golden) => golden.name.endsWith(` ${type}`)), `${name} ${type}`);
    }
  }
});

Deno.test("random handlers have each operation", () => {
  const text = fc.sample(handlerDefinition, { numRuns: 3_000, seed: 1 })
    .map((handler) => JSON.stringify(handler)).join("\n");
  for (const name of OPERATION_NAMES) {
    ok(text.includes(`{"${name}":`), `add a line with ${name} to random_handler.ts`);
  }
});

Deno.test("golden tick has cases for each predicate", () => {
  for (const name of PREDICATE_NAMES) {
    ok(GOLDEN.get("predicates")?.some((golden) => golden.name.startsWith(`${name}:`)), name);
  }
});
