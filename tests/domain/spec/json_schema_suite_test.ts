/**
 * Event schemas against the official test suite of JSON Schema, Draft 2020-12. Intended
 * differences are listed in `golden/spec/json_schema_suite.json`, by file and reason: a group
 * whose schema is refused at a deploy, or single tests of a group. A listed difference that no
 * longer differs fails too.
 */

import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { createFaultList } from "../../../src/domain/spec/fault_list.ts";
import { openCompiler } from "../../support/compile_schema.ts";

const SUITE = new URL("../../vendor/json-schema-test-suite/draft2020-12/", import.meta.url);
const EXCEPTIONS = new URL("../../golden/spec/json_schema_suite.json", import.meta.url);

interface Group {
  readonly description: string;
  readonly schema: JsonValue;
  readonly tests: readonly {
    readonly description: string;
    readonly data: JsonValue;
    readonly valid: boolean;
  }[];
}

interface Exception {
  readonly file: string;
  readonly why: string;
  /** Groups that are refused at a deploy. */
  readonly refused?: readonly string[];
  /** From a group to those of its tests that are judged differently. */
  readonly judged?: Readonly<Record<string, readonly string[]>>;
}

function readJson<T>(url: URL): T {
  return JSON.parse(Deno.readTextFileSync(url));
}

function filesIn(folder: URL, prefix = ""): string[] {
  const entries = [...Deno.readDirSync(folder)].sort((a, b) => a.name < b.name ? -1 : 1);
  return entries.flatMap(({ name, isDirectory }) =>
    isDirectory ? filesIn(new URL(`${name}/`, folder), `${prefix}${name}/`) : [prefix + name]
  );
}

/**
 * The differences in a file: `group` if it is refused, `group: test` if a test is judged
 * differently.
 */
function differencesIn(file: string): string[] {
  const differences: string[] = [];
  for (const { description, schema, tests } of readJson<Group[]>(new URL(file, SUITE))) {
    const validate = openCompiler().compile(schema, "schema", createFaultList());
    if (validate === undefined) {
      differences.push(description);
      continue;
    }
    for (const test of tests) {
      // The data of an event is an object; the validator itself does not require one.
      const isValid = validate(test.data as JsonObject).length === 0;
      if (isValid !== test.valid) differences.push(`${description}: ${test.description}`);
    }
  }
  return differences;
}

function namesOf({ refused = [], judged = {} }: Exception): string[] {
  const tests = Object.entries(judged).flatMap(([group, names]) =>
    names.map((name) => `${group}: ${name}`)
  );
  return [...refused, ...tests];
}

const exceptions = readJson<Exception[]>(EXCEPTIONS);
const files = filesIn(SUITE);

for (const file of files) {
  Deno.test(`event schemas agree with the official suite, but for what is named: ${file}`, () => {
    const named = exceptions.filter((exception) => exception.file === file).flatMap(namesOf);
    const differences = differencesIn(file);
    assert.deepEqual(
      differences.filter((difference) => !named.includes(difference)),
      [],
      "These differ and are no known exceptions",
    );
    assert.deepEqual(
      named.filter((name) => !differences.includes(name)),
      [],
      "These agree: take them out of golden/spec/json_schema_suite.json",
    );
  });
}

Deno.test("the exceptions of the official suite name its files, each with a reason", () => {
  for (const { file, why } of exceptions) {
    assert(files.includes(file), file);
    assert(why.length > 0, file);
  }
  assert(files.length > 60, "the suite is there");
});

Deno.test("no test of a known format differs from the official suite", () => {
  const unknown = "optional/format/unknown.json";
  const formats = exceptions.filter(({ file }) => file.startsWith("optional/format/"));
  assert.deepEqual(formats.filter(({ file }) => file !== unknown), []);
});
