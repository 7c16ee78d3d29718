/**
 * Counts the files of the product that exactly one other file imports. Many of them are corridors:
 * a reader has to open one more file for what could stand where it is used, or beside a sibling of
 * the same subject. Their number has a bar.
 */

import { importsOf, resolveImport } from "./imports.ts";
import type { Fault, Source } from "./source_tree.ts";

/** Lower it when fewer are left; 120 is too many, whatever the reason. */
export const SINGLE_IMPORTERS_MAX = 119;

/** A place whose files have one importer by their nature. */
interface Exception {
  readonly place: string;
  readonly reason: string;
}

const EXCEPTIONS: readonly Exception[] = [
  { place: "src/cli", reason: "each command of the program is a row of main.ts" },
  { place: "src/compute/fold_work.ts", reason: "a branch of the switch over kinds of jobs" },
  { place: "src/compute/row_work.ts", reason: "a branch of the switch over kinds of jobs" },
  {
    place: "src/domain/spec/shapes",
    reason: "each is one step on the way from a spec to its types; together they are too long",
  },
  {
    place: "src/domain/migrate",
    reason: "each source is a row of a table, the others are steps of a plan; together too long",
  },
  {
    place: "src/kv/sqlite/backup/restore_store.ts",
    reason: "a branch of the switch over engines",
  },
  { place: "src/kv/foundationdb/binding.ts", reason: "a branch of the switch over engines" },
];

/**
 * Importers whose files have one by their nature. The program of a child process is beside its
 * entry point, so that tests can import it. Each group of routes has rows in the table of paths.
 */
const ENTRY = /^main\.ts$|_main\.ts$|^src\/http\/paths\.ts$/;

/** Paths of the files with exactly one importer, without the exceptions; sorted. */
export function singleImporters(
  sources: readonly Source[],
  exceptions: readonly Exception[] = EXCEPTIONS,
): string[] {
  return [...importersOf(sources)]
    .filter(([path, importers]) =>
      importers.size === 1 && !exceptions.some(({ place }) => isWithin(path, place)) &&
      !ENTRY.test([...importers][0]!)
    )
    .map(([path]) => path).sort();
}

/** Faults: too many files with one importer, and exceptions that nothing needs. */
export function checkSingleImporters(
  sources: readonly Source[],
  max = SINGLE_IMPORTERS_MAX,
  exceptions: readonly Exception[] = EXCEPTIONS,
): Fault[] {
  const at = { path: "scripts/checks/single_importers.ts", line: 1 };
  const single = [...importersOf(sources)].filter(([, importers]) => importers.size === 1);
  const faults: Fault[] = exceptions
    .filter(({ place }) => !single.some(([path]) => isWithin(path, place)))
    .map(({ place }) => {
      const message = `no file in ${place} has exactly one importer: remove the exception`;
      return { ...at, rule: "exception_unused", message };
    });
  const { length } = singleImporters(sources, exceptions);
  if (length > max) {
    const message = `${length} files have exactly one importer, at most ${max} may: put the new ` +
      "one into its importer, or into a file of the same subject";
    faults.push({ ...at, rule: "single_importer", message });
  }
  return faults;
}

function importersOf(sources: readonly Source[]): Map<string, Set<string>> {
  const importers = new Map<string, Set<string>>();
  for (const source of sources) {
    for (const { specifier } of importsOf(source)) {
      const target = resolveImport(source.path, specifier);
      if (target === undefined) continue;
      const known = importers.get(target);
      if (known === undefined) importers.set(target, new Set([source.path]));
      else known.add(source.path);
    }
  }
  return importers;
}

function isWithin(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`);
}
