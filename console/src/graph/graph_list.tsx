/** The graph as a list in a list: the same nodes and edges, for keyboards and screen readers. */

import { useMemo } from "preact/hooks";
import { StatusChip } from "../parts/status_chip.tsx";
import type { EffectsGraph, GraphEdge, GraphNode } from "./effects_graph.ts";
import type { DrawingProps } from "./graph_drawing.tsx";
import { hrefOfNode } from "./node_address.ts";

/** Deeper lists are not indented any further: a chain may be as long as the graph. */
const LEVELS_MAX = 12;
const INDENT_REM = 1.25;

interface Line {
  readonly node: GraphNode;
  /** How it came to be; absent for the first cause. */
  readonly edge?: GraphEdge;
  readonly level: number;
}

export function GraphList({ graph, root, start }: DrawingProps) {
  const lines = useMemo(() => linesOf(graph, root), [graph, root]);
  const further = useMemo(() => Map.groupBy(graph.further, ({ from }) => from), [graph]);
  return (
    <ul class="graph-list" aria-label="Causes and effects">
      {lines.map(({ node, edge, level }) => (
        // The lines are not nested, for a chain may be as long as the graph; each tells its level.
        <li key={node.id} aria-level={level} style={{ marginLeft: indentOf(level) }}>
          {edge !== undefined && <span class="quiet">{`${edge.label} `}</span>}
          <Name node={node} isStart={node.id === start} />
          {further.get(node.id)?.map(({ to, label }) => (
            <span key={to} class="quiet">
              ; {label} <bdi>{graph.nodes.get(to)!.title}</bdi>
            </span>
          ))}
        </li>
      ))}
    </ul>
  );
}

function indentOf(level: number): string {
  return `${INDENT_REM * (Math.min(level, LEVELS_MAX) - 1)}rem`;
}

/** From a cause down to all that it has set off, before what came after it. */
function linesOf(graph: EffectsGraph, root: string): Line[] {
  const lines: Line[] = [];
  const open: Line[] = [{ node: graph.nodes.get(root)!, level: 1 }];
  for (let line = open.pop(); line !== undefined; line = open.pop()) {
    lines.push(line);
    const level = line.level + 1;
    for (const edge of (graph.children.get(line.node.id) ?? []).toReversed()) {
      open.push({ node: graph.nodes.get(edge.to)!, edge, level });
    }
  }
  return lines;
}

function Name({ node, isStart }: { node: GraphNode; isStart: boolean }) {
  const { kind, title, key, state, detail } = node;
  const href = hrefOfNode(node);
  return (
    <>
      {kind !== "event" && `${kind}: `}
      {href === undefined
        ? (
          <strong>
            <bdi>{title}</bdi>
          </strong>
        )
        : (
          <a href={href} aria-current={isStart ? "true" : undefined}>
            <bdi>{title}</bdi>
          </a>
        )} {key !== "" && <code>{key}</code>} {state !== undefined && <StatusChip state={state} />}
      {" "}
      {detail}
      {isStart && <span class="quiet">{` (this event)`}</span>}
    </>
  );
}
