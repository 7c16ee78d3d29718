/** Where the nodes of a graph stand. */

import assert from "node:assert/strict";
import fc from "fast-check";
import type { EffectsGraph, GraphEdge } from "../../../console/src/graph/effects_graph.ts";
import { layOut, NODE_HEIGHT, NODE_WIDTH, rootOf } from "../../../console/src/graph/tree_layout.ts";

/** Node n has the parent `parents[n - 1]`; node 0 has none. */
function treeOf(parents: readonly number[]): EffectsGraph {
  const children = new Map<string, GraphEdge[]>();
  for (const [at, parent] of parents.entries()) {
    const edge = { from: String(parent), to: String(at + 1), label: "wrote" };
    children.set(edge.from, [...children.get(edge.from) ?? [], edge]);
  }
  const nodes = new Map(
    Array.from({ length: parents.length + 1 }, (_, at) => {
      const id = String(at);
      return [id, { id, kind: "event", title: id, key: "" }] as const;
    }),
  );
  return { nodes, children, further: [], unknown: [], isCut: false };
}

const trees = fc.integer({ min: 0, max: 60 }).chain((count) =>
  fc.tuple(...Array.from({ length: count }, (_, at) => fc.nat(at)))
);

Deno.test("every node has a place of its own, right of its cause and inside of the drawing", () => {
  fc.assert(
    fc.property(trees, (parents) => {
      const graph = treeOf(parents);
      const { spots, width, height } = layOut(graph, "0");
      assert.equal(spots.size, parents.length + 1);
      const all = [...spots];
      for (const [id, { x, y }] of all) {
        assert.ok(x >= 0 && x + NODE_WIDTH <= width && y >= 0 && y + NODE_HEIGHT <= height);
        for (const [other, spot] of all) {
          const meets = Math.abs(spot.x - x) < NODE_WIDTH && Math.abs(spot.y - y) < NODE_HEIGHT;
          assert.ok(id === other || !meets, `${id} is on ${other}`);
        }
      }
      for (const [at, parent] of parents.entries()) {
        assert.ok(spots.get(String(at + 1))!.x > spots.get(String(parent))!.x);
        assert.equal(rootOf(graph, String(at + 1)), "0");
      }
    }),
    { numRuns: 200 },
  );
});

Deno.test("a cause stands beside the middle of what it has set off", () => {
  const { spots } = layOut(treeOf([0, 0, 0]), "0");
  assert.equal(spots.get("0")!.y, spots.get("2")!.y);
});

Deno.test("a chain of 1,000 events, and 1,000 events of one cause, are laid out", () => {
  const chain = layOut(treeOf(Array.from({ length: 1_000 }, (_, at) => at)), "0");
  assert.equal(chain.height, NODE_HEIGHT);
  const star = layOut(treeOf(Array<number>(1_000).fill(0)), "0");
  assert.equal(star.spots.size, 1_001);
  assert.ok(star.width < 3 * NODE_WIDTH);
});
