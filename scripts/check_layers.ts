/**
 * Fails on imports that break the one direction of imports. Only the table below says which
 * layer may import which.
 *
 * It also fails if a relative import leads to no file, or if sibling folders import each other
 * in a circle. Prints `file:line: [rule] message`, and exits with 1 if there are faults.
 */

import { type Import, importsOf, resolveImport } from "./checks/imports.ts";
import { type Fault, readSources, reportAndExit, type Source } from "./checks/source_tree.ts";

interface Layer {
  /** Our files and folders that may be imported; the layer itself always may be. */
  readonly imports: readonly string[];
  /** Our files and folders from which only types may be imported, with `import type`. */
  readonly types?: readonly string[];
  /** Packages and built-in modules, each with the files or folders that may import it. */
  readonly packages?: Readonly<Record<string, readonly string[]>>;
}

/** The table. The longest row that is a prefix of a file's path is the file's layer. */
export const LAYERS: Readonly<Record<string, Layer>> = {
  "src/domain": {
    imports: [],
    packages: {
      "ajv": ["src/domain/spec"],
      "ajv-formats": ["src/domain/spec"],
      "re2js": ["src/domain/spec"],
      "s2js": ["src/domain/geo/cells.ts"],
      "ipaddr.js": ["src/domain/listener"],
      "lru-cache": ["src/domain/recent_map.ts"],
      "@noble/ed25519": ["src/domain/audit"],
      "@noble/hashes": ["src/domain"],
      "node:crypto": ["src/domain"],
      "node:buffer": ["src/domain"],
    },
  },
  "src/kv": {
    imports: [],
    packages: {
      "node:sqlite": ["src/kv"],
      "node:zlib": ["src/kv"],
      "lru-cache": ["src/kv/sqlite/recent_values.ts"],
      "node:worker_threads": ["src/kv"],
      "node:path": ["src/kv"],
      "node:buffer": ["src/kv"],
      "fdb-tuple": ["src/kv/tuple.ts"],
      "foundationdb": ["src/kv/foundationdb/binding.ts"],
    },
  },
  "src/store": {
    imports: ["src/domain", "src/kv/tuple.ts", "src/kv/slab.ts", "src/kv/engine.ts"],
    packages: { "node:crypto": ["src/store"], "node:buffer": ["src/store"] },
  },
  "src/runners": { imports: [] },
  "src/wasm": {
    imports: ["src/domain", "src/runners"],
    packages: { "node:vm": ["src/wasm/time_limit.ts"] },
  },
  "src/sql": {
    imports: ["src/domain", "src/runners"],
    packages: {
      "node:sqlite": ["src/sql"],
      "node:fs": ["src/sql/disk_space.ts"],
    },
  },
  "src/compute": { imports: ["src/domain", "src/runners"] },
  "src/webhook": {
    imports: ["src/domain"],
    types: ["src/host.ts"],
    packages: {
      "node:http": ["src/webhook/sender.ts"],
      "node:https": ["src/webhook/sender.ts"],
      "node:dns": ["src/webhook/sender.ts"],
      "node:net": ["src/webhook/guard.ts"],
      "node:buffer": ["src/webhook"],
    },
  },
  "src/event_loop.ts": { imports: [] },
  "src/host.ts": {
    imports: ["src/event_loop.ts"],
    types: ["src/domain/measures/tracer.ts"],
    packages: { "node:timers": ["src/host.ts"], "node:process": ["src/host.ts"] },
  },
  "src/telemetry.ts": {
    imports: ["src/domain"],
    packages: { "@opentelemetry/api": ["src/telemetry.ts"] },
  },
  "src/config.ts": { imports: ["src/domain"], packages: { "ipaddr.js": ["src/config.ts"] } },
  // What the service does. Rooms below say which of its folders may import which.
  "src/features": {
    imports: ["src/domain", "src/store", "src/wasm", "src/sql", "src/compute"],
    types: ["src/host.ts", "src/kv/engine.ts"],
    packages: {
      "jose": ["src/features/access"],
      "lru-cache": ["src/features"],
      "node:crypto": ["src/features"],
      "node:buffer": ["src/features"],
    },
  },
  "src/private_files.ts": { imports: [], types: ["src/features/access", "src/host.ts"] },
  "src/workers": { imports: ["src/domain"], types: ["src/features/service.ts", "src/host.ts"] },
  "src/http": {
    imports: ["src/domain"],
    types: ["src/features", "src/host.ts", "src/config.ts"],
    packages: {
      "hono": ["src/http"],
      "ipaddr.js": ["src/http"],
      "prom-client": ["src/http/metrics"],
      "node:crypto": ["src/http"],
      "node:buffer": ["src/http"],
      "node:zlib": ["src/http/compress.ts", "src/http/conditional.ts"],
    },
  },
  // Composition: what each command starts, and with what.
  "src/cli": { imports: ["src"] },
  "main.ts": { imports: ["src"], packages: { "commander": ["main.ts"] } },
};

/** Returns every fault of the product sources. `exists` says whether a path is a file. */
export function checkLayers(
  sources: readonly Source[],
  exists: (path: string) => boolean,
  layers: Readonly<Record<string, Layer>> = LAYERS,
): Fault[] {
  const faults: Fault[] = [];
  const edges: Edge[] = [];
  for (const source of sources) {
    const name = layerOf(source.path, layers);
    if (name === undefined) {
      const message = "no row of the layer table covers this file";
      faults.push({ path: source.path, line: 1, rule: "layer_unknown", message });
    }
    for (const imported of importsOf(source)) {
      const target = resolveImport(source.path, imported.specifier);
      if (target !== undefined) edges.push({ from: source.path, to: target, line: imported.line });
      const fault = target !== undefined && !exists(target)
        ? { rule: "import_missing", message: `there is no file ${target}` }
        : name === undefined
        ? undefined
        : breach(name, source.path, imported, target, layers);
      if (fault !== undefined) faults.push({ path: source.path, line: imported.line, ...fault });
    }
  }
  return [...faults, ...folderCycles(edges)];
}

function breach(
  name: string,
  path: string,
  imported: Import,
  target: string | undefined,
  layers: Readonly<Record<string, Layer>>,
): { rule: string; message: string } | undefined {
  const layer = layers[name]!;
  if (target === undefined) {
    const allowedIn = layer.packages?.[packageName(imported.specifier)] ?? [];
    if (allowedIn.some((place) => isWithin(path, place))) return undefined;
    const message = `${name} may not import the package ${imported.specifier} here`;
    return { rule: "layer_package", message };
  }
  if ([name, ...layer.imports].some((place) => isWithin(target, place))) return undefined;
  if ((layer.types ?? []).some((place) => isWithin(target, place))) {
    if (imported.typeOnly) return undefined;
    return { rule: "layer_types_only", message: `${name} may import only types of ${target}` };
  }
  return { rule: "layer_import", message: `${name} may not import ${target}` };
}

function layerOf(path: string, layers: Readonly<Record<string, Layer>>): string | undefined {
  return Object.keys(layers)
    .filter((name) => isWithin(path, name))
    .sort((a, b) => b.length - a.length)[0];
}

function isWithin(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`);
}

/** `hono/cors` belongs to `hono`, `@noble/hashes/sha2.js` to `@noble/hashes`. */
function packageName(specifier: string): string {
  return specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}

interface Edge {
  readonly from: string;
  readonly to: string;
  readonly line: number;
}

/** Checks for every folder that its sub-folders do not import each other in a circle. */
function folderCycles(edges: readonly Edge[]): Fault[] {
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
  return [...siblings.values()].flatMap(cyclesOf);
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

function cyclesOf(graph: ReadonlyMap<string, ReadonlyMap<string, Edge>>): Fault[] {
  const faults: Fault[] = [];
  for (const [from, targets] of graph) {
    for (const [to, edge] of targets) {
      const back = pathBetween(graph, to, from);
      if (back === undefined) continue;
      const message = `circle of folders: ${[from, ...back].join(" -> ")}`;
      faults.push({ path: edge.from, line: edge.line, rule: "folder_cycle", message });
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

if (import.meta.main) {
  const product = await readSources(["main.ts", "src"]);
  const rest = await readSources(["scripts", "tests"]);
  const known = new Set([...product, ...rest].map((source) => source.path));
  const faults = checkLayers(product, (path) => known.has(path));
  for (const source of rest) {
    for (const imported of importsOf(source)) {
      const target = resolveImport(source.path, imported.specifier);
      if (target === undefined || !target.endsWith(".ts") || known.has(target)) continue;
      const message = `there is no file ${target}`;
      faults.push({ path: source.path, line: imported.line, rule: "import_missing", message });
    }
  }
  reportAndExit("layers", product.length + rest.length, faults);
}
