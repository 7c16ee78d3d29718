/** The graph as a drawing. The list beside it says the same to those who do not see it. */

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { toneOf } from "../parts/status_chip.tsx";
import { arrowEnd, Arrowhead } from "./arrowhead.tsx";
import type { EffectsGraph, GraphEdge, GraphNode } from "./effects_graph.ts";
import { hrefOfNode } from "./node_address.ts";
import { type Layout, layOut, NODE_HEIGHT, NODE_WIDTH, type Spot } from "./tree_layout.ts";

export interface DrawingProps {
  readonly graph: EffectsGraph;
  readonly root: string;
  /** The event that the graph is about. */
  readonly start: string;
}

const ARROW = "graph-arrow";
const MARGIN = 16;
const FURTHER_BELOW = 12;
const SCALES = [0.25, 0.5, 0.75, 1, 1.5] as const;
const FULL_SIZE = 3;
/** Characters that have room in a node. */
const TITLE_SHOWN = 24;
const KEY_SHOWN = 30;

export function GraphDrawing({ graph, root, start }: DrawingProps) {
  const [size, setSize] = useState(FULL_SIZE);
  const layout = useMemo(() => layOut(graph, root), [graph, root]);
  const scale = SCALES[size]!;
  const [width, height] = [layout.width + 2 * MARGIN, layout.height + 2 * MARGIN];
  const drawn = useMemo(
    () => <Contents graph={graph} layout={layout} start={start} />,
    [graph, layout, start],
  );
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const spot = layout.spots.get(start);
    if (box.current !== null && spot !== undefined) showSpot(box.current, spot, scale);
  }, [start, scale]);
  return (
    <>
      <div class="row">
        <button type="button" disabled={size === 0} onClick={() => setSize(size - 1)}>
          Smaller
        </button>
        <button
          type="button"
          disabled={size === SCALES.length - 1}
          onClick={() => setSize(size + 1)}
        >
          Larger
        </button>
        <span class="quiet">{100 * scale} %</span>
      </div>
      <div ref={box} class="graph" role="region" aria-label="Drawing of the graph" tabIndex={0}>
        <svg
          aria-hidden="true"
          class="drawn"
          width={width * scale}
          height={height * scale}
          viewBox={`${-MARGIN} ${-MARGIN} ${width} ${height}`}
        >
          {drawn}
        </svg>
      </div>
    </>
  );
}

/** Scrolls to a node, for the event of a large graph would else be out of sight. */
function showSpot(box: HTMLElement, { x, y }: Spot, scale: number): void {
  box.scrollTo({
    left: (x + MARGIN + NODE_WIDTH / 2) * scale - box.clientWidth / 2,
    top: (y + MARGIN + NODE_HEIGHT / 2) * scale - box.clientHeight / 2,
  });
}

interface ContentsProps {
  readonly graph: EffectsGraph;
  readonly layout: Layout;
  readonly start: string;
}

function Contents({ graph, layout: { spots }, start }: ContentsProps) {
  const edges = [...graph.children.values()].flat();
  return (
    <>
      <Arrowhead id={ARROW} />
      {edges.map((edge) => <Edge key={`${edge.from} ${edge.to}`} edge={edge} spots={spots} />)}
      {graph.further.map((edge) => (
        <Edge key={`further ${edge.from} ${edge.to}`} edge={edge} spots={spots} isFurther />
      ))}
      {[...spots].map(([id, spot]) => (
        <Node key={id} node={graph.nodes.get(id)!} spot={spot} isStart={id === start} />
      ))}
    </>
  );
}

interface EdgeProps {
  readonly edge: GraphEdge;
  readonly spots: ReadonlyMap<string, Spot>;
  readonly isFurther?: boolean;
}

function Edge({ edge: { from, to, label }, spots, isFurther }: EdgeProps) {
  const [a, b] = [spots.get(from), spots.get(to)];
  if (a === undefined || b === undefined) return null;
  // A further edge may lead back; it leaves and arrives below the others.
  const isBack = b.x < a.x;
  const below = NODE_HEIGHT / 2 + (isFurther ? FURTHER_BELOW : 0);
  const [x1, y1] = [a.x + (isBack ? 0 : NODE_WIDTH), a.y + below];
  const [x2, y2] = [b.x + (isBack ? NODE_WIDTH : 0), b.y + below];
  const middle = (x1 + x2) / 2;
  return (
    <path
      class={isFurther ? "edge further" : "edge"}
      d={`M${x1},${y1} C${middle},${y1} ${middle},${y2} ${x2},${y2}`}
      {...arrowEnd(ARROW)}
    >
      <title>{label}</title>
    </path>
  );
}

interface NodeProps {
  readonly node: GraphNode;
  readonly spot: Spot;
  readonly isStart: boolean;
}

function Node({ node, spot, isStart }: NodeProps) {
  const { kind, title, key, state, detail } = node;
  const href = hrefOfNode(node);
  const tone = state === undefined ? "" : toneOf(state);
  const named = kind === "event" ? title : `${kind}: ${title}`;
  const second = [state ?? "", key].filter((part) => part !== "");
  const contents = (
    <>
      <title>{[title, ...second, detail ?? ""].filter((part) => part !== "").join(" · ")}</title>
      <rect width={NODE_WIDTH} height={NODE_HEIGHT} rx={6} />
      <text class="title" x={10} y={18}>{shortened(named, TITLE_SHOWN)}</text>
      <text class="second" x={10} y={35}>{shortened(second.join(" "), KEY_SHOWN)}</text>
    </>
  );
  return (
    <g
      class={`node ${kind} ${tone} ${isStart ? "start" : ""}`}
      transform={`translate(${spot.x},${spot.y})`}
    >
      {href === undefined ? contents : <a href={href} tabindex={-1}>{contents}</a>}
    </g>
  );
}

function shortened(text: string, characters: number): string {
  return text.length > characters ? `${text.slice(0, characters - 1)}…` : text;
}
