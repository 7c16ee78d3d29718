/** The public names of the package: where each is declared, its comment, and the examples in it. */

import ts from "typescript";

const SOURCES = new URL("../../sdk/src/", import.meta.url);

export interface PublicSymbol {
  /** The folder of its entry point. */
  readonly entry: string;
  readonly name: string;
  readonly isType: boolean;
  /** The text of its doc comment; "" if there is none. */
  readonly comment: string;
  readonly examples: readonly string[];
}

/** Every name that an entry point passes on. */
export function publicSymbols(entry: string): PublicSymbol[] {
  const mod = new URL(`${entry}/mod.ts`, SOURCES);
  return parse(mod).statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement)) return [];
    const from = new URL((statement.moduleSpecifier as ts.StringLiteral).text, mod);
    const declared = declarationsIn(from);
    const { exportClause } = statement;
    if (exportClause === undefined) return [...declared.values()].map((one) => ({ entry, ...one }));
    return (exportClause as ts.NamedExports).elements.map(({ name, propertyName }) => {
      const found = declared.get((propertyName ?? name).text);
      if (found === undefined) throw new Error(`${from} does not declare ${name.text}`);
      return { entry, ...found, name: name.text };
    });
  });
}

type Declared = Omit<PublicSymbol, "entry">;

function declarationsIn(file: URL): Map<string, Declared> {
  const declared = new Map<string, Declared>();
  for (const statement of parse(file).statements) {
    const isExported = ts.canHaveModifiers(statement) &&
      ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword);
    if (!isExported) continue;
    const names = ts.isVariableStatement(statement)
      ? statement.declarationList.declarations.map(({ name }) => name.getText())
      : [(statement as ts.DeclarationStatement).name!.getText()];
    const isType = ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement);
    for (const name of names) {
      // Of several signatures the first has the comment.
      if (declared.has(name)) continue;
      const comment = commentOf(statement);
      declared.set(name, { name, isType, comment, examples: examplesIn(comment) });
    }
  }
  return declared;
}

function parse(file: URL): ts.SourceFile {
  const text = Deno.readTextFileSync(file);
  return ts.createSourceFile(file.pathname, text, ts.ScriptTarget.Latest, true);
}

/** The last doc comment before a declaration, without its stars. */
function commentOf(node: ts.Node): string {
  const text = node.getSourceFile().text;
  const range = ts.getLeadingCommentRanges(text, node.getFullStart())?.at(-1);
  const comment = range === undefined ? "" : text.slice(range.pos, range.end);
  if (!comment.startsWith("/**")) return "";
  return comment.slice(3, -2).replaceAll(/^ *\* ?/gm, "").trim();
}

/** The blocks of code of a text. */
export function examplesIn(text: string): string[] {
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, code]) => code!);
}
