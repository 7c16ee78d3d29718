/**
 * Types of event data against the official test suite of JSON Schema: for each schema that a
 * deploy accepts, every valid instance compiles as a literal of the generated type, and no type
 * is `never`.
 */

import assert from "node:assert/strict";
import ts from "typescript";
import type { JsonObject, JsonValue } from "../../../../src/domain/json.ts";
import { isJsonObject } from "../../../../src/domain/json.ts";
import { writeTypes } from "../../../../src/domain/spec/shapes/write_types.ts";
import { openCompiler } from "../../../support/compile_schema.ts";
import { compileTypes } from "../../../support/compile_types.ts";

const SUITE = new URL("../../../vendor/json-schema-test-suite/draft2020-12/", import.meta.url);

interface Group {
  readonly description: string;
  readonly schema: JsonValue;
  readonly tests: readonly { readonly data: JsonValue }[];
}

interface Case {
  readonly from: string;
  readonly schema: JsonValue;
  readonly instances: readonly JsonValue[];
}

function groupsOf(folder: URL, prefix = ""): [string, Group][] {
  const entries = [...Deno.readDirSync(folder)].sort((a, b) => a.name < b.name ? -1 : 1);
  return entries.flatMap(({ name, isDirectory }) => {
    if (isDirectory) return groupsOf(new URL(`${name}/`, folder), `${prefix}${name}/`);
    const groups: Group[] = JSON.parse(Deno.readTextFileSync(new URL(name, folder)));
    return groups.map((
      group,
    ): [string, Group] => [`${prefix}${name}: ${group.description}`, group]);
  });
}

/** The instances that the product itself takes; none if it refuses the schema. */
function caseOf(from: string, schema: JsonValue, all: readonly JsonValue[]): Case[] {
  const validate = openCompiler().compile(schema);
  if (validate === undefined) return [];
  const isTaken = (data: JsonValue) =>
    isJsonObject(data) && isFinite(data) && validate(data).length === 0;
  return [{ from, schema, instances: all.filter(isTaken) }];
}

/** JSON.parse makes Infinity of numbers that no double holds; no event has them. */
function isFinite(data: JsonValue): boolean {
  return !JSON.stringify(data, (_, each) => each === Infinity ? "Infinity" : each)
    .includes('"Infinity"');
}

/** The same schema for a field of an object, so that instances of all kinds are tried. */
function wrapped(schema: JsonValue): JsonValue {
  const inner = isJsonObject(schema) ? { $id: "urn:daybook:wrapped", ...schema } : schema;
  return { type: "object", properties: { v: inner }, required: ["v"], additionalProperties: false };
}

const groups = groupsOf(SUITE);
const cases = groups.flatMap(([from, { schema, tests }]) => {
  const data = tests.map((test) => test.data);
  return [
    ...caseOf(from, schema, data),
    ...caseOf(`${from} (in a field)`, wrapped(schema), data.map((v) => ({ v }))),
  ];
});

/** A value as TypeScript; `__proto__` as a key that makes a property. */
function literal(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (!isJsonObject(value)) return text(value);
  const fields = Object.entries(value).map(([name, each]) => `[${text(name)}]: ${literal(each)}`);
  return `{ ${fields.join(", ")} }`;
}

/** One line, also for the compiler. */
function text(value: JsonValue): string {
  return JSON.stringify(value).replaceAll(
    /[\u2028\u2029]/g,
    (mark) => `\\u${mark.charCodeAt(0).toString(16)}`,
  );
}

function specOf(schemas: readonly JsonValue[]): JsonObject {
  const events = Object.fromEntries(
    schemas.map((schema, index) => [`e${index}`, { schema, handler: [] }]),
  );
  return { agent_types: ["user"], aggregate_types: { a: { events } } };
}

Deno.test("each valid instance of the official suite compiles, and no type is never", () => {
  const types = writeTypes(specOf(cases.map(({ schema }) => schema)), "Suite");
  const names = cases.map((_, index) => `AE${index}`);
  const lines = [`import type * as T from "./types.ts";`];
  const origin: string[] = [""];
  for (const [index, { from, instances }] of cases.entries()) {
    for (const instance of instances) {
      lines.push(`export const v${lines.length}: T.${names[index]} = ${literal(instance)};`);
      origin.push(`${from}: ${JSON.stringify(instance)}`);
    }
  }
  const { faults, program } = compileTypes({
    "/memory/types.ts": types,
    "/memory/instances.ts": lines.join("\n"),
  });
  assert.deepEqual(
    faults.map((fault) => {
      const line = /^\/memory\/instances\.ts:(\d+): /.exec(fault)?.[1];
      return line === undefined ? fault : `${origin[Number(line) - 1]}: ${fault}`;
    }),
    [],
  );
  const instances = lines.length - 1;
  assert(cases.length > 500 && instances > 900, `${cases.length} schemas, ${instances} instances`);
  const checker = program.getTypeChecker();
  for (const symbol of checker.getExportsOfModule(moduleOf(program, checker))) {
    const type = checker.getDeclaredTypeOfSymbol(symbol);
    assert.equal(type.flags & ts.TypeFlags.Never, 0, symbol.name);
  }
});

function moduleOf(program: ts.Program, checker: ts.TypeChecker): ts.Symbol {
  return checker.getSymbolAtLocation(program.getSourceFile("/memory/types.ts")!)!;
}
