/**
 * The rule that no loop forgets its charge. In folders that run what clients size, every loop
 * must draw on a budget, run while a definition is compiled, or say what bounds it:
 *
 * - It is charged if its body names the budget, or passes on what holds it.
 * - It runs while a definition is compiled if its function takes a `site` or the `faults`.
 * - Otherwise the comment on the line above it must begin with "Bounded:" and name the bound. Such
 *   a line in the header of the file stands for all of its loops.
 */

import ts from "typescript";
import { type Fault, lineOf, type Source, walk } from "./source_tree.ts";

/** Folders whose loops are checked. */
const CHARGED_FOLDERS: readonly string[] = [
  "src/domain/handler/",
  "src/domain/projection/",
  "src/domain/reaction/",
  "src/domain/saga/",
];

/** Names of parameters that are a budget or hold one; they are the same everywhere. */
const BUDGET_NAMES: ReadonlySet<string> = new Set(["budget", "evaluation", "pieces"]);
/** Parameters of functions that compile a definition; the limits of a spec bound its size. */
const COMPILING_NAMES: ReadonlySet<string> = new Set(["site", "faults"]);

/** Methods that do something for each element. */
const WALKS: ReadonlySet<string> = new Set([
  "every",
  "filter",
  "find",
  "findIndex",
  "findLast",
  "findLastIndex",
  "flatMap",
  "forEach",
  "map",
  "reduce",
  "some",
  "sort",
  "toSorted",
]);

const EXCUSE = /^\s*(?:\/\/|\*) Bounded: \S/;
const MESSAGE = "this loop draws on no budget: charge it, pass the budget on, or say what bounds " +
  'it in a comment on the line above: "// Bounded: ..."';

export function chargedLoops(source: Source): Fault[] {
  const { path } = source;
  if (!CHARGED_FOLDERS.some((folder) => path.startsWith(folder))) return [];
  const lines = source.text.split("\n");
  const header = lines.slice(0, lines.indexOf(" */"));
  if (header.some((line) => EXCUSE.test(line))) return [];
  const faults: Fault[] = [];
  walk(source, (node) => {
    const body = bodyOfLoop(node);
    if (body === undefined || names(body, BUDGET_NAMES)) return;
    if (isCompiling(node)) return;
    const line = lineOf(source, node.getStart(source.tree));
    if (EXCUSE.test(lines[line - 2] ?? "")) return;
    faults.push({ path, line, rule: "uncharged_loop", message: MESSAGE });
  });
  return faults;
}

/** The code that runs for each element; undefined if the node is no loop. */
function bodyOfLoop(node: ts.Node): ts.Node | undefined {
  if (ts.isIterationStatement(node, false)) return node.statement;
  if (!ts.isCallExpression(node)) return undefined;
  const { expression } = node;
  if (!ts.isPropertyAccessExpression(expression)) return undefined;
  return WALKS.has(expression.name.text) ? node.arguments[0] : undefined;
}

/** Whether the nearest enclosing function that takes a budget, a site or faults compiles. */
function isCompiling(node: ts.Node): boolean {
  for (let at: ts.Node | undefined = node.parent; at !== undefined; at = at.parent) {
    if (!ts.isFunctionLike(at)) continue;
    if (at.parameters.some(({ name }) => names(name, BUDGET_NAMES))) return false;
    if (at.parameters.some(({ name }) => names(name, COMPILING_NAMES))) return true;
  }
  return false;
}

function names(node: ts.Node, wanted: ReadonlySet<string>): boolean {
  if (ts.isIdentifier(node)) return wanted.has(node.text);
  return ts.forEachChild(node, (child) => names(child, wanted) || undefined) ?? false;
}
