/**
 * The sources as the checks see them: path, text and syntax tree. Paths are relative to the
 * repository and use `/`, so that a check can be tested with a tree that exists on no disk.
 */

import ts from "typescript";

export interface Source {
  readonly path: string;
  readonly text: string;
  readonly tree: ts.SourceFile;
}

/** One breach of one rule, at one line (from 1). */
export interface Fault {
  readonly path: string;
  readonly line: number;
  readonly rule: string;
  readonly message: string;
}

export function parseSource(path: string, text: string): Source {
  return { path, text, tree: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true) };
}

/** All TypeScript files at and below the paths, sorted; a path that does not exist adds none. */
export async function readSources(paths: readonly string[]): Promise<Source[]> {
  const found: string[] = [];
  for (const path of paths) await collect(path, found);
  found.sort();
  return await Promise.all(
    found.map(async (path) => parseSource(path, await Deno.readTextFile(path))),
  );
}

async function collect(path: string, found: string[]): Promise<void> {
  const info = await Deno.stat(path).catch(() => undefined);
  if (info === undefined) return;
  if (info.isFile) {
    if (isSource(path)) found.push(path);
    return;
  }
  for await (const entry of Deno.readDir(path)) {
    if (entry.isDirectory || isSource(entry.name)) {
      await collect(`${path}/${entry.name}`, found);
    }
  }
}

function isSource(path: string): boolean {
  return /\.tsx?$/.test(path);
}

/** The line (from 1) where a position of the file is. */
export function lineOf(source: Source, position: number): number {
  return source.tree.getLineAndCharacterOfPosition(position).line + 1;
}

/** Calls `visit` for every node of the file, parents first. */
export function walk(source: Source, visit: (node: ts.Node) => void): void {
  function step(node: ts.Node): void {
    visit(node);
    ts.forEachChild(node, step);
  }
  step(source.tree);
}

/** Prints the faults, sorted, and ends the process: with 1 if there are any, else with 0. */
export function reportAndExit(
  check: string,
  count: number,
  faults: readonly Fault[],
  things = "files",
): never {
  const sorted = [...faults].sort((a, b) => a.path.localeCompare(b.path) || a.line - b.line);
  for (const fault of sorted) {
    console.log(`${fault.path}:${fault.line}: [${fault.rule}] ${fault.message}`);
  }
  console.log(`${check}: ${count} ${things}, ${faults.length} faults`);
  Deno.exit(faults.length === 0 ? 0 : 1);
}
