/** What the editor of specs offers, held against what the compiler of specs knows. */

import assert from "node:assert/strict";
import { completionsAt } from "../../../console/src/spec/spec_completion.ts";
import { partAt, type Steps } from "../../../console/src/spec/spec_structure.ts";
import { OPERATION_NAMES } from "../../../src/domain/handler/operations.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import type { JsonValue } from "../../../src/domain/json.ts";

/** What is offered where `|` stands. */
function offered(marked: string): string[] {
  const offset = marked.indexOf("|");
  const found = completionsAt(marked.replace("|", ""), offset)?.found ?? [];
  return found.map(({ label }) => label);
}

/** The text after the completion is taken. */
function completed(marked: string, label: string): string {
  const offset = marked.indexOf("|");
  const text = marked.replace("|", "");
  const { from, to, found } = completionsAt(text, offset)!;
  const taken = found.find((each) => each.label === label)!;
  return text.slice(0, from) + taken.text + text.slice(to);
}

Deno.test("keys are those of their level", () => {
  assert.ok(offered("{|}").includes("aggregate_types"));
  assert.deepEqual(offered('{"aggregate_types": {|}}'), []);
  const event = '{"aggregate_types": {"a": {"events": {"b": ';
  assert.ok(offered(`${event}{"|`).includes("handler"));
  assert.ok(offered(`${event}{"handler": [{"s|"}]`).includes("set_at"));
  assert.deepEqual(offered(`${event}{"handler": {"set": {"|`), ["target", "value"]);
  assert.ok(offered(`${event}{"handler": [{"if": true, "then": [{"|`).includes("append"));
  assert.ok(offered(`${event}{"schema": {"properties": {"x": {"|`).includes("minLength"));
  assert.deepEqual(offered(`${event}{"schema": {"properties": {"|`), []);
});

Deno.test("values are types of schemas, and the names that the text declares", () => {
  const types = '"aggregate_types": {"a": {"events": {"b": {"schema": {"type": "|"}}}}}';
  assert.ok(offered(`{${types}}`).includes("integer"));
  const saga = '"modules": {"sagas": {"s": {"trigger": {"aggregate_type": "|"}}}}';
  assert.deepEqual(offered(`{"aggregate_types": {"order": {}, "item": {}}, ${saga}}`), [
    "order",
    "item",
  ]);
  const event = '"modules": {"sagas": {"s": {"trigger": {"event_type": |}}}}';
  const declared = '"aggregate_types": {"order": {"events": {"was_placed": {}}}}';
  assert.deepEqual(offered(`{${declared}, ${event}}`), ["was_placed"]);
});

Deno.test("values in handlers and implications are paths, by the schema of their event", () => {
  const properties =
    '{"customer": {"type": "string"}, "lines": {"items": {"properties": {"sku": {}}}}}';
  const other = '"was_paid": {"schema": {"properties": {"amount": {}}}, "handler": []}';
  const spec = (rest: string) =>
    `{"aggregate_types": {"order": {"events": {${other}, "was_placed": {"schema": {"properties": ` +
    `${properties}}, ${rest}}}}}}`;
  const paths = [
    "$.data",
    "$.data.customer",
    "$.data.lines",
    "$.data.lines[*]",
    "$.data.lines[*].sku",
  ];
  const places = [
    '"handler": [{"set": {"target": "a", "value": "$.data.|"}}]',
    '"handler": {"merge": {"target": "a", "value": {"by": |}}}',
    '"handler": {"if": {"eq": ["$|", 1]}, "then": []}',
    '"implications": [{"emit": {"id": "|"}}]',
  ];
  for (const place of places) {
    assert.deepEqual(
      offered(spec(place)).filter((path) => path.startsWith("$.data")),
      paths,
      place,
    );
  }
  const without = [
    '"handler": [{"set": {"target": "$|"}}]',
    '"handler": "$|"',
    '"implications": [{"emit": {"aggregate_type": "$|"}}]',
    '"description": "$|"',
  ];
  for (const place of without) {
    assert.deepEqual(offered(spec(place)).filter((path) => path.startsWith("$")), [], place);
  }
  assert.equal(
    completed(
      '{"aggregate_types": {"a": {"events": {"b": {"handler": {"set": {"value": "$|',
      "$.id",
    ),
    '{"aggregate_types": {"a": {"events": {"b": {"handler": {"set": {"value": "$.id"',
  );
});

Deno.test("a completion replaces what is typed of its name, with or without quotes", () => {
  assert.equal(completed('{"ag|": 1}', "agent_types"), '{"agent_types": 1}');
  assert.equal(completed('{"ag|', "agent_types"), '{"agent_types": ');
  assert.equal(completed("{|}", "agent_types"), '{"agent_types": }');
});

Deno.test("nothing of a hostile text breaks it", () => {
  for (const text of ['{"__proto__": {"|', '{"constructor": {"|', "[[[|", "|", '"|"']) {
    assert.doesNotThrow(() => offered(text));
  }
});

/** Every place that the structure knows, with a name where any may stand. */
function* placesBelow(steps: Steps, depth: number): Generator<Steps> {
  const part = partAt(steps);
  if (part === undefined || depth === 0) return;
  yield steps;
  for (const key of part.keys ?? ["name"]) yield* placesBelow([...steps, key], depth - 1);
}

const LISTS = ["implications", "pipeline", "cancel_on", "steps"];

/** A member in what holds it. Two keys of operations stand beside another one only. */
function holding(key: string, value: JsonValue): JsonValue {
  const member = { [key]: LISTS.includes(key) && value !== null ? [value] : value };
  if (key === "then") return { if: true, ...member };
  return key === "else" ? { if: true, then: [], ...member } : member;
}

Deno.test("each key that is offered is one that the compiler knows", () => {
  let count = 0;
  for (const steps of placesBelow([], 8)) {
    if (steps.includes("schema")) continue;
    for (const key of partAt(steps)!.keys ?? []) {
      const document = steps.reduceRight<JsonValue>(
        (value, step) => holding(String(step), value),
        holding(key, null),
      );
      const compiled = compileSpec(document);
      const violations = compiled.ok ? [] : compiled.violations;
      const unknown = violations.filter(({ rule, path }) =>
        /unknown_key|operation_unknown/.test(rule) && path.endsWith(`.${key}`)
      );
      assert.deepEqual(unknown, [], [...steps, key].join("."));
      count++;
    }
  }
  assert.ok(count > 100);
});

Deno.test("every operation of handlers has its fields, except the two that contain others", () => {
  const handler = ["aggregate_types", "a", "events", "b", "handler"];
  const without = OPERATION_NAMES.filter((name) => partAt([...handler, name]) === undefined);
  assert.deepEqual(without, ["if", "let"]);
});
