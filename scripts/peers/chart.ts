/** The rates of one work as a bar chart in SVG: one bar for each store, the fastest on top. */

import type { Figures } from "./figures.ts";
import { BUSY, nameOfAppend } from "./names.ts";
import { type PeerResult, resultsOf } from "./report.ts";

interface Bar {
  readonly name: string;
  readonly kind: PeerResult["kind"];
  readonly rate: number;
}

const WIDTH = 760;
const LABEL_WIDTH = 150;
/** Right of the longest bar, for its figure. */
const FIGURE_WIDTH = 190;
const TOP = 64;
const ROW_HEIGHT = 32;
const BAR_HEIGHT = 20;
const FOOT_HEIGHT = 44;
const COLORS = { ours: "#1f6feb", durable: "#8b98a5", "not durable": "#d0d7de" } as const;

/** Appends at 64 connections, of all stores that were measured. */
export function formatChart(figures: Figures): string {
  const work = nameOfAppend(BUSY);
  const all = resultsOf(figures).flatMap(({ name, kind, measured }) => {
    const found = measured.find((each) => each.work === work);
    return found === undefined ? [] : [{ name, kind, rate: found.value }];
  });
  const bars = all.filter(({ kind }) => kind !== "yardstick").sort((a, b) => b.rate - a.rate);
  const yardstick = all.find(({ kind }) => kind === "yardstick");
  const max = Math.max(...bars.map(({ rate }) => rate));
  const height = TOP + bars.length * ROW_HEIGHT + FOOT_HEIGHT;
  const title = `Events appended per second, ${BUSY} connections, one event in each request`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" ` +
    `viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escapeXml(title)}">`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    `<g font-family="system-ui, sans-serif" font-size="14" fill="#1f2328">`,
    `<text x="16" y="30" font-size="16" font-weight="600">${escapeXml(title)}</text>`,
    ...bars.flatMap((bar, index) => drawBar(bar, index, max)),
    ...drawFoot(yardstick, height),
    "</g>",
    "</svg>",
    "",
  ].join("\n");
}

function drawBar({ name, kind, rate }: Bar, index: number, max: number): string[] {
  const top = TOP + index * ROW_HEIGHT;
  const middle = top + BAR_HEIGHT / 2 + 5;
  const width = rate / max * (WIDTH - LABEL_WIDTH - FIGURE_WIDTH);
  const color = COLORS[kind as keyof typeof COLORS];
  const figure = rate.toLocaleString("en-US") + (kind === "not durable" ? " (not durable)" : "");
  const weight = kind === "ours" ? ' font-weight="600"' : "";
  return [
    `<text x="${LABEL_WIDTH - 8}" y="${middle}" text-anchor="end"${weight}>${
      escapeXml(name)
    }</text>`,
    `<rect x="${LABEL_WIDTH}" y="${top}" width="${width.toFixed(1)}" height="${BAR_HEIGHT}" ` +
    `fill="${color}"/>`,
    `<text x="${(LABEL_WIDTH + width + 8).toFixed(1)}" y="${middle}"${weight}>${figure}</text>`,
  ];
}

/** What HTTP alone can do would dwarf the bars, so it is told in words. */
function drawFoot(yardstick: Bar | undefined, height: number): string[] {
  if (yardstick === undefined) return [];
  const rate = yardstick.rate.toLocaleString("en-US");
  const text = `For comparison, a route that stores nothing answers ${rate} requests per second.`;
  return [
    `<text x="16" y="${height - 16}" font-size="13" fill="#59636e">${escapeXml(text)}</text>`,
  ];
}

function escapeXml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
