/** Circles of imports, among files and among the folders of a folder. */

import type { Fault } from "./source_tree.ts";

/** One import, by the paths of the files. */
export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly line: number;
}

/** Checks for every folder that its sub-folders do not import each other in a circle. */
export function folderCycles(edges: readonly Edge[]): Fault[] {
  const siblings = new Map<string, Map<string, Map<string, Edge>>>();
  for (const edge of edges) {
    const place = divergence(edge.from, edge.to);
    if (place === undefined) continue;
    const graph = siblings.get(place.parent) ?? new Map<string, Map<string, Edge>>();
    siblings.set(place.parent, graph);
    const targets = graph.get(place.from) ?? new Map<string, Edge>();
    graph.set(place.from, targets);
    if (!targets.has(place.to)) targets.set(place.to, edge);
  }
  return [...siblings.values()].flatMap((graph) => cyclesOf(graph, "folder"));
}

/** Checks that no file imports itself by way of others, be it for a type alone. */
export function fileCycles(edges: readonly Edge[]): Fault[] {
  const graph = new Map<string, Map<string, Edge>>();
  for (const edge of edges) {
    const targets = graph.get(edge.from) ?? new Map<string, Edge>();
    graph.set(edge.from, targets.set(edge.to, edge));
  }
  const left = new Set(graph.keys());
  const leadsOn = (path: string) => [...graph.get(path)!.keys()].some((target) => left.has(target));
  // A file that imports nothing that is left cannot be part of a circle.
  for (let before = -1; before !== left.size;) {
    before = left.size;
    for (const path of left) if (!leadsOn(path)) left.delete(path);
  }
  return cyclesOf(new Map([...graph].filter(([path]) => left.has(path))), "file");
}

/** The first folders in which two paths differ; undefined if either is a file at that depth. */
function divergence(
  from: string,
  to: string,
): { parent: string; from: string; to: string } | undefined {
  const a = from.split("/");
  const b = to.split("/");
  let depth = 0;
  while (a[depth] === b[depth] && depth < a.length) depth++;
  if (depth >= a.length - 1 || depth >= b.length - 1) return undefined;
  const parent = a.slice(0, depth).join("/");
  return { parent, from: `${parent}/${a[depth]}`, to: `${parent}/${b[depth]}` };
}

function cyclesOf(
  graph: ReadonlyMap<string, ReadonlyMap<string, Edge>>,
  what: "folder" | "file",
): Fault[] {
  const faults: Fault[] = [];
  for (const [from, targets] of graph) {
    for (const [to, edge] of targets) {
      const back = pathBetween(graph, to, from);
      if (back === undefined) continue;
      const message = `circle of ${what}s: ${[from, ...back].join(" -> ")}`;
      faults.push({ path: edge.from, line: edge.line, rule: `${what}_cycle`, message });
    }
  }
  return faults;
}

function pathBetween(
  graph: ReadonlyMap<string, ReadonlyMap<string, Edge>>,
  start: string,
  goal: string,
): string[] | undefined {
  const cameFrom = new Map<string, string | undefined>([[start, undefined]]);
  const queue = [start];
  for (let node = queue.shift(); node !== undefined; node = queue.shift()) {
    if (node === goal) {
      const path: string[] = [];
      for (let at: string | undefined = node; at !== undefined; at = cameFrom.get(at)) {
        path.unshift(at);
      }
      return path;
    }
    for (const next of graph.get(node)?.keys() ?? []) {
      if (cameFrom.has(next)) continue;
      cameFrom.set(next, node);
      queue.push(next);
    }
  }
  return undefined;
}
