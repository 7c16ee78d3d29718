/** What the boxes and lines of the drawing mean. */

import type { ComponentChildren } from "preact";
import { arrowEnd, Arrowhead } from "./arrowhead.tsx";

const WIDTH = 28;
const HEIGHT = 16;

/** By the classes of the drawing. Colours repeat what the second line of a box says in words. */
const BOXES = [
  ["node event", "event"],
  ["node event start", "this event"],
  ["node timer", "timer, saga or delivery"],
  ["node good", "done"],
  ["node busy", "under way"],
  ["node warning", "undone"],
  ["node danger", "failed"],
] as const;

const LINES = [
  ["edge", "legend-arrow", "has set off"],
  ["edge further", "legend-further", "another cause"],
] as const;

export function GraphLegend() {
  return (
    <ul class="graph-legend" aria-label="Legend">
      {BOXES.map(([className, meaning]) => (
        <li key={meaning}>
          <Sample>
            <g class={className}>
              <rect x={2} y={2} width={WIDTH - 4} height={HEIGHT - 4} rx={3} />
            </g>
          </Sample>{" "}
          {meaning}
        </li>
      ))}
      {LINES.map(([className, id, meaning]) => (
        <li key={meaning}>
          <Sample>
            <Arrowhead id={id} />
            <path
              class={className}
              d={`M0,${HEIGHT / 2} H${WIDTH}`}
              {...arrowEnd(id)}
            />
          </Sample>{" "}
          {meaning}
        </li>
      ))}
    </ul>
  );
}

function Sample({ children }: { children: ComponentChildren }) {
  return (
    <svg
      aria-hidden="true"
      class="drawn"
      width={WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
    >
      {children}
    </svg>
  );
}
