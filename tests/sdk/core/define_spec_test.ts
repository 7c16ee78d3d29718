/**
 * Types of `defineSpec` against those that `daybook types` writes: for each of these specs, both
 * are assignable to each other, state by state and event by event.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import ts from "typescript";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import { writeTypes } from "../../../src/domain/spec/shapes/write_types.ts";
import { defineSpec } from "@daybook/client";
import { handlerDefinition } from "../../domain/handler/random_handler.ts";
import { compileTypes } from "../../support/compile_types.ts";

const CORE = new URL("../../../sdk/src/core/define_spec.ts", import.meta.url).pathname;
const CLIENT_TYPES = new URL("../../../sdk/src/core/client_types.ts", import.meta.url).pathname;

function object(properties: JsonObject, required = Object.keys(properties)): JsonObject {
  return { type: "object", properties, required, additionalProperties: false };
}

const TEXT = { type: "string" };
const COUNT = { type: "integer" };
const LINE = object({ sku: TEXT, qty: COUNT });

/** Handlers of one event type whose data is {@link DATA}, by what they show. */
const DATA = object(
  {
    sku: TEXT,
    qty: COUNT,
    note: TEXT,
    line: LINE,
    lines: { type: "array", items: LINE },
    kind: { enum: ["a", "b"] },
    any: true,
    at: { type: ["string", "null"] },
    tags: { type: "array", items: TEXT },
  },
  ["sku", "qty", "line", "lines", "kind"],
);

const HANDLERS: Readonly<Record<string, readonly JsonValue[]>> = {
  set: [{ set: { target: "s", value: "$.data.sku" } }],
  set_of_optional: [{ set: { target: "s", value: "$.data.note" } }],
  set_if_present: [{ set: { target: "s", value: "$.data.note?" } }],
  set_of_unknown: [{ set: { target: "s", value: "$.data.any" } }],
  set_of_choice: [{ set: { target: "s", value: "$.data.kind" } }],
  set_of_nullable: [{ set: { target: "s", value: "$.data.at?" } }],
  set_of_nested: [{ set: { target: "s", value: "$.data.line.qty" } }],
  set_of_object: [{ set: { target: "s", value: "$.data.line" } }],
  set_of_all: [{ set: { target: "s", value: "$.data" } }],
  set_of_literals: [{ set: { target: "s", value: "x" } }, { set: { target: "s", value: 1 } }],
  set_of_null: [{ set: { target: "s", value: null } }, { set: { target: "s", value: true } }],
  set_of_template: [{
    set: { target: "s", value: { a: "$.data.sku", b: [1, "$.data.qty"], c: { d: "$.id" } } },
  }],
  set_of_metadata: [
    { set: { target: "at", value: "$.metadata.timestamp" } },
    { set: { target: "by", value: "$.metadata.actor" } },
    { set: { target: "who", value: "$.metadata.actor.id" } },
    { set: { target: "whom", value: "$.metadata.target" } },
    { set: { target: "key", value: "$.key" } },
    { set: { target: "type", value: "$.type" } },
  ],
  set_of_literal: [{ set: { target: "s", value: { $literal: "$5" } } }],
  set_explicitly: [{ set: { target: "s", value: { $: "$.data.sku" } } }],
  set_in_object: [{ set: { target: "a.b", value: "$.data.sku" } }],
  set_in_objects: [
    { set: { target: "a.b", value: "$.data.sku" } },
    { set: { target: "a.c", value: "$.data.qty" } },
    { set: { target: "d.e.f", value: 1 } },
  ],
  set_state: [{ set: { target: "", value: "$.data" } }],
  merge_state: [
    { merge: { target: "", value: "$.data" } },
    { set: { target: "sku", value: null } },
    { set: { target: "status", value: "placed" } },
  ],
  merge: [{ merge: { target: "m", value: "$.data.line" } }],
  merge_twice: [
    { merge: { target: "m", value: "$.data.line" } },
    { merge: { target: "m", value: { sku: "$.data.sku", gift: true } } },
  ],
  increment: [{ increment: { target: "n" } }, { decrement: { target: "n", by: "$.data.qty" } }],
  increment_in_object: [{ increment: { target: "totals.all" } }],
  append: [{ append: { target: "l", value: "$.data.sku" } }],
  append_of_objects: [
    { append: { target: "l", value: "$.data.line" } },
    { append: { target: "l", value: { sku: "$.data.sku", gift: true } } },
  ],
  append_to_set: [
    { set: { target: "l", value: "$.data.lines" } },
    { append: { target: "l", value: "$.data.line" } },
  ],
  append_to_reset: [
    { set: { target: "l", value: [] } },
    { append_unique: { target: "l", value: "$.data.sku" } },
  ],
  append_to_optional: [
    { set: { target: "l", value: "$.data.tags" } },
    { append: { target: "l", value: "$.data.qty" } },
  ],
  upsert: [{ upsert: { target: "l", key: "sku", value: "$.data.line" } }],
  upsert_of_parts: [
    { upsert: { target: "l", key: "sku", value: "$.data.line" } },
    { upsert: { target: "l", key: "sku", value: { sku: "$.data.sku", shipped: true } } },
  ],
  set_at: [{ set_at: { target: "m", key: "$.data.sku", value: "$.data.line" } }],
  set_at_text: [{ set_at: { target: "m", key: "x", value: "$.data.qty" } }],
  merge_at: [{ merge_at: { target: "m", key: "$.data.sku", value: { n: "$.data.qty" } } }],
  increment_at: [{ increment_at: { target: "votes", key: "$.data.sku" } }],
  increment_at_reset: [
    { set: { target: "votes", value: {} } },
    { increment_at: { target: "votes", key: "$.data.sku", by: "$.data.qty" } },
  ],
  if: [{
    if: { exists: "@.s" },
    then: { set: { target: "s", value: 1 } },
    else: [{ set: { target: "s", value: "x" } }, { increment: { target: "n" } }],
  }],
  let: [{
    let: { line: "$.data.line", $q: "$.data.qty" },
    then: [
      { set: { target: "sku", value: "$line.sku" } },
      { set: { target: "line", value: "$line" } },
      { set: { target: "q", value: "$q" } },
    ],
  }],
  remove: [
    { set: { target: "s", value: 1 } },
    { remove: { target: "s" } },
    { append: { target: "l", value: "$.data.line" } },
    { filter: { target: "l", where: { sku: "$.data.sku" } } },
    { remove: { target: "l", where: { sku: "$.data.sku" } } },
  ],
  nothing: [],
};

/** Schemas of data, by what they show. */
const SCHEMAS: Readonly<Record<string, JsonValue>> = {
  anything: true,
  nothing_said: {},
  any_object: { type: "object" },
  open: { type: "object", properties: { a: TEXT }, required: ["a"] },
  open_by_name: { type: "object", properties: { a: TEXT }, additionalProperties: true },
  untyped: { properties: { a: TEXT }, required: ["a"], additionalProperties: false },
  closed: object({ a: TEXT, b: COUNT }, ["a"]),
  empty: object({}),
  required_only: { type: "object", required: ["a"] },
  scalars: object({
    a: { type: "boolean" },
    b: { type: "null" },
    c: { type: ["number", "null"] },
    d: { const: "x" },
    e: { enum: [1, "y", null] },
    f: { type: "string", format: "date-time", minLength: 1 },
  }),
  arrays: object({
    a: { type: "array" },
    b: { type: "array", items: { type: "array", items: TEXT } },
  }),
  nested: object({ a: object({ b: object({ c: TEXT }, []) }) }),
  map: { type: "object", additionalProperties: COUNT },
  map_within: object({ m: { type: "object", additionalProperties: LINE } }),
  choice: object({
    by: {
      oneOf: [
        object({ kind: { const: "card" }, last4: TEXT }),
        object({ kind: { const: "cash" } }),
      ],
    },
  }),
  choice_of_data: {
    type: "object",
    oneOf: [object({ kind: { const: "card" }, last4: TEXT }), object({ kind: { const: "cash" } })],
  },
  any_of_scalars: object({ v: { anyOf: [TEXT, COUNT, { type: "null" }] } }),
  all_of: object({ v: { allOf: [object({ a: TEXT }), { type: "object" }] } }),
  references: {
    ...object({
      line: { $ref: "#/$defs/line" },
      lines: { type: "array", items: { $ref: "#/$defs/line" } },
    }),
    $defs: { line: LINE },
  },
  tree: {
    ...object({ tree: { $ref: "#/$defs/tree" } }),
    $defs: {
      tree: object({ name: TEXT, kids: { type: "array", items: { $ref: "#/$defs/tree" } } }, [
        "name",
      ]),
    },
  },
  odd_names: object({ "odd key": TEXT, "1": COUNT, class: TEXT }),
};

function specs(): Record<string, JsonObject> {
  const one = (schema: JsonValue, handler: JsonValue): JsonObject => ({
    agent_types: ["user", "admin"],
    target_types: ["customer"],
    aggregate_types: { order: { events: { was_done: { schema, handler } } } },
  });
  return {
    ...Object.fromEntries(
      Object.entries(HANDLERS).map(([name, handler]) => [
        `handler_${name}`,
        one(DATA, handler.length === 1 ? handler[0]! : handler as JsonValue),
      ]),
    ),
    ...Object.fromEntries(
      Object.entries(SCHEMAS).map(([name, schema]) => [
        `schema_${name}`,
        one(schema, { set: { target: "data", value: "$.data" } }),
      ]),
    ),
    several_events: {
      agent_types: ["user"],
      aggregate_types: {
        order: {
          events: {
            was_placed: { schema: DATA, handler: { merge: { target: "", value: "$.data" } } },
            was_paid: {
              schema: object({ qty: TEXT }),
              handler: { merge: { target: "", value: "$.data" } },
            },
            was_noted: { schema: true, handler: { set: { target: "status", value: "noted" } } },
            _was_tombstoned: { handler: { set: { target: "gone", value: true } } },
          },
        },
        empty: { events: {} },
      },
    },
    open_state: one(true, [{ merge: { target: "", value: "$.data" } }, {
      set: { target: "s", value: 1 },
    }]),
  };
}

Deno.test("types of defineSpec and those that are written can take each other's place", () => {
  const files: Record<string, string> = {};
  const claims: string[] = [
    `import type { ClientTypes } from "${CLIENT_TYPES}";`,
    "export type Mutual<A, B> = [A] extends [B] ? [B] extends [A] ? true : 'narrower' : 'wider';",
    // With optional fields, types that lack some of them could take each other's place.
    "export type Sure<T> = T extends object ? { [Key in keyof T]-?: Sure<T[Key]> } : T;",
    "export type IsAny<T> = 0 extends 1 & T ? true : false;",
    "export function fits<_Types extends ClientTypes>(): void {}",
  ];
  const origin: string[] = claims.map(() => "");
  for (const [name, spec] of Object.entries(specs())) {
    const compiled = compileSpec(spec);
    assert(compiled.ok, `${name}: ${JSON.stringify(compiled)}`);
    files[`/memory/${name}_written.ts`] = writeTypes(spec, "Written");
    files[`/memory/${name}_defined.ts`] = [
      `import { defineSpec, type TypesOf } from "${CORE}";`,
      `export const spec = defineSpec(${JSON.stringify(spec)});`,
      "export type Defined = TypesOf<typeof spec>;",
    ].join("\n");
    const [written, defined] = [`W_${name}`, `D_${name}`];
    claims.push(`import type { Written as ${written} } from "./${name}_written.ts";`);
    claims.push(`import type { Defined as ${defined} } from "./${name}_defined.ts";`);
    claims.push(`fits<${defined}>();`);
    origin.push("", "", name);
    const about = (path: string) => {
      const [a, b] = [`${defined}${path}`, `${written}${path}`];
      // Only one of both names a field of which nothing more is known than of all others.
      const sure = name === "open_state" ? "true" : `Mutual<Sure<${a}>, Sure<${b}>>`;
      claims.push(
        `export const c${claims.length}: [Mutual<${a}, ${b}>, ${sure}, IsAny<${a}>] = ` +
          `[true, true, false];`,
      );
      origin.push(`${name}${path}`);
    };
    about(`["actors"]`);
    about(`["targets"]`);
    for (const [type, definition] of Object.entries(spec.aggregate_types as JsonObject)) {
      about(`["aggregates"]["${type}"]["state"]`);
      const { events } = definition as { events: JsonObject };
      for (const event of Object.keys(events).filter((each) => !each.startsWith("_"))) {
        about(`["aggregates"]["${type}"]["events"]["${event}"]`);
      }
      about(`["aggregates"]["${type}"]["events"]`);
    }
    about(`["aggregates"]`);
  }
  const { faults } = compileTypes({ ...files, "/memory/claims.ts": claims.join("\n") });
  assert.deepEqual(
    faults.map((fault) => {
      const line = /^\/memory\/claims\.ts:(\d+): /.exec(fault)?.[1];
      return line === undefined ? fault : `${origin[Number(line) - 1]}: ${fault}`;
    }),
    [],
  );
});

Deno.test("of random handlers, a state of defineSpec has all that the written one has", () => {
  const seed = 20261125;
  const handlers = fc.sample(handlerDefinition, { numRuns: 100, seed });
  const files: Record<string, string> = {};
  const claims = [
    "type Plain<T> = { [Key in keyof T]: T[Key] };",
    "type Names<W, D> = string extends keyof W ? true : keyof W extends keyof D ? true : 'names';",
    "export type Fits<W, D> = [Plain<W>] extends [D] ? Names<W, D> : 'narrower';",
  ];
  const first = claims.length + 1;
  for (const [index, handler] of handlers.entries()) {
    const event = { schema: DATA, handler };
    const spec = { agent_types: ["user"], aggregate_types: { o: { events: { e: event } } } };
    const text = JSON.stringify(spec).replaceAll('"__proto__":', '["__proto__"]:');
    files[`/memory/w${index}.ts`] = writeTypes(JSON.parse(JSON.stringify(spec)), "Written");
    files[`/memory/d${index}.ts`] = [
      `import { defineSpec, type TypesOf } from "${CORE}";`,
      `const spec = defineSpec(${text});`,
      `export type State = TypesOf<typeof spec>["aggregates"]["o"]["state"];`,
    ].join("\n");
    claims.push(
      `import type { OState as W${index} } from "./w${index}.ts"; ` +
        `import type { State as D${index} } from "./d${index}.ts"; ` +
        `export const c${index}: Fits<W${index}, D${index}> = true;`,
    );
  }
  const { faults } = compileTypes({ ...files, "/memory/claims.ts": claims.join("\n") });
  assert.deepEqual(
    faults.map((fault) => {
      const line = /^\/memory\/claims\.ts:(\d+): /.exec(fault)?.[1];
      return line === undefined
        ? fault
        : `${JSON.stringify(handlers[Number(line) - first])}: ${fault}`;
    }),
    [],
  );
});

Deno.test("defineSpec() gives back what it was given, and refuses what is no handler or schema", () => {
  const spec = defineSpec({
    agent_types: ["user"],
    aggregate_types: {
      counter: {
        events: { was_counted: { schema: true, handler: { increment: { target: "n" } } } },
      },
    },
  });
  assert.deepEqual(spec.agent_types, ["user"]);
  const event = (handler: string, schema = "true") =>
    `defineSpec({ agent_types: ["user"], aggregate_types: { a: { events: { b: { schema: ${schema}, handler: ${handler} } } } } });`;
  const lines = [
    `import { defineSpec } from "${CORE}";`,
    event(`{ increment: { target: "n" } }`),
    event(`{ incremnt: { target: "n" } }`),
    event(`[{ set: { target: "n" } }]`),
    event(`[]`, `{ type: "strng" }`),
    event(`[]`, `{ properties: { a: { type: "object" } } }`),
    `defineSpec({ aggregate_types: {} });`,
  ];
  const { faults } = compileTypes({ "/memory/use.ts": lines.join("\n") });
  assert.deepEqual(
    faults.map((fault) => /:(\d+): /.exec(fault)?.[1]),
    ["3", "4", "5", "7"],
  );
});

/** The compiler's work for a spec of so many event types, of which every one writes a field. */
function instantiationsOf(eventTypes: number): number {
  const events = Array.from({ length: eventTypes }, (_, index) => [`event_${index}`, {
    schema: DATA,
    handler: [
      { set: { target: `field_${index}`, value: "$.data.line" } },
      { append: { target: "notes", value: { text: "$.data.note", by: `event_${index}` } } },
    ],
  }]);
  const spec = {
    agent_types: ["user"],
    aggregate_types: { o: { events: Object.fromEntries(events) } },
  };
  const reads = Array.from(
    { length: eventTypes },
    (_, index) => `export const f${index}: number | undefined = state.field_${index}?.qty;`,
  );
  const { faults, program } = compileTypes({
    "/memory/use.ts": [
      `import { defineSpec, type TypesOf } from "${CORE}";`,
      `const spec = defineSpec(${JSON.stringify(spec)});`,
      `type Order = TypesOf<typeof spec>["aggregates"]["o"];`,
      'declare const state: Order["state"];',
      "export const notes: readonly { readonly by: string }[] = state.notes ?? [];",
      ...reads,
    ].join("\n"),
  });
  assert.deepEqual(faults, []);
  return program.getInstantiationCount();
}

Deno.test("types of defineSpec cost the compiler in proportion to the event types", () => {
  const [few, many] = [instantiationsOf(50), instantiationsOf(200)];
  assert(many < few * 5, `${few} instantiations of 50 event types, ${many} of 200`);
});

/** What an editor offers at the `|` of an event's definition. */
function completionsIn(definition: string): readonly string[] {
  const head = `import { defineSpec } from "${CORE}";\n` +
    `defineSpec({ agent_types: ["user"], aggregate_types: { a: { events: { b: { `;
  const place = head.length + definition.indexOf("|");
  const text = head + definition.replace("|", "") + " } } } } });";
  const path = "/memory/use.ts";
  const textOf = (name: string) => name === path ? text : ts.sys.readFile(name);
  const host: ts.LanguageServiceHost = {
    getCompilationSettings: () => ({ strict: true, allowImportingTsExtensions: true, types: [] }),
    getScriptFileNames: () => [path],
    getScriptVersion: () => "1",
    getScriptSnapshot: (name) => {
      const read = textOf(name);
      return read === undefined ? undefined : ts.ScriptSnapshot.fromString(read);
    },
    getCurrentDirectory: () => "/memory",
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (name) => textOf(name) !== undefined,
    readFile: textOf,
    directoryExists: () => true,
  };
  const found = ts.createLanguageService(host).getCompletionsAtPosition(path, place, {});
  return found?.entries.map(({ name }) => name) ?? [];
}

Deno.test("in defineSpec, editors offer keywords of schemas, operations and their fields", () => {
  const offers = {
    "schema: true, |": ["geo", "handler", "implications"],
    [`schema: { type: "object", | }, handler: []`]: ["additionalProperties", "properties"],
    [`schema: { type: "|" }, handler: []`]: ["integer", "string"],
    "schema: true, handler: { | }": ["append", "increment", "set"],
    "schema: true, handler: [{ set: { | } }]": ["target", "value"],
  };
  for (const [definition, expected] of Object.entries(offers)) {
    const offered = completionsIn(definition);
    assert.deepEqual(expected.filter((name) => offered.includes(name)), expected, definition);
    assert(!offered.includes("AbortController"), definition);
  }
});
