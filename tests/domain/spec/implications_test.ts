/**
 * Implications in a whole spec: what writes find, what deploys warn of. See
 * docs/reference/reactions.md.
 */

import assert from "node:assert/strict";
import fc from "fast-check";
import { runAtOnce } from "../../../src/domain/fairness/pieces.ts";
import type { JsonObject, JsonValue } from "../../../src/domain/json.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { NamedEvent } from "../../../src/domain/reaction/terms.ts";
import { compileSpec } from "../../../src/domain/spec/compile.ts";
import { createFaultList } from "../../../src/domain/spec/fault_list.ts";
import { warnOfImplicationCycles } from "../../../src/domain/spec/implications.ts";

/** A spec of one aggregate type `a` whose event types have these implications. */
function specOf(events: Readonly<Record<string, JsonValue>>): JsonObject {
  const definitions = Object.entries(events).map(([name, implications]) => {
    return [name, { schema: true, handler: [], implications }];
  });
  return {
    aggregate_types: { a: { events: Object.fromEntries(definitions) } },
    agent_types: ["user"],
    singletons: ["main"],
  };
}

function compileOf(events: Readonly<Record<string, JsonValue>>) {
  const compiled = compileSpec(specOf(events));
  assert.ok(compiled.ok, JSON.stringify(compiled));
  return compiled;
}

function emit(event_type: string, more: JsonObject = {}): JsonObject {
  return { emit: { aggregate_type: "a", id: "$.id", event_type }, ...more };
}

function schedule(event_type: string, more: JsonObject = {}): JsonObject {
  return { schedule: { delay: "1d", ...emit(event_type), ...more } };
}

Deno.test("compileSpec() gives an event type with implications its reactions, and no other", () => {
  const events = compileOf({ x: [emit("y")], y: [], z: [] }).spec.aggregateTypes.get("a")!.events;
  assert.deepEqual([events.get("x")!.hasImplications, events.get("y")!.hasImplications], [
    true,
    false,
  ]);
  assert.ok(!("reactions" in events.get("y")!));
  const { actions, failures } = events.get("x")!.reactions!({
    key: "a:main",
    type: "x",
    data: {},
    metadata: { actor: { type: "user", id: "global" }, timestamp: 0 },
  });
  assert.deepEqual(failures, []);
  assert.deepEqual(actions, [{
    kind: "emit",
    emission: { key: "a:main", aggregateType: "a", id: "main", eventType: "y", data: {} },
  }]);
});

Deno.test("failures name the entry by its place in the spec", () => {
  const unknown = { emit: { aggregate_type: "a", id: "$.data.id", event_type: "y" } };
  const events = compileOf({ x: [emit("y"), unknown], y: [] }).spec.aggregateTypes.get("a")!.events;
  const { failures } = events.get("x")!.reactions!({
    key: "a:main",
    type: "x",
    data: {},
    metadata: { actor: { type: "user", id: "global" }, timestamp: 0 },
  });
  assert.deepEqual(failures.map(({ path }) => path), [
    "aggregate_types.a.events.x.implications[1]",
  ]);
});

Deno.test("compileSpec() knows every event type that a pending schedule may wait for", () => {
  const rule = (event_type: string) => ({ aggregate_type: "a", id: "$.key", event_type });
  const { spec } = compileOf({
    x: [schedule("y", { cancel_on: [rule("y"), rule("z")] }), emit("z")],
    y: [schedule("z", { cancel_on: [rule("z")] })],
    z: [],
  });
  assert.deepEqual([...spec.watched].sort(), ["a.y", "a.z"]);
  assert.deepEqual([...compileOf({ x: [schedule("y")], y: [] }).spec.watched], []);
});

Deno.test("an implication may name a type that stands further down in the spec", () => {
  const spec = specOf({ x: [{ emit: { aggregate_type: "b", id: "main", event_type: "w" } }] });
  const types = spec.aggregate_types as JsonObject;
  types.b = { events: { w: { schema: true, handler: [] } } };
  assert.ok(compileSpec(spec).ok);
});

Deno.test("compileSpec() reports faults of implications in all event types, up to the limit", () => {
  const compiled = compileSpec(specOf({ x: [emit("nowhere")], y: [{}] }));
  assert.ok(!compiled.ok);
  assert.deepEqual(compiled.violations.map(({ rule, path }) => [rule, path]), [
    ["unknown_event_type", "aggregate_types.a.events.x.implications[0].emit.event_type"],
    ["implication_invalid", "aggregate_types.a.events.y.implications[0]"],
  ]);
  const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`x${index}`, [{}]]));
  const flood = compileSpec(specOf(many));
  assert.ok(!flood.ok && flood.violations.length === limits.violationsMax);
});

interface Cycle {
  readonly name: string;
  readonly events: Readonly<Record<string, JsonValue>>;
  readonly shown: string;
  readonly entry: string;
  readonly forever?: true;
}

const CYCLES: readonly Cycle[] = [
  {
    name: "one event type that implies itself",
    events: { x: [emit("x")] },
    shown: "a.x -> a.x",
    entry: "x.implications[0]",
  },
  {
    name: "two",
    events: { x: [emit("z"), emit("y")], y: [emit("x")], z: [] },
    shown: "a.x -> a.y -> a.x",
    entry: "x.implications[1]",
  },
  {
    name: "three, entered from outside",
    events: { w: [emit("x")], x: [emit("y")], y: [emit("z")], z: [emit("x")] },
    shown: "a.x -> a.y -> a.z -> a.x",
    entry: "x.implications[0]",
  },
  {
    name: "a cycle in spite of a condition",
    events: { x: [emit("x", { condition: { eq: [1, 2] } })] },
    shown: "a.x -> a.x",
    entry: "x.implications[0]",
  },
  {
    name: "a cycle through a map",
    events: { x: [{ map: { in: "$.data.l", ...emit("x") } }] },
    shown: "a.x -> a.x",
    entry: "x.implications[0]",
  },
  {
    name: "a cycle through a pipeline",
    events: { x: [{ pipeline: [emit("x")] }] },
    shown: "a.x -> a.x",
    entry: "x.implications[0].pipeline[0]",
  },
  {
    name: "a cycle that waits",
    events: { x: [schedule("y")], y: [emit("x")] },
    shown: "a.x -> a.y -> a.x",
    entry: "x.implications[0]",
    forever: true,
  },
  {
    name: "one that waits in one of two entries",
    events: { x: [schedule("x"), emit("x")] },
    shown: "a.x -> a.x",
    entry: "x.implications[1]",
  },
];

for (const { name, events, shown, entry, forever } of CYCLES) {
  Deno.test(`compileSpec() warns of ${name}`, () => {
    const { warnings } = compileOf(events);
    assert.equal(warnings.length, 1, JSON.stringify(warnings));
    const { rule, path, message, hint } = warnings[0]!;
    assert.equal(rule, "implication_cycle");
    assert.equal(path, `aggregate_types.a.events.${entry}`);
    assert.ok(message.includes(`: ${shown}.`), message);
    assert.equal(hint.includes("for ever"), forever === true);
  });
}

Deno.test("compileSpec() does not warn where two ways lead to the same event, or a path decides", () => {
  assert.deepEqual(
    compileOf({ w: [emit("x"), emit("y")], x: [emit("z")], y: [emit("z")], z: [] }).warnings,
    [],
  );
  const dynamic = { emit: { aggregate_type: "a", id: "$.id", event_type: "$.data.type" } };
  assert.deepEqual(compileOf({ x: [dynamic] }).warnings, []);
});

/** A graph of up to six event types: which types each implies. */
const graph = fc.array(fc.array(fc.nat(5), { maxLength: 4 }), { minLength: 6, maxLength: 6 });

function namedOf(edges: readonly (readonly number[])[]): Map<string, NamedEvent[]> {
  return new Map(edges.map((targets, from) => [
    `a.${from}`,
    targets.map((to) => (
      { path: `${from}>${to}`, aggregateType: "a", eventType: `${to}`, scheduled: false }
    )),
  ]));
}

/** By brute force: the event types that can reach themselves. */
function onCycles(edges: readonly (readonly number[])[]): Set<number> {
  const reach = edges.map((targets) => new Set(targets));
  for (let round = 0; round < edges.length; round++) {
    for (const each of reach) {
      for (const to of [...each]) for (const further of reach[to]!) each.add(further);
    }
  }
  return new Set(reach.flatMap((each, from) => each.has(from) ? [from] : []));
}

Deno.test("warnOfImplicationCycles() warns exactly where there is a cycle, and shows a real one", () => {
  fc.assert(
    fc.property(graph, (edges) => {
      const warnings = createFaultList();
      runAtOnce(warnOfImplicationCycles(namedOf(edges), warnings));
      const cyclic = onCycles(edges);
      assert.equal(warnings.faults.length > 0, cyclic.size > 0);
      for (const { message } of warnings.faults) {
        const stops = [...message.matchAll(/a\.(\d)/g)].map(([, stop]) => Number(stop));
        assert.equal(stops[0], stops.at(-1));
        for (const [index, from] of stops.slice(0, -1).entries()) {
          assert.ok(edges[from]!.includes(stops[index + 1]!), message);
        }
      }
    }),
    { numRuns: 2_000 },
  );
});

Deno.test("warnOfImplicationCycles() is done at once with a long chain that closes", () => {
  const edges = Array.from({ length: 20_000 }, (_, index) => [(index + 1) % 20_000]);
  const warnings = createFaultList();
  runAtOnce(warnOfImplicationCycles(namedOf(edges), warnings));
  assert.equal(warnings.faults.length, 1);
  assert.ok(warnings.faults[0]!.message.length < 500);
});
