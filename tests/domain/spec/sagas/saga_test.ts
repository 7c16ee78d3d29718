/** What `modules.sagas` may say: every rule as a golden case, and the warnings. */

import assert from "node:assert/strict";
import { canonicalHash } from "../../../../src/domain/canonical_hash.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../../src/domain/json.ts";
import { declaredTypesSteps } from "../../../../src/domain/spec/implications.ts";
import { limits } from "../../../../src/domain/limits.ts";
import { runAtOnce } from "../../../../src/domain/fairness/pieces.ts";
import type { Violation } from "../../../../src/domain/refusal.ts";
import { eventTypesOf } from "../../../../src/domain/saga/definition.ts";
import { compileSpec, compileSpecSteps } from "../../../../src/domain/spec/compile.ts";
import { createFaultList, type FaultList } from "../../../../src/domain/spec/fault_list.ts";
import {
  compileKeptSaga,
  compileKeptSagaSteps,
  compileSagas,
} from "../../../../src/domain/spec/sagas/saga.ts";
import { FULFILMENT, SHOP } from "../../../support/saga_fixtures.ts";

interface InvalidSaga {
  readonly name: string;
  /** Dotted place in the saga; `SAGA`: the saga itself, `NAME`: its name, empty: all sagas. */
  readonly set?: string;
  readonly to?: JsonValue;
  readonly remove?: string;
  readonly rule: string;
  readonly path: string;
  readonly hint?: string;
}

const cases: readonly InvalidSaga[] = JSON.parse(
  Deno.readTextFileSync(new URL("../../../golden/spec/invalid_sagas.json", import.meta.url)),
);

function sagasWith({ set, to, remove }: InvalidSaga): JsonValue {
  if (set === "") return to!;
  if (set === "SAGA") return { fulfilment: to! };
  const saga = structuredClone(FULFILMENT);
  if (set === "NAME") return { [to as string]: saga };
  const keys = (set ?? remove!).split(".");
  let holder: Record<string, JsonValue> = saga;
  for (const key of keys.slice(0, -1)) holder = holder[key] as Record<string, JsonValue>;
  if (remove === undefined) holder[keys.at(-1)!] = to!;
  else delete holder[keys.at(-1)!];
  return { fulfilment: saga };
}

function specWith(sagas: JsonValue): JsonObject {
  return { ...SHOP, modules: { sagas } };
}

function warningsOf(sagas: JsonValue): readonly Violation[] {
  const compiled = compileSpec(specWith(sagas));
  assert.ok(compiled.ok, JSON.stringify(compiled));
  return compiled.warnings;
}

for (const invalid of cases) {
  Deno.test(`compileSpec() refuses, among sagas, ${invalid.name}`, () => {
    const compiled = compileSpec(specWith(sagasWith(invalid)));
    assert.ok(!compiled.ok, "it was accepted");
    const { violations } = compiled;
    const found = violations.find(({ rule, path }) =>
      rule === invalid.rule && path === invalid.path
    );
    assert.ok(found, JSON.stringify(violations, null, 1));
    assert.ok(found.message !== "" && found.hint !== "");
    if (invalid.hint !== undefined) assert.equal(found.hint, invalid.hint);
    const paths = violations.map(({ path }) => path);
    assert.equal(new Set(paths).size, paths.length, "no place is reported twice");
  });
}

Deno.test("compileSpec() refuses more sagas than a spec may have", () => {
  const names = Array.from({ length: limits.sagasMax + 1 }, (_, index) => `saga${index}`);
  const compiled = compileSpec(
    specWith(Object.fromEntries(names.map((name) => [name, FULFILMENT]))),
  );
  assert.ok(!compiled.ok);
  assert.deepEqual(compiled.violations.map(({ rule, path }) => [rule, path]), [
    ["too_many", "modules.sagas"],
  ]);
});

/** A shop whose payments have many event types, and a saga with a step that awaits some of them. */
function specThatAwaits(events: number, failures: number): JsonObject {
  const spec = structuredClone(SHOP) as JsonObject;
  const types = spec.aggregate_types as Record<string, { events: JsonObject }>;
  const names = Array.from({ length: events + failures }, (_, index) => `was_named_${index}`);
  for (const name of names) types.payment!.events[name] = { schema: true, handler: [] };
  const saga: JsonObject = structuredClone(FULFILMENT);
  const [, charge] = saga.steps as JsonObject[];
  charge!.await = {
    aggregate_type: "payment",
    event_types: names.slice(0, events),
    failure_types: names.slice(events),
  };
  return { ...spec, modules: { sagas: { fulfilment: saga } } };
}

Deno.test("compileSpec() refuses a step that awaits more event types than it may, at their list", () => {
  const max = limits.sagaAwaitEventsMax;
  const place = "modules.sagas.fulfilment.steps[1].await";
  for (const [events, failures, list] of [[max + 1, 0, "event"], [max, 1, "failure"]] as const) {
    const compiled = compileSpec(specThatAwaits(events, failures));
    assert.ok(!compiled.ok);
    const [fault, ...others] = compiled.violations;
    assert.deepEqual([fault!.rule, fault!.path], ["too_many", `${place}.${list}_types`]);
    assert.match(fault!.message, /at most 100 event types.*here it is 101\./);
    assert.ok(fault!.hint !== "" && others.length === 0);
  }
  assert.ok(compileSpec(specThatAwaits(max - 1, 1)).ok);
});

Deno.test("a stored spec, and a stored saga, may await more event types than a deploy takes", () => {
  const document = specThatAwaits(200, 50);
  const compiled = runAtOnce(compileSpecSteps(document, "store"));
  assert.ok(compiled.ok, JSON.stringify(compiled));
  const { kept, hash } = compiled.spec.sagas.get("fulfilment")!;
  const steps = runAtOnce(compileKeptSagaSteps(kept, hash)).steps;
  const whole = compileKeptSaga(kept).steps;
  for (const [, charge] of [steps, whole]) {
    assert.equal(charge!.await!.eventTypes.size + charge!.await!.failureTypes.size, 250);
  }
});

Deno.test("compileSpec() gives the sagas of a spec, and no warnings for a good one", () => {
  const compiled = compileSpec(SHOP);
  assert.ok(compiled.ok);
  assert.deepEqual(compiled.warnings, []);
  const saga = compiled.spec.sagas.get("fulfilment")!;
  assert.deepEqual(saga.steps.map(({ name }) => name), ["reserve", "charge", "confirm"]);
  assert.equal(saga.steps[1]!.await!.timeoutMs, 60_000);
  assert.deepEqual(eventTypesOf(saga).map((type) => `${type.aggregateType}.${type.eventType}`), [
    "order.was_placed",
    "payment.was_captured",
    "payment.was_refused",
  ]);
});

Deno.test("compileSpec() waits 30 seconds where a step does not say how long", () => {
  const saga = structuredClone(FULFILMENT);
  const [, charge] = saga.steps as JsonObject[];
  delete charge!.timeout_ms;
  const compiled = compileSpec(specWith({ saga }));
  assert.ok(compiled.ok);
  assert.equal(compiled.spec.sagas.get("saga")!.steps[1]!.await!.timeoutMs, 30_000);
});

Deno.test("compileSpec() warns of a timeout where nothing is awaited", () => {
  const saga = structuredClone(FULFILMENT);
  const [reserve] = saga.steps as JsonObject[];
  reserve!.timeout_ms = 5_000;
  assert.deepEqual(warningsOf({ saga }).map(({ rule, path }) => [rule, path]), [
    ["timeout_without_await", "modules.sagas.saga.steps[0].timeout_ms"],
  ]);
});

Deno.test("compileSpec() warns of a step that awaits another type by the id it emits to", () => {
  const saga = structuredClone(FULFILMENT);
  const [, charge] = saga.steps as { emit: JsonObject; await: JsonObject }[];
  charge!.emit = { ...charge!.emit, aggregate_type: "order", event_type: "was_confirmed" };
  assert.deepEqual(warningsOf({ saga }).map(({ rule, path }) => [rule, path]), [
    ["await_without_id", "modules.sagas.saga.steps[1].await.id"],
  ]);
  charge!.await.id = "$.id";
  assert.deepEqual(warningsOf({ saga }), [], "who names the id means it");
});

Deno.test("compileSpec() warns of sagas that may start one another without end", () => {
  const sagas = {
    there: circle("was_placed", "was_confirmed"),
    back: circle("was_confirmed", "was_placed"),
    aside: circle("was_placed", "was_confirmed"),
  };
  const warnings = warningsOf(sagas);
  assert.deepEqual(warnings.map(({ rule, path }) => [rule, path]), [
    ["saga_cycle", "modules.sagas.there"],
    ["saga_cycle", "modules.sagas.back"],
    ["saga_cycle", "modules.sagas.aside"],
  ]);
  assert.match(warnings[0]!.message, /there -> back -> there/);
});

function circle(from: string, to: string): JsonObject {
  return {
    trigger: { aggregate_type: "order", event_type: from },
    steps: [{ name: "next", emit: { aggregate_type: "order", id: "$.id", event_type: to } }],
  };
}

Deno.test("a kept definition compiles by itself, and its hash tells it from any other", () => {
  const literal: JsonObject = structuredClone(FULFILMENT);
  const [reserve] = literal.steps as JsonObject[];
  assert.ok(isJsonObject(reserve!.emit));
  reserve!.emit.aggregate_type = { $literal: "inventory" };
  const compiled = compileSpec(specWith({ fulfilment: FULFILMENT, literal }));
  assert.ok(compiled.ok, JSON.stringify(compiled));
  const hashes = [...compiled.spec.sagas.values()].map((saga) => {
    const kept = compileKeptSaga(JSON.parse(JSON.stringify(saga.kept)));
    assert.equal(kept.hash, saga.hash);
    assert.equal(kept.hash, canonicalHash(saga.kept as unknown as JsonObject));
    return kept.hash;
  });
  assert.equal(new Set(hashes).size, 2);
});

Deno.test("a stored definition of 50,000 singletons compiles in steps, to what it was", () => {
  const compiled = compileSpec(specWith({ fulfilment: FULFILMENT }));
  assert.ok(compiled.ok);
  const { kept } = compiled.spec.sagas.get("fulfilment")!;
  const singletons = Array.from({ length: 50_000 }, (_, n) => `single_${n}`).sort();
  const whole = compileKeptSaga({ ...kept, singletons });
  const steps = compileKeptSagaSteps({ ...kept, singletons }, whole.hash);
  let count = 0;
  let step = steps.next();
  for (; !step.done; step = steps.next()) count++;
  assert.ok(count >= 50, `${count} steps`);
  assert.equal(step.value.hash, whole.hash);
  assert.deepEqual(step.value.kept, whole.kept);
  assert.deepEqual(eventTypesOf(step.value), eventTypesOf(whole));
});

Deno.test("compileSagas() reports no further names once the list of faults is full", () => {
  const event_types = Array.from({ length: 10_000 }, (_, at) => `was_unknown_${at}`);
  const saga = structuredClone(FULFILMENT) as JsonObject;
  const [step] = saga.steps as JsonObject[];
  step!.await = { aggregate_type: "payment", event_types };
  const list = createFaultList();
  let reported = 0;
  const faults: FaultList = {
    ...list,
    addAll: (violations) => {
      reported += violations.length;
      list.addAll(violations);
    },
  };
  const document = specWith({ fulfilment: saga });
  const declared = runAtOnce(declaredTypesSteps(document));
  const vocabulary = { ...declared, singletons: new Set(["global"]) };
  runAtOnce(
    compileSagas(document, vocabulary, { origin: "store", faults, warnings: createFaultList() }),
  );
  assert.ok(list.isFull());
  assert.ok(reported < 2 * limits.violationsMax, `${reported} faults`);
});
