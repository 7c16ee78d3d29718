/**
 * The rule that no two exported functions of the product share a name, so that who searches for
 * one does not find another.
 */

import ts from "typescript";
import { type Fault, lineOf, type Source } from "./source_tree.ts";

/**
 * Examples for users are programs of their own. Handlers of routes have the names of what they
 * call.
 */
const APART = ["src/wasm/examples/", "src/http/"];

/** Reports each exported function whose name an earlier file has exported for another one. */
export function sameNames(sources: readonly Source[]): Fault[] {
  const first = new Map<string, string>();
  const faults: Fault[] = [];
  for (const source of sources) {
    const { path } = source;
    if (!path.startsWith("src/") || APART.some((place) => path.startsWith(place))) continue;
    for (const statement of source.tree.statements) {
      if (!ts.isFunctionDeclaration(statement) || !isExported(statement)) continue;
      const name = statement.name!.text;
      const other = first.get(name) ?? path;
      first.set(name, other);
      if (other === path) continue;
      const line = lineOf(source, statement.getStart(source.tree));
      const message = `${other} exports another function ${name}()`;
      faults.push({ path, line, rule: "same_name", message });
    }
  }
  return faults;
}

function isExported({ modifiers }: ts.FunctionDeclaration): boolean {
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;
}
