/** A chart of the rows of an answer. The library that draws it is loaded with the first chart. */

import { useEffect, useMemo, useRef } from "preact/hooks";
import type UPlot from "uplot";
import { theme } from "../shell/theme.ts";
import { type ChartData, chartDataOf, type Row } from "./chart_data.ts";
import type { ChartColumns } from "./notebook_file.ts";

export interface ChartProps extends ChartColumns {
  readonly rows: readonly Row[];
}

const HEIGHT_PX = 260;
/** Of the room that each bar has. */
const BARS_WIDTH = 0.7;
const BAR_PX_MAX = 60;

export function Chart({ rows, x, y }: ChartProps) {
  const element = useRef<HTMLDivElement>(null);
  const data = useMemo(() => chartDataOf(rows, x, y), [rows, x, y]);
  const chosen = theme.value;
  useEffect(() => {
    const ending = new AbortController();
    void draw(element.current!, data, { x, y }, ending.signal);
    return () => ending.abort();
  }, [data, chosen]);
  return (
    <div
      class="chart"
      ref={element}
      role="img"
      aria-label={`${y} by ${x}, ${data.xs.length} points`}
    >
    </div>
  );
}

async function draw(
  element: HTMLElement,
  data: ChartData,
  titles: ChartColumns,
  signal: AbortSignal,
): Promise<void> {
  const { default: Plot } = await import("uplot");
  if (signal.aborted) return;
  const options = optionsOf(Plot, element, data, titles);
  const plot = new Plot(options, [[...data.xs], [...data.ys]], element);
  const observer = new ResizeObserver(() =>
    plot.setSize({ width: element.clientWidth, height: HEIGHT_PX })
  );
  observer.observe(element);
  signal.addEventListener("abort", () => {
    observer.disconnect();
    plot.destroy();
  });
}

/** Colours are those of the element's styles, for a canvas knows no variables. */
function optionsOf(
  Plot: typeof UPlot,
  element: HTMLElement,
  { axis, xs, names }: ChartData,
  { x, y }: ChartColumns,
): UPlot.Options {
  const style = getComputedStyle(element);
  const ink = style.color;
  const grid = { stroke: style.borderTopColor, width: 1 };
  const line = style.outlineColor;
  const isNames = axis === "names";
  const nameAt = (place: number) => Number.isInteger(place) ? names[place] ?? "" : "";
  return {
    width: element.clientWidth,
    height: HEIGHT_PX,
    scales: isNames
      ? { x: { time: false, range: [-0.5, xs.length - 0.5] }, y: { range: barRange } }
      : { x: { time: axis === "time" } },
    axes: [
      {
        stroke: ink,
        grid: isNames ? { show: false } : grid,
        ticks: grid,
        ...(isNames && { values: (_: UPlot, places: number[]) => places.map(nameAt) }),
      },
      { stroke: ink, grid, ticks: grid, size: 70 },
    ],
    series: [
      {
        label: x,
        ...(isNames && { value: (_: UPlot, place: number | null) => nameAt(place ?? -1) }),
      },
      {
        label: y,
        stroke: line,
        width: 2,
        ...(isNames &&
          {
            fill: line,
            points: { show: false },
            paths: Plot.paths.bars!({ size: [BARS_WIDTH, BAR_PX_MAX] }),
          }),
      },
    ],
  };
}

/** The length of a bar says its value, so all begin at 0. */
function barRange(_: UPlot, least: number | null, most: number | null): [number, number] {
  const [from, to] = [Math.min(0, least ?? 0), Math.max(0, most ?? 0)];
  const room = (to - from) / 20 || 1;
  return [from < 0 ? from - room : 0, to > 0 ? to + room : 0];
}
