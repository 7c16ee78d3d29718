/** Definitions of any length in a spec: refused without being walked, or in short steps. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { canonicalPieces } from "../../../src/domain/canonical_hash.ts";
import { canonicalJson } from "../../../src/domain/canonical_json.ts";
import { runAtOnce } from "../../../src/domain/fairness/pieces.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import { compileSpecSteps } from "../../../src/domain/spec/compile.ts";
import { sortNamesSteps } from "../../../src/domain/spec/declared_names.ts";
import { declaredTypesSteps } from "../../../src/domain/spec/implications.ts";
import { countedList } from "../../support/counted_list.ts";

const TYPE = { aggregate_type: "thing", event_type: "was_seen" };

function specWith(event: JsonObject, modules?: JsonObject): JsonObject {
  const events = { was_seen: { schema: true, handler: [], ...event } };
  return { agent_types: ["user"], aggregate_types: { thing: { events } }, modules: modules ?? {} };
}

function guarded(guard: JsonObject): JsonObject {
  return specWith({ guards: [{ require: { exists: "$.data.a" }, message: "No.", ...guard }] });
}

function sagaOf(step: JsonObject, trigger: JsonObject = {}): JsonObject {
  const steps = [{ name: "go", emit: { ...TYPE, id: "global", data: {} }, ...step }];
  return specWith({}, { sagas: { saga: { trigger: { ...TYPE, ...trigger }, steps } } });
}

const TOO_LARGE: Readonly<Record<string, (list: JsonValue[]) => JsonObject>> = {
  "a handler": (list) => specWith({ handler: list }),
  "an implication": (list) => specWith({ implications: list }),
  "a guard": (list) => guarded({ require: list }),
  "the id of another aggregate in a guard": (list) =>
    guarded({ with: { other: { type: "thing", id: { list } } } }),
  "the condition of a saga": (list) => sagaOf({}, { condition: list }),
  "the condition of a step": (list) => sagaOf({ condition: list }),
  "the event of a step": (list) => sagaOf({ emit: { ...TYPE, id: "global", data: { list } } }),
  "a compensation": (list) => sagaOf({ compensate: { ...TYPE, id: "global", data: { list } } }),
  "the stream that a step awaits": (list) =>
    sagaOf({ await: { aggregate_type: "thing", event_types: ["was_seen"], id: { list } } }),
};

for (const [name, spec] of Object.entries(TOO_LARGE)) {
  Deno.test(`${name} of 100,000 values is refused by their number, and not walked`, () => {
    const { list, reads } = countedList("$steps.go.data.a", 100_000);
    const steps = compileSpecSteps(spec(list));
    for (let before = 0;; before = reads()) {
      const step = steps.next();
      assert.ok(reads() - before <= 256, `${reads() - before} values in one step`);
      if (!step.done) continue;
      assert(!step.value.ok);
      assert.deepEqual(step.value.violations.map(({ rule }) => rule), ["definition_too_large"]);
      break;
    }
    // Once, for the depth of the whole document.
    assert.equal(reads(), 100_000);
  });
}

Deno.test("guards with a fault are not looked through for texts that look like paths", () => {
  const { list, reads } = countedList("data.a", 10_000);
  const compiled = runAtOnce(compileSpecSteps(guarded({ message: "", require: { in: list } })));
  assert(!compiled.ok);
  assert.ok(reads() < 50_000, `${reads()} reads`);
});

Deno.test("a handler of thousands of values is looked through in short steps", () => {
  const handler = [{ set: { target: "a", value: Array<JsonValue>(15_000).fill("data.a") } }];
  const steps = compileSpecSteps(specWith({ handler }));
  let count = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) count++;
  assert(step.value.ok);
  assert.equal(step.value.warnings.length, limits.violationsMax);
  assert.ok(count > 15_000, `${count} steps`);
});

Deno.test("of more sagas than there may be, no circles are looked for", () => {
  let reads = 0;
  const last = {
    trigger: TYPE,
    get steps() {
      reads++;
      return [{ name: "go", emit: { ...TYPE, id: "global", data: {} } }];
    },
  };
  const sagas = Array.from({ length: limits.sagasMax + 1 }, (_, index) => [`s${index}`, last]);
  const compiled = runAtOnce(compileSpecSteps(specWith({}, { sagas: Object.fromEntries(sagas) })));
  assert(!compiled.ok);
  assert.deepEqual(compiled.violations.map(({ rule }) => rule), ["too_many"]);
  // Two for each that is compiled, and one for the depth of each.
  assert.ok(reads <= 3 * limits.sagasMax + 1, `${reads} reads`);
});

Deno.test("sortNamesSteps() sorts as sort() does", () =>
  fc.assert(fc.property(fc.array(fc.string({ unit: "binary" })), fc.nat(5), (some, times) => {
    const names = Array(times * 300).fill(some).flat();
    assert.deepEqual(runAtOnce(sortNamesSteps(names)), [...names].sort());
  })));

Deno.test("sortNamesSteps() pauses again and again, and loses no name", () => {
  const names = Array.from({ length: 50_001 }, (_, index) => `n${(index * 7_919) % 50_021}`);
  const steps = sortNamesSteps(names);
  let count = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) count++;
  assert.deepEqual(step.value, names.sort());
  assert.ok(count > 250, `${count} steps`);
});

Deno.test("declaredTypesSteps() names what may be written, in steps", () => {
  const events = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`was_${at}`, 0]));
  const document = { aggregate_types: { a: { events: { _system: 0, ...events } }, b: 0 } };
  const steps = declaredTypesSteps(document);
  let count = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) count++;
  const { declared, declaredEvents } = step.value;
  assert.deepEqual([...declared.keys()], ["a", "b"]);
  assert.deepEqual([...declared.get("a")!], Object.keys(events));
  assert.equal(declared.get("b")!.size, 0);
  assert.equal(declaredEvents.size, 10_000);
  assert.ok(count >= 39, `${count} steps`);
});

Deno.test("canonicalPieces() hands on the canonical text", () =>
  fc.assert(
    fc.property(fc.json(), fc.integer({ min: 1, max: 3_000 }), (json, times) => {
      const value: JsonValue = { many: Array(times).fill(JSON.parse(json)) };
      const pieces: string[] = [];
      runAtOnce(canonicalPieces(value, (piece) => pieces.push(piece)));
      assert.equal(pieces.join(""), canonicalJson(value));
    }),
    { numRuns: 30 },
  ));
