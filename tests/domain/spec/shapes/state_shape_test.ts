/**
 * States that are derived from handlers: every state that the real fold makes fits the schema of
 * the derived shape, by a validator that is not ours; and what each operation gives, by hand.
 */

import { deepStrictEqual, ok } from "node:assert/strict";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import type { StoredEvent } from "../../../../src/domain/event.ts";
import { runAtOnce } from "../../../../src/domain/fairness/pieces.ts";
import { newFoldBudget } from "../../../../src/domain/handler/budget.ts";
import { compileHandler } from "../../../../src/domain/handler/compile_handler.ts";
import { fold } from "../../../../src/domain/handler/fold.ts";
import type { Handler } from "../../../../src/domain/handler/handler.ts";
import type { JsonObject, JsonValue } from "../../../../src/domain/json.ts";
import { shapeOfDataSteps } from "../../../../src/domain/spec/shapes/schema_shape.ts";
import { ANY, type Definition } from "../../../../src/domain/spec/shapes/shape.ts";
import {
  schemaOfDefinition,
  schemaOfObject,
} from "../../../../src/domain/spec/shapes/shape_schema.ts";
import {
  type HandledEvent,
  stateShapeSteps,
} from "../../../../src/domain/spec/shapes/state_shape.ts";
import { handlerDefinition, json, jsonObject } from "../../handler/random_handler.ts";

interface EventType {
  readonly schema: JsonValue;
  readonly handler: JsonValue;
}

/** The derived schema of the state, with all of its definitions. */
function stateSchema(events: Readonly<Record<string, EventType>>): JsonObject {
  const handled = Object.entries(events).map(([type, { schema, handler }]): HandledEvent => ({
    type,
    handler,
    data: runAtOnce(shapeOfDataSteps(schema)),
  }));
  const state = runAtOnce(stateShapeSteps(handled));
  const names = new Map<Definition, string>();
  const $defs: JsonObject = {};
  const waiting: Definition[] = [];
  function refTo(definition: Definition): string {
    if (!names.has(definition)) {
      names.set(definition, `d${names.size}`);
      waiting.push(definition);
    }
    return `#/$defs/${names.get(definition)}`;
  }
  const schema = schemaOfObject(state, refTo);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    $defs[names.get(next)!] = schemaOfDefinition(next, refTo);
  }
  return names.size === 0 ? schema : { ...schema, $defs };
}

function handlersOf(events: Readonly<Record<string, EventType>>): Map<string, Handler> {
  return new Map(
    Object.entries(events).map(([type, { handler }]) => {
      const compiled = compileHandler(handler, "handler");
      ok(compiled.ok, JSON.stringify(compiled));
      return [type, compiled.handler];
    }),
  );
}

function checkStates(
  events: Readonly<Record<string, EventType>>,
  story: readonly (readonly [type: string, data: JsonObject])[],
): void {
  // ajv has no properties called `__proto__`, so that name is another one for it.
  const renamed = (json: JsonValue) =>
    JSON.parse(JSON.stringify(json).replaceAll("__proto__", "_p_"));
  const schema = renamed(stateSchema(events));
  const validate = new Ajv2020({ strict: false, ownProperties: true }).compile(schema);
  const stored = story.map(([type, data]): StoredEvent => ({
    key: "order:a",
    type,
    data: JSON.parse(JSON.stringify(data)),
    metadata: { actor: { type: "user", id: "global" }, timestamp: 1_700_000_000 },
  }));
  for (let length = 0; length <= stored.length; length++) {
    const folded = fold(handlersOf(events), {}, stored.slice(0, length), newFoldBudget());
    ok(folded.ok, JSON.stringify(folded));
    const text = JSON.stringify(renamed(folded.value));
    const why = () => JSON.stringify({ schema, errors: validate.errors });
    ok(validate(JSON.parse(text)), `${text} does not fit: ${why()}`);
  }
}

/** Schemas, each with data that fits it. The names are those that random handlers read. */
interface Typed {
  readonly schema: JsonValue;
  readonly data: fc.Arbitrary<JsonValue>;
}

const RUNS = Number(Deno.env.get("SHAPE_RUNS") ?? 300);

const text = fc.constantFrom("", "a", "b", "1", "id");
const leaves: readonly Typed[] = [
  { schema: true, data: json },
  { schema: { type: "string" }, data: text },
  { schema: { type: "integer" }, data: fc.integer({ min: -5, max: 5 }) },
  { schema: { type: "number" }, data: fc.constantFrom(0.5, 1, 1e308, -1e308) },
  { schema: { type: ["boolean", "null"] }, data: fc.constantFrom(true, false, null) },
  {
    schema: { enum: ["a", "b", 1, null, { id: "a" }] },
    data: fc.constantFrom("a", "b", 1, null, { id: "a" }),
  },
  { schema: { const: "id" }, data: fc.constant("id") },
  {
    schema: { $ref: "#/$defs/tree" },
    data: fc.constantFrom<JsonValue>(
      { id: "a" },
      { id: "b", c: [{ id: "a" }, { id: "b", c: [] }] },
    ),
  },
];
const $defs: JsonObject = {
  tree: {
    type: "object",
    properties: { id: { type: "string" }, c: { type: "array", items: { $ref: "#/$defs/tree" } } },
    required: ["id"],
    additionalProperties: false,
  },
};
const typedValue: fc.Arbitrary<Typed> = fc.letrec<{ value: Typed }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(...leaves),
    tie("value").map(({ schema, data }) => ({
      schema: { type: "array", items: schema },
      data: fc.array(data, { maxLength: 3 }),
    })),
    objectAmong(tie("value")),
    fc.array(objectAmong(tie("value")), { minLength: 1, maxLength: 3 }).map((forms) => ({
      schema: { anyOf: forms.map(({ schema }) => schema) },
      data: fc.oneof(...forms.map(({ data }) => data)),
    })),
  ),
})).value;

function objectAmong(value: fc.Arbitrary<Typed>): fc.Arbitrary<Typed> {
  const key = fc.constantFrom("a", "b", "c", "id", "0", "1", "__proto__", "constructor");
  return fc.tuple(
    fc.uniqueArray(fc.tuple(key, value, fc.boolean()), {
      selector: ([name]) => name,
      maxLength: 4,
    }),
    fc.boolean(),
  ).map(([entries, isOpen]): Typed => ({
    schema: {
      type: "object",
      properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])),
      required: entries.filter(([, , isRequired]) => isRequired).map(([name]) => name),
      ...(!isOpen && { additionalProperties: false }),
    },
    data: fc.tuple(
      fc.tuple(
        ...entries.map(([, { data }, isRequired]) =>
          isRequired ? data.map((each) => [each]) : fc.option(data.map((each) => [each]))
        ),
      ),
      fc.option(fc.tuple(fc.constantFrom("x", "y"), json)),
    ).map(([values, further]) =>
      Object.fromEntries([
        ...entries.flatMap(([name], index) => values[index] ? [[name, values[index][0]]] : []),
        ...(isOpen && further !== null ? [further] : []),
      ])
    ),
  }));
}

const typedStory = fc.record({
  first: fc.tuple(objectAmong(typedValue), handlerDefinition),
  second: fc.tuple(objectAmong(typedValue), handlerDefinition),
}).chain(({ first, second }) => {
  const withDefs = (schema: JsonValue) => ({ ...schema as JsonObject, $defs });
  const events = {
    first: { schema: withDefs(first[0].schema), handler: first[1] },
    second: { schema: withDefs(second[0].schema), handler: second[1] },
  };
  const story = fc.array(
    fc.oneof(
      first[0].data.map((data) => ["first", data as JsonObject] as const),
      second[0].data.map((data) => ["second", data as JsonObject] as const),
    ),
    { maxLength: 5 },
  );
  return story.map((each) => ({ events, story: each }));
});

Deno.test("every state that random handlers make of typed events fits the derived schema", () => {
  fc.assert(
    fc.property(typedStory, ({ events, story }) => checkStates(events, story)),
    { numRuns: RUNS },
  );
});

Deno.test("every state that random handlers make of any events fits the derived schema", () => {
  const open = { schema: true };
  const story = fc.array(fc.tuple(fc.constantFrom("first", "second"), jsonObject), {
    maxLength: 5,
  });
  fc.assert(
    fc.property(handlerDefinition, handlerDefinition, story, (first, second, each) => {
      checkStates(
        { first: { ...open, handler: first }, second: { ...open, handler: second } },
        each,
      );
    }),
    { numRuns: RUNS },
  );
});

const PLACED: JsonObject = {
  type: "object",
  properties: { sku: { type: "string" }, qty: { type: "integer" }, note: { type: "string" } },
  required: ["sku", "qty"],
  additionalProperties: false,
};

function derived(handler: JsonValue, schema: JsonValue = PLACED): JsonValue | undefined {
  const { properties, ...others } = stateSchema({ was_placed: { schema, handler } });
  deepStrictEqual(others, { type: "object", additionalProperties: false });
  return properties;
}

const LINE = PLACED;

Deno.test("stateShape() describes each operation by what it leaves", () => {
  const cases: readonly [handler: JsonValue, properties: JsonValue][] = [
    [{ increment: { target: "n" } }, { n: { type: "integer" } }],
    [{ increment: { target: "n", by: 0.5 } }, { n: { type: "number" } }],
    [{ decrement: { target: "n", by: "$.data.qty" } }, { n: { type: "integer" } }],
    [{ set: { target: "s", value: "$.data.sku" } }, { s: { type: "string" } }],
    [{ set: { target: "s", value: "$.data.note" } }, { s: { type: ["null", "string"] } }],
    [{ set: { target: "s", value: "$.data.note?" } }, { s: { type: "string" } }],
    [{ set: { target: "", value: "$.data" } }, PLACED.properties!],
    [{ merge: { target: "", value: "$.data" } }, PLACED.properties!],
    [{ merge: { target: "line", value: "$.data" } }, { line: LINE }],
    [{ append: { target: "lines", value: "$.data" } }, { lines: { type: "array", items: LINE } }],
    [{ upsert: { target: "lines", key: "sku", value: "$.data" } }, {
      lines: { type: "array", items: LINE },
    }],
    [{ set_at: { target: "qty", key: "$.data.sku", value: "$.data.qty" } }, {
      qty: { type: "object", additionalProperties: { type: "integer" } },
    }],
    [{ increment_at: { target: "votes", key: "yes" } }, {
      votes: {
        type: "object",
        properties: { yes: { type: "integer" } },
        required: ["yes"],
        additionalProperties: false,
      },
    }],
    [{
      if: { exists: "@.s" },
      then: { set: { target: "s", value: "b" } },
      else: { set: { target: "s", value: "a" } },
    }, {
      s: { enum: ["b", "a"] },
    }],
    [{ let: { q: "$.data.qty" }, then: { set: { target: "a.b", value: "$q" } } }, {
      a: {
        type: "object",
        properties: { b: { type: "integer" } },
        required: ["b"],
        additionalProperties: false,
      },
    }],
    [[{ set: { target: "a.b", value: 1 } }, { remove: { target: "a.b" } }], {
      a: { type: "object", properties: { b: { const: 1 } }, additionalProperties: false },
    }],
    [[
      { append: { target: "l", value: { sku: "$.data.sku" } } },
      { map: { target: "l", value: { sku: "$item.sku", n: 1 } } },
    ], {
      l: {
        type: "array",
        items: {
          type: "object",
          properties: { sku: { type: "string" }, n: { const: 1 } },
          required: ["sku"],
          additionalProperties: false,
        },
      },
    }],
  ];
  for (const [handler, properties] of cases) {
    deepStrictEqual(derived(handler), properties, JSON.stringify(handler));
  }
});

function writes(count: number): JsonValue[] {
  return Array.from({ length: count }, (_, at) => ({ set: { target: `a${at}`, value: 1 } }));
}

Deno.test("stateShape() pauses at each operation within an if and a let", () => {
  const inner = { let: { q: 1 }, then: writes(100) };
  const handler = [{ if: { exists: "$.data" }, then: [inner] }];
  const steps = stateShapeSteps([{ type: "was_placed", handler, data: ANY }]);
  let pauses = 0;
  while (!steps.next().done) pauses++;
  ok(pauses >= 200, `${pauses} pauses`);
});

Deno.test("stateShape() charges the fields of the state, and gives up where they are too many", () => {
  const fieldsOf = (count: number) => {
    const handler = { if: { exists: "$.data" }, then: writes(count) };
    return Object.keys(stateSchema({ was_placed: { schema: true, handler } }).properties ?? {});
  };
  deepStrictEqual(fieldsOf(250).length, 250);
  deepStrictEqual(fieldsOf(1_000).length, 0);
});
