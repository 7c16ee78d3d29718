/** Stored specs: a schema that only a deploy refuses does not disable any other type. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import { runAtOnce } from "../../../src/domain/fairness/pieces.ts";
import {
  compileSpec,
  compileSpecSteps,
  prepareSpecSteps,
} from "../../../src/domain/spec/compile.ts";
import { SchemaNotCompiled } from "../../../src/domain/spec/event_schema.ts";
import { createFaultList } from "../../../src/domain/spec/fault_list.ts";
import { acceptStored } from "../../../src/domain/spec/stored_schema.ts";
import { OLDER_SCHEMAS, olderSpec } from "../../support/older_spec.ts";

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
