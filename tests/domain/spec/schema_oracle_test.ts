/**
 * Event schemas mean what Draft 2020-12 says: cases written from the specification, and generated
 * ones, both put to an implementation that shares no code with ours.
 */

import assert from "node:assert/strict";
import { type Schema, Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { createSchemaCompiler } from "../../../src/domain/spec/event_schema.ts";
import { createFaultList } from "../../../src/domain/spec/fault_list.ts";

interface SchemaCase {
  readonly name: string;
  readonly schema: JsonValue;
  readonly valid: readonly JsonValue[];
  readonly invalid: readonly JsonValue[];
}

const VOCABULARIES = ["core", "applicator", "unevaluated", "validation", "format"];

function readCases(vocabulary: string): SchemaCase[] {
  const file = new URL(`../../golden/spec/schemas/${vocabulary}.json`, import.meta.url);
  return JSON.parse(Deno.readTextFileSync(file));
}

type Verdict = (value: JsonValue) => boolean;

/** Our verdict on any value, though the data of an event is an object: it asks for no type itself. */
function ours(schema: JsonValue): Verdict {
  const faults = createFaultList();
  const validate = createSchemaCompiler().compile(schema, "schema", faults);
  assert(validate, JSON.stringify(faults.faults));
  return (value) => validate(value as JsonObject).length === 0;
}

/** A copy goes in, for the oracle writes into the schemas it is given. */
function oracle(schema: JsonValue): Verdict {
  const validator = new Validator(structuredClone(schema) as Schema, "2020-12", false);
  return (value) => validator.validate(value).valid;
}

/**
 * Where the oracle departs from the draft, seen in its source: the case's written answer stands, and
 * only ours is held against it.
 */
const ORACLE_FAULTS: ReadonlyMap<string, string> = new Map([]);

for (const vocabulary of VOCABULARIES) {
  for (const { name, schema, valid, invalid } of readCases(vocabulary)) {
    Deno.test(`event schemas, ${vocabulary} vocabulary: ${name}`, () => {
      const judges: [string, Verdict][] = [["ours", ours(schema)]];
      if (!ORACLE_FAULTS.has(name)) judges.push(["oracle", oracle(schema)]);
      for (const [judge, verdict] of judges) {
        for (const value of valid) assert(verdict(value), `${judge}: ${JSON.stringify(value)}`);
        for (const value of invalid) assert(!verdict(value), `${judge}: ${JSON.stringify(value)}`);
      }
    });
  }
}
