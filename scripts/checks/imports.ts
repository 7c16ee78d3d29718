/**
 * Finds what a source file imports: static, dynamic and type imports, re-exports, worker
 * entries.
 */

import ts from "typescript";
import { lineOf, type Source, walk } from "./source_tree.ts";

export interface Import {
  /** As written: `./x.ts`, `hono`, `node:crypto`. */
  readonly specifier: string;
  readonly line: number;
  /** Nothing of it exists at run time. */
  readonly typeOnly: boolean;
}

export function importsOf(source: Source): Import[] {
  const imports: Import[] = [];
  walk(source, (node) => {
    const found = importOf(node);
    if (found === undefined) return;
    const line = lineOf(source, node.getStart(source.tree));
    imports.push({ specifier: found.literal.text, line, typeOnly: found.typeOnly });
  });
  return imports;
}

interface Found {
  readonly literal: ts.StringLiteralLike;
  readonly typeOnly: boolean;
}

function importOf(node: ts.Node): Found | undefined {
  if (ts.isImportDeclaration(node)) {
    return found(node.moduleSpecifier, isTypeOnlyImport(node.importClause));
  }
  if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
    return found(node.moduleSpecifier, isTypeOnlyExport(node));
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
    return found(node.argument.literal, true);
  }
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
    return found(node.arguments[0], false);
  }
  return isModuleUrl(node) ? found(node.arguments?.[0], false) : undefined;
}

function found(literal: ts.Node | undefined, typeOnly: boolean): Found | undefined {
  if (literal === undefined || !ts.isStringLiteralLike(literal)) return undefined;
  return { literal, typeOnly };
}

function isTypeOnlyImport(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined) return false;
  if (clause.isTypeOnly) return true;
  const bindings = clause.namedBindings;
  if (clause.name !== undefined || bindings === undefined) return false;
  return ts.isNamedImports(bindings) && bindings.elements.length > 0 &&
    bindings.elements.every((element) => element.isTypeOnly);
}

function isTypeOnlyExport(node: ts.ExportDeclaration): boolean {
  if (node.isTypeOnly) return true;
  const clause = node.exportClause;
  return clause !== undefined && ts.isNamedExports(clause) && clause.elements.length > 0 &&
    clause.elements.every((element) => element.isTypeOnly);
}

/** `new URL("./entry.ts", import.meta.url)` is how a thread or child process gets its code. */
function isModuleUrl(node: ts.Node): node is ts.NewExpression {
  if (!ts.isNewExpression(node) || node.expression.getText() !== "URL") return false;
  const [path, base] = node.arguments ?? [];
  return path !== undefined && ts.isStringLiteralLike(path) && path.text.endsWith(".ts") &&
    base?.getText() === "import.meta.url";
}

/** The path of a relative import, from the root of the repository; undefined for packages. */
export function resolveImport(from: string, specifier: string): string | undefined {
  if (!specifier.startsWith("./") && !specifier.startsWith("../")) return undefined;
  const parts = from.split("/").slice(0, -1);
  for (const part of specifier.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}
