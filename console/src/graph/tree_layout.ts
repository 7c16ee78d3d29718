/**
 * Where the nodes of a graph stand: causes on the left, what they set off on the right, and each
 * one beside the middle of its own. Takes time in proportion to the nodes.
 */

import type { EffectsGraph } from "./effects_graph.ts";

export interface Spot {
  /** Pixels of the upper left corner. */
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  readonly spots: ReadonlyMap<string, Spot>;
  readonly width: number;
  readonly height: number;
}

export const NODE_WIDTH = 208;
export const NODE_HEIGHT = 44;
const COLUMN_GAP = 72;
const ROW_GAP = 12;

/** Nodes that `root` is no cause of are left out. */
export function layOut(graph: EffectsGraph, root: string): Layout {
  const spots = new Map<string, Spot>();
  let rows = 0;
  let columns = 0;

  /** Without recursion, for a chain of causes may be as long as the graph. */
  const open: { readonly id: string; readonly column: number; next: number }[] = [];
  open.push({ id: root, column: 0, next: 0 });
  while (open.length > 0) {
    const last = open.at(-1)!;
    const children = graph.children.get(last.id) ?? [];
    const child = children[last.next++];
    if (child !== undefined) {
      open.push({ id: child.to, column: last.column + 1, next: 0 });
      continue;
    }
    open.pop();
    columns = Math.max(columns, last.column + 1);
    spots.set(last.id, { x: last.column * (NODE_WIDTH + COLUMN_GAP), y: rowOf(children) });
  }

  function rowOf(children: readonly { readonly to: string }[]): number {
    if (children.length === 0) return rows++ * (NODE_HEIGHT + ROW_GAP);
    return (spots.get(children[0]!.to)!.y + spots.get(children.at(-1)!.to)!.y) / 2;
  }

  return {
    spots,
    width: columns * (NODE_WIDTH + COLUMN_GAP) - COLUMN_GAP,
    height: rows * (NODE_HEIGHT + ROW_GAP) - ROW_GAP,
  };
}

/** The event that everything comes from: the first cause of the first cause, and so on. */
export function rootOf(graph: EffectsGraph, start: string): string {
  const parents = new Map<string, string>();
  for (const edges of graph.children.values()) {
    for (const { from, to } of edges) parents.set(to, from);
  }
  let root = start;
  for (let at: string | undefined = start; at !== undefined; at = parents.get(at)) root = at;
  return root;
}
