/** The graph of causes and effects, made of the answers of the server. */

import assert from "node:assert/strict";
import type { EventEffects } from "@daybook/client";
import {
  buildGraph,
  type EffectsGraph,
  idOfEvent,
  NODES_MAX,
} from "../../../console/src/graph/effects_graph.ts";

const START = { key: "order:A", stream_id: "000000000000", event_type: "was_placed" };

function effects(key: string, index: number, more: Partial<EventEffects> = {}): EventEffects {
  return { depth: 0, ...at(key, index), event_type: "was_seen", implied: [], ...more };
}

function at(key: string, index: number) {
  return { key, stream_id: String(index).padStart(12, "0") };
}

function linesOf({ nodes, children, further }: EffectsGraph): string[] {
  const name = (id: string) => `${nodes.get(id)!.kind} ${nodes.get(id)!.title}`;
  return [
    ...[...children.values()].flat()
      .map(({ from, to, label }) => `${name(from)} ${label} ${name(to)}`),
    ...further.map(({ from, to, label }) => `${name(from)} also ${label} ${name(to)}`),
  ];
}

Deno.test("implied events stand below their cause, at every depth, and what is unknown is named", () => {
  const graph = buildGraph(START);
  graph.addEffects([
    effects("order:A", 0, { implied: [{ ...at("b:B", 3), event_type: "had_order" }] }),
    effects("b:B", 3, {
      depth: 1,
      event_type: "had_order",
      implied: [{ ...at("c:C", 1), event_type: "was_booked" }, {
        key: "d:D",
        event_type: "was_sent",
        pending: true,
      }],
    }),
  ]);
  assert.deepEqual(linesOf(graph.graph()), [
    "event was_seen wrote event had_order",
    "event had_order wrote event was_booked",
    "event had_order wrote event was_sent",
  ]);
  assert.deepEqual(graph.graph().unknown, [at("c:C", 1)]);
  graph.giveUp(at("c:C", 1));
  assert.deepEqual(graph.graph().unknown, []);
});

Deno.test("causes are added above, the nearest first", () => {
  const graph = buildGraph(START);
  graph.addCause({ ...at("b:B", 1), event_type: "was_due" }, "scheduled");
  graph.addCause({ ...at("c:C", 2), event_type: "was_opened" }, "wrote");
  assert.deepEqual(linesOf(graph.graph()), [
    "event was_due scheduled event was_placed",
    "event was_opened wrote event was_due",
  ]);
});

Deno.test("a timer leads to the event that it became, and from the event that cancelled it", () => {
  const graph = buildGraph(START);
  const timer = { key: "order:A", event_type: "was_declined", fire_at: "2026-01-02T00:00:00Z" };
  graph.addEffects([effects("order:A", 0, {
    implied: [{ ...at("order:A", 1), event_type: "was_paid" }],
    scheduled: [
      { ...timer, scheduled_id: "1", state: "fired", stream_id: "000000000002" },
      {
        ...timer,
        scheduled_id: "2",
        state: "cancelled",
        cancelled_by: { reason: "event", ...at("order:A", 1), event_type: "was_paid" },
      },
    ],
  })]);
  assert.deepEqual(linesOf(graph.graph()).slice(1), [
    "event was_seen scheduled timer was_declined",
    "event was_seen scheduled timer was_declined",
    "timer was_declined fired event was_declined",
    "event was_paid also cancelled timer was_declined",
  ]);
});

Deno.test("a saga shows its steps, with the events they wrote, and who else has moved it on", () => {
  const saga = {
    saga_id: "s1",
    name: "fulfilment",
    state: "compensated",
    steps: [
      { at: 0, step: "reserve", outcome: "emitted", event: at("stock:main", 0) },
      { at: 1, step: "charge", outcome: "failed", reason: "no cover" },
    ],
  } as const;
  const graph = buildGraph(START);
  graph.addEffects([effects("order:A", 0, { sagas: [{ ...saga, started: true }] })]);
  graph.addEffects([
    effects("stock:main", 0, {
      event_type: "was_reserved",
      sagas: [{ ...saga, started: false }],
      deliveries: [{ listener: "billing", delivery_id: "9", state: "delivered" }],
    }),
  ]);
  assert.deepEqual(linesOf(graph.graph()), [
    "event was_seen started saga fulfilment",
    "saga fulfilment step reserve event was_reserved",
    "saga fulfilment step charge step charge",
    "event was_reserved is sent to delivery billing",
    "event was_reserved also moved on saga fulfilment",
  ]);
  const { nodes } = graph.graph();
  assert.equal(nodes.get(idOfEvent(at("stock:main", 0)))!.state, "emitted");
});

Deno.test("a delivery tells its tries, and one that is not in the graph tells nothing", () => {
  const graph = buildGraph(START);
  const delivery = { listener: "billing", delivery_id: "9", state: "pending" } as const;
  graph.addEffects([effects("order:A", 0, { deliveries: [delivery] })]);
  const tried = { event: at("order:A", 0), created_at: "2026-01-02T00:00:00Z" };
  const first = { at: "2026-01-02T00:00:00Z", failure: "timeout", duration_ms: 10_000 };
  const second = { at: "2026-01-02T00:00:20Z", status: 500, duration_ms: 4 };
  graph.addTries([
    { ...tried, delivery_id: "9", state: "dead", attempts: 2, tries: [first, second] },
    { ...tried, delivery_id: "10", state: "dead", attempts: 1, tries: [first] },
  ]);
  const { nodes } = graph.graph();
  assert.equal(nodes.size, 2);
  const node = nodes.get("delivery 9")!;
  assert.deepEqual([node.state, node.detail], ["dead", "2 tries, the last: 500"]);
});

Deno.test("what a saga had done before an event moved it on is no effect of that event", () => {
  const graph = buildGraph(START);
  graph.addEffects([effects("order:A", 0, {
    sagas: [{
      saga_id: "s1",
      name: "fulfilment",
      state: "compensated",
      started: false,
      steps: [
        { at: 0, step: "reserve", outcome: "emitted", event: at("stock:main", 0) },
        { at: 1, step: "charge", outcome: "failed", event: at("order:A", 0) },
        { at: 2, step: "reserve", outcome: "compensated", event: at("stock:main", 1) },
      ],
    }],
  })]);
  assert.deepEqual(linesOf(graph.graph()), [
    "event was_seen moved on saga fulfilment",
    "saga fulfilment step reserve event reserve",
  ]);
});

Deno.test("a circle, which no store can have, ends: nothing is its own cause", () => {
  const graph = buildGraph(START);
  const { event_type } = START;
  graph.addEffects([
    effects("order:A", 0, { implied: [{ ...at("b:B", 0), event_type }, START] }),
    effects("b:B", 0, { implied: [START, { ...at("b:B", 0), event_type }] }),
  ]);
  const { children, further } = graph.graph();
  assert.equal([...children.values()].flat().length, 1);
  assert.equal(further.length, 3);
});

Deno.test(`a graph has at most ${NODES_MAX} nodes, and says that it is cut`, () => {
  const graph = buildGraph(START);
  const implied = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ ...at("b:B", n), event_type: "was_seen" }));
  graph.addEffects([effects("order:A", 0, { implied: implied(NODES_MAX - 1) })]);
  assert.equal(graph.graph().isCut, false);
  graph.addEffects([effects("order:A", 0, { implied: implied(NODES_MAX + 5) })]);
  assert.equal(graph.graph().isCut, true);
  assert.equal(graph.graph().nodes.size, NODES_MAX);
});

Deno.test("what was erased has no type, and hostile names stay names", () => {
  const graph = buildGraph({ ...START, event_type: "__proto__" });
  graph.addEffects([
    effects("order:A", 0, {
      event_type: "__proto__",
      implied: [{ ...at("__proto__:constructor", 0), erased: true }],
    }),
  ]);
  assert.deepEqual(linesOf(graph.graph()), ["event __proto__ wrote event erased event"]);
});
