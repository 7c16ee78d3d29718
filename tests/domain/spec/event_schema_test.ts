/** Event data against its schema: paths, messages, the draft's meaning, and bounded work. */

import assert from "node:assert/strict";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import { openCompiler } from "../../support/compile_schema.ts";
import { createFaultList } from "../../../src/domain/spec/fault_list.ts";
import { TEXT_FORMATS } from "../../../src/domain/spec/schema/formats/formats.ts";
import { runAtOnce } from "../../../src/domain/fairness/pieces.ts";
import {
  compileSpec,
  compileSpecSteps,
  prepareSpecSteps,
} from "../../../src/domain/spec/compile.ts";
import { acceptStored, SchemaNotCompiled } from "../../../src/domain/spec/event_schema.ts";
import { OLDER_SCHEMAS, olderSpec } from "../../support/older_spec.ts";

function compile(schema: JsonValue) {
  const faults = createFaultList();
  const validate = openCompiler().compile(schema, "schema", faults);
  assert(validate, JSON.stringify(faults.faults));
  return validate;
}

function pathsOf(schema: JsonValue, data: JsonObject): string[] {
  return compile(schema)(data).map(({ path }) => path);
}

function accepts(schema: JsonValue, value: JsonValue): boolean {
  return compile({ properties: { a: schema } })({ a: value }).length === 0;
}

Deno.test("validateData() names a fault by its dotted path", () => {
  const schema = {
    properties: { lines: { items: { properties: { qty: { minimum: 1 } } } } },
  };
  assert.deepEqual(pathsOf(schema, { lines: [{ qty: 0 }] }), ["data.lines.0.qty"]);
});

Deno.test("validateData() names a missing property by its own path", () => {
  assert.deepEqual(pathsOf({ required: ["customer"] }, {}), ["data.customer"]);
});

Deno.test("validateData() names an additional property by its own path", () => {
  const schema = { properties: { a: { additionalProperties: false } } };
  assert.deepEqual(pathsOf(schema, { a: { b: 1 } }), ["data.a.b"]);
});

Deno.test("validateData() names the root `data`", () => {
  assert.deepEqual(pathsOf({ minProperties: 1 }, {}), ["data"]);
  assert.deepEqual(pathsOf(false, {}), ["data"]);
});

Deno.test("validateData() gives at most the limit of faults", () => {
  const faults = compile({ additionalProperties: { type: "string" } })(
    Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, index])),
  );
  assert.equal(faults.length, limits.schemaDetailsMax);
  assert.equal(faults[0]!.path, "data.k0");
});

Deno.test("validateData() stores undeclared properties unless additionalProperties is false", () => {
  assert.deepEqual(pathsOf({ properties: { a: {} } }, { b: 1 }), []);
  assert.deepEqual(pathsOf({ properties: { a: {} }, additionalProperties: false }, { b: 1 }), [
    "data.b",
  ]);
});

Deno.test("validateData() asserts format", () => {
  assert(accepts({ format: "date" }, "2024-02-29"));
  assert(!accepts({ format: "date" }, "2023-02-29"));
  assert(!accepts({ format: "email" }, "nobody"));
  assert(accepts({ format: "date-time" }, "1998-12-31T23:59:60Z"));
  assert(!accepts({ format: "uuid" }, "x"));
  assert(!accepts({ format: "duration" }, "P1Y1D"));
  assert(accepts({ format: "email" }, 1), "a format says nothing of other types");
});

Deno.test("validateData() takes ordinary schemas that stricter tools refuse", () => {
  assert(accepts({ minimum: 1 }, "no number"));
  assert(accepts({ type: ["string", "null"], maxLength: 3 }, null));
  assert(accepts({ prefixItems: [{ type: "integer" }] }, [1, "more"]));
  assert(accepts({ anyOf: [{ required: ["b"] }, { required: ["c"] }] }, { c: 1 }));
});

Deno.test("validateData() follows $ref, $defs, $anchor, $id and one $dynamicAnchor", () => {
  const tree = { properties: { next: { $ref: "#" } }, required: ["v"] };
  assert.deepEqual(pathsOf(tree, { v: 1, next: { v: 2, next: {} } }), ["data.next.next.v"]);
  const anchored = {
    properties: { a: { $ref: "#t" } },
    $defs: { t: { $anchor: "t", type: "null" } },
  };
  assert.deepEqual(pathsOf(anchored, { a: 1 }), ["data.a"]);
  const bundle = {
    $id: "https://example.com/order",
    $ref: "money",
    $defs: { m: { $id: "money", $dynamicAnchor: "m", required: ["currency"] } },
  };
  assert.deepEqual(pathsOf(bundle, {}), ["data.currency"]);
  assert.deepEqual(
    pathsOf({ $dynamicRef: "#m", $defs: { m: { $dynamicAnchor: "m", required: ["x"] } } }, {}),
    ["data.x"],
  );
});

Deno.test("validateData() keeps two schemas with the same $id apart", () => {
  const compiler = openCompiler();
  const validators = ["a", "b"].map((name) =>
    compiler.compile({ $id: "https://example.com/x", required: [name] }, "s", createFaultList())!
  );
  assert.deepEqual(validators.map((validate) => validate({})[0]?.path), ["data.a", "data.b"]);
});

Deno.test("validateData() reckons multipleOf in decimals", () => {
  assert(accepts({ multipleOf: 0.01 }, 19.99));
  assert(accepts({ multipleOf: 0.01 }, 123456789.01));
  assert(!accepts({ multipleOf: 0.01 }, 19.995));
  assert(accepts({ multipleOf: 1e-8 }, 12391239123));
  assert(!accepts({ multipleOf: 0.123456789 }, 1e308));
});

Deno.test("validateData() treats __proto__, constructor and valueOf as ordinary keys", () => {
  const data = (text: string): JsonObject => JSON.parse(text);
  assert.deepEqual(pathsOf({ required: ["constructor", "__proto__"] }, {}), [
    "data.constructor",
    "data.__proto__",
  ]);
  const typed = data('{"properties":{"__proto__":{"type":"string"}}}');
  assert.deepEqual(pathsOf(typed, data('{"__proto__":1}')), ["data.__proto__"]);
  assert(accepts({ const: { valueOf: 1 } }, { valueOf: 1 }));
  assert(!accepts({ enum: [{ a: 1 }] }, data('{"valueOf":1,"constructor":{}}')));
});

Deno.test("validateData() compares items, const and enum by value, whatever the order of keys", () => {
  assert(!accepts({ uniqueItems: true }, [{ a: 1, b: 2 }, { b: 2, a: 1 }]));
  assert(accepts({ uniqueItems: true }, [1, "1", true, [1], { a: 1 }, "[1]"]));
  assert(accepts({ const: { a: 1, b: 2 } }, { b: 2, a: 1 }));
  assert(!accepts({ enum: [1, "a"] }, "1"));
});

Deno.test("validateData() checks uniqueItems on 50,000 elements", () => {
  assert(accepts({ uniqueItems: true }, Array.from({ length: 50_000 }, (_, index) => index)));
});

Deno.test("validateData() stops exponential recursion within its budget of steps", () => {
  const node = (name: string) => ({ properties: { a: { $ref: "#/$defs/n" } }, required: [name] });
  const schema = { $ref: "#/$defs/n", $defs: { n: { anyOf: [node("x"), node("y"), node("z")] } } };
  let data: JsonObject = {};
  for (let depth = 0; depth < 40; depth++) data = { a: data };
  const faults = compile(schema)(data);
  assert.deepEqual(faults, [{
    path: "data",
    message: "takes too much work to check against its schema",
  }]);
});

Deno.test("validateData() stops patterns that are costly on a long text", () => {
  const text = "abbabaab".repeat(12_000);
  const pattern = (count: number) => ({ pattern: `[ab]*a[ab]{${count}}[cd]` });
  const schema = { properties: { a: { allOf: [100, 101, 102, 103].map(pattern) } } };
  assert(compile(schema)({ a: text }).length > 0);
});

Deno.test("validateData() answers the next event as if the costly one had not been", () => {
  const validate = compile({ properties: { a: { pattern: "^(a+)+$" } } });
  for (let round = 0; round < 3; round++) {
    assert.equal(validate({ a: "a".repeat(100_000) + "b" }).length, 1);
    assert.equal(validate({ a: "aaa" }).length, 0);
  }
});

Deno.test("createSchemaCompiler() compiles a schema once for all event types that share it", () => {
  const compiler = openCompiler();
  const compile = () => compiler.compile({ required: ["a"] }, "s", createFaultList());
  assert.equal(compile(), compile());
});

Deno.test("every format ends on 100 KB of hostile text", () => {
  for (const [name, test] of TEXT_FORMATS) {
    for (const seed of ["a", "a.", "1:", "/", "%41", "0", "{a", "(", "P1", "a@", "\u00e9"]) {
      assert.equal(typeof test(seed.repeat(100_000 / seed.length) + "\u0000"), "boolean", name);
    }
  }
});

/** Stored specs: a schema that only a deploy refuses does not disable any other type. */
function typesOf(spec: JsonObject) {
  const compiled = runAtOnce(prepareSpecSteps(spec, "store"));
  assert.ok(compiled.ok);
  return compiled.spec.aggregateTypes.get("order")!.events;
}

for (const [name, [schema, reason]] of Object.entries(OLDER_SCHEMAS)) {
  Deno.test(`a schema with ${name} is refused at a deploy, and in the store refuses its events`, () => {
    const deployed = compileSpec(olderSpec(schema));
    assert.ok(!deployed.ok);
    assert.match(deployed.violations[0]!.message, reason);
    const events = typesOf(olderSpec(schema));
    const [fault, ...others] = events.get("was_boxed")!.validateData({});
    assert.equal(fault!.path, "data");
    assert.match(fault!.message, reason);
    assert.deepEqual(others, []);
    assert.deepEqual(events.get("was_placed")!.validateData({ customer: "Ann" }), []);
    assert.equal(events.get("was_placed")!.validateData({}).length, 1, "others are still checked");
  });
}

Deno.test("a stored schema without faults is checked as ever", () => {
  const schema = { type: "object", required: ["a"] };
  const was_boxed = typesOf(olderSpec(schema)).get("was_boxed")!;
  assert.deepEqual(was_boxed.validateData({ a: 1 }), []);
  assert.deepEqual(was_boxed.validateData({}), [{ path: "data.a", message: "is required" }]);
});

Deno.test("what is wrong elsewhere in a stored spec is a fault of it", () => {
  const compiled = runAtOnce(compileSpecSteps({ ...olderSpec({}), agent_types: 1 }, "store"));
  assert.ok(!compiled.ok);
});

Deno.test("a stored schema that cannot be compiled refuses its events and nothing else", () => {
  const broken = acceptStored({
    *compile() {
      yield;
      return {
        validate: () => [],
        *prepare() {
          yield;
          throw new SchemaNotCompiled("too odd");
        },
      };
    },
  });
  const validator = runAtOnce(broken.compile({}, "schema", createFaultList()))!;
  assert.match(validator.validate({})[0]!.message, /It cannot be compiled: too odd\./);
});
