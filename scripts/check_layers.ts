/**
 * Fails on imports that break the one direction of imports. Only `checks/layer_table.ts` says
 * which layer, and which room of the features, may import which.
 *
 * It also fails if a row of the table is not used, if a relative import leads to no file, if
 * files or sibling folders import each other in a circle, or if too many files have exactly one
 * importer. Prints `file:line: [rule] message`, and exits with 1 if there are faults.
 */

import { type Import, importsOf, resolveImport } from "./checks/imports.ts";
import { type Edge, fileCycles, folderCycles } from "./checks/import_cycles.ts";
import { HOUSES, type Layer, LAYERS, type Rooms } from "./checks/layer_table.ts";
import {
  checkSingleImporters,
  SINGLE_IMPORTERS_MAX,
  singleImporters,
} from "./checks/single_importers.ts";
import { type Fault, readSources, reportAndExit, type Source } from "./checks/source_tree.ts";

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
        : breach(name, { path: source.path, imported, target }, layers) ??
          roomBreach(source.path, target);
      if (fault !== undefined) faults.push({ path: source.path, line: imported.line, ...fault });
    }
  }
  return [...faults, ...folderCycles(edges), ...fileCycles(edges)];
}

/** Returns every fault of scripts and tests, which may import everything but in no circle. */
export function checkRest(
  sources: readonly Source[],
  exists: (path: string) => boolean,
): Fault[] {
  const faults: Fault[] = [];
  const edges: Edge[] = [];
  for (const source of sources) {
    for (const { specifier, line } of importsOf(source)) {
      const target = resolveImport(source.path, specifier);
      if (target === undefined || !/\.tsx?$/.test(target)) continue;
      edges.push({ from: source.path, to: target, line });
      if (exists(target)) continue;
      const message = `there is no file ${target}`;
      faults.push({ path: source.path, line, rule: "import_missing", message });
    }
  }
  return [...faults, ...fileCycles(edges)];
}

/** Returns a fault for each row of the tables that no import of the product needs. */
export function checkUnused(
  sources: readonly Source[],
  layers: Readonly<Record<string, Layer>> = LAYERS,
  houses: Readonly<Record<string, Rooms>> = HOUSES,
): Fault[] {
  const used = new Set(sources.flatMap((source) => rowsUsed(source, layers)));
  const rows = [
    ...Object.entries(layers).flatMap(([name, { imports, types = [], packages = {} }]) => [
      ...[...imports, ...types].map((place) => `${name}: ${place}`),
      ...Object.entries(packages).flatMap(([one, places]) =>
        places.map((place) => `${name}: ${one} in ${place}`)
      ),
    ]),
    ...Object.entries(houses).flatMap(([house, rooms]) =>
      Object.entries(rooms).flatMap(([from, all]) => all.map((to) => `${house}/${from}: ${to}`))
    ),
  ];
  return rows.filter((row) => !used.has(row)).map((row) => {
    const message = `no import needs the row "${row}": remove it`;
    return { path: "scripts/checks/layer_table.ts", line: 1, rule: "layer_unused", message };
  });
}

function rowsUsed(source: Source, layers: Readonly<Record<string, Layer>>): string[] {
  const name = layerOf(source.path, layers);
  if (name === undefined) return [];
  const { imports, types = [], packages = {} } = layers[name]!;
  return importsOf(source).flatMap(({ specifier }) => {
    const target = resolveImport(source.path, specifier);
    if (target === undefined) {
      const one = packageName(specifier);
      const places = packages[one] ?? [];
      return places.filter((place) => isWithin(source.path, place))
        .map((place) => `${name}: ${one} in ${place}`);
    }
    const places = [...imports, ...types].filter((place) => isWithin(target, place));
    const house = houseOf(source.path);
    return [
      ...places.map((place) => `${name}: ${place}`),
      `${house}/${roomOf(house, source.path)}: ${roomOf(house, target)}`,
    ];
  });
}

function roomBreach(path: string, target: string | undefined) {
  const house = houseOf(path);
  const from = roomOf(house, path);
  if (from === undefined || target === undefined || !isWithin(target, house!)) return undefined;
  const to = roomOf(house, target);
  if (to === from || (to !== undefined && HOUSES[house!]![from]?.includes(to))) return undefined;
  return { rule: "room_import", message: `${house}/${from} may not import ${target}` };
}

function houseOf(path: string): string | undefined {
  return Object.keys(HOUSES).find((house) => isWithin(path, house));
}

/** The folder of the house that has the file; undefined for a file beside the rooms. */
function roomOf(house: string | undefined, path: string): string | undefined {
  if (house === undefined || !isWithin(path, house)) return undefined;
  const [room, ...rest] = path.slice(house.length + 1).split("/");
  return rest.length > 0 ? room : undefined;
}

interface FoundImport {
  readonly path: string;
  readonly imported: Import;
  readonly target: string | undefined;
}

function breach(
  name: string,
  { path, imported, target }: FoundImport,
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

if (import.meta.main) {
  const product = await readSources(["main.ts", "src", "sdk", "console/src"]);
  const server = product.filter(({ path }) => !isWithin(path, "sdk") && !isWithin(path, "console"));
  const rest = await readSources(["scripts", "tests"]);
  const known = new Set([...product, ...rest].map((source) => source.path));
  const faults = [
    ...checkLayers(product, (path) => known.has(path)),
    ...checkUnused(product),
    ...checkSingleImporters(server),
    ...checkRest(rest, (path) => known.has(path)),
  ];
  const { length } = singleImporters(server);
  console.log(`layers: ${length} files have one importer, at most ${SINGLE_IMPORTERS_MAX} may`);
  reportAndExit("layers", product.length + rest.length, faults);
}
