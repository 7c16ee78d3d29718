/**
 * The style rules, one small function each: it takes a parsed file and returns the faults in
 * it.
 */

import ts from "typescript";
import { type Fault, lineOf, type Source, walk } from "./source_tree.ts";
import {
  CLASS_FOLDERS,
  FILE_LINES_MAX,
  FUNCTION_LINES_MAX,
  LINE_COLUMNS_MAX,
  LONG_TEXT_COLUMNS,
  PARAMETERS_MAX,
  PARSING_FOLDER,
  REFUSED_CALLS,
  REFUSED_NAMES,
  REFUSED_PROPERTIES,
  UNFINISHED_WORDS,
  WORLD_FILES,
} from "./style_tables.ts";

export type Rule = (source: Source) => Fault[];

export function fileLength(source: Source): Fault[] {
  const row = FILE_LINES_MAX.find(([folder]) => within(source.path, folder));
  const lines = source.text.split("\n").length - (source.text.endsWith("\n") ? 1 : 0);
  if (row === undefined || lines <= row[1]) return [];
  return [fault(source, row[1], "file_length", `${lines} lines, at most ${row[1]}`)];
}

/**
 * Counts from the first line of the declaration, without its doc comment, to the last. An inner
 * function is counted on its own; it adds one line to the outer function.
 */
export function functionLength(source: Source): Fault[] {
  return collect(source, (node) => {
    if (!isFunctionWithBody(node)) return undefined;
    const lines = spanOf(source, node) + 1 - linesOfInnerFunctions(source, node);
    if (lines <= FUNCTION_LINES_MAX) return undefined;
    return ["function_length", `${lines} lines, at most ${FUNCTION_LINES_MAX}`];
  });
}

function isFunctionWithBody(node: ts.Node): boolean {
  return ts.isFunctionLike(node) && "body" in node && node.body !== undefined;
}

function spanOf(source: Source, node: ts.Node): number {
  return lineOf(source, node.getEnd()) - lineOf(source, node.getStart(source.tree));
}

function linesOfInnerFunctions(source: Source, node: ts.Node): number {
  let lines = 0;
  ts.forEachChild(node, (child) => {
    lines += isFunctionWithBody(child)
      ? spanOf(source, child)
      : linesOfInnerFunctions(source, child);
  });
  return lines;
}

/** Counts positional parameters; a rest of several named ones counts each of them. */
export function longSignatures(source: Source): Fault[] {
  return collect(source, (node) => {
    if (!ts.isFunctionLike(node)) return undefined;
    const count = node.parameters.reduce((sum, each) => sum + positionsOf(each), 0);
    if (count <= PARAMETERS_MAX) return undefined;
    return ["parameters", `${count} parameters, at most ${PARAMETERS_MAX}: pass an object`];
  });
}

function positionsOf({ name, dotDotDotToken }: ts.ParameterDeclaration): number {
  if (name.getText() === "this") return 0;
  const isList = dotDotDotToken !== undefined && ts.isArrayBindingPattern(name);
  return isList ? name.elements.length : 1;
}

export function pathNames(source: Source): Fault[] {
  const parts = source.path.split("/");
  const stems = parts.map((part) => part.replace(/(_test)?\.tsx?$/, ""));
  const faults: Fault[] = [];
  for (const stem of stems) {
    const words = stem.split("_");
    if (REFUSED_NAMES.has(stem) || /^(utils?|helpers?)$/.test(words.at(-1)!)) {
      faults.push(fault(source, 1, "refused_name", `"${stem}" does not say what is inside`));
    }
    if (!/^[a-z0-9_]+$/.test(stem)) {
      faults.push(fault(source, 1, "snake_case", `"${stem}" is not snake_case`));
    }
  }
  return faults;
}

/** Clock, randomness, network and environment reach the product only through `host.ts`. */
export function refusedCalls(source: Source): Fault[] {
  if (!isProduct(source) || WORLD_FILES.has(source.path)) return [];
  return collect(source, (node) => {
    const name = refusedUse(node);
    return name === undefined
      ? undefined
      : ["refused_call", `${name} belongs to src/host.ts or src/config.ts`];
  });
}

/** `JSON.parse` confuses keys that are written with escapes. */
export function refusedParsing(source: Source): Fault[] {
  if (!isProduct(source) || within(source.path, PARSING_FOLDER)) return [];
  return collect(source, (node) => {
    if (!ts.isPropertyAccessExpression(node) || node.getText() !== "JSON.parse") return undefined;
    return ["json_parse", `JSON.parse confuses keys: parseJson of ${PARSING_FOLDER} does not`];
  });
}

function refusedUse(node: ts.Node): string | undefined {
  if (ts.isPropertyAccessExpression(node)) {
    const name = node.getText().replace(/^globalThis\.(?!fetch)/, "");
    return REFUSED_PROPERTIES.has(name) ? name : undefined;
  }
  if (ts.isImportSpecifier(node)) {
    const name = (node.propertyName ?? node.name).text;
    return /^(randomUUID|randomBytes|randomInt|randomFillSync)$/.test(name) ? name : undefined;
  }
  if (ts.isCallExpression(node) && ts.isIdentifier(node.expression)) {
    return REFUSED_CALLS.has(node.expression.text) ? `${node.expression.text}()` : undefined;
  }
  const isDate = ts.isNewExpression(node) && node.expression.getText() === "Date";
  return isDate && (node.arguments ?? []).length === 0 ? "new Date()" : undefined;
}

/** Each file must open with a doc comment that says what it owns. */
export function headerComment(source: Source): Fault[] {
  const body = source.text.replace(/^#!.*\n/, "").trimStart();
  if (/^\/\*\*[\s\S]*?\w[\s\S]*?\*\//.test(body)) return [];
  return [fault(source, 1, "header", "the file does not open with a doc comment")];
}

/** A line may be longer if it holds a long string, template, pattern or address. */
export function lineLength(source: Source): Fault[] {
  const lines = source.text.split("\n");
  const long = lines.flatMap((line, index) => line.length > LINE_COLUMNS_MAX ? [index] : []);
  if (long.length === 0) return [];
  const excused = linesWithLongText(source);
  return long
    .filter((index) => !excused.has(index) && !/https?:\/\/\S{40}/.test(lines[index]!))
    .map((index) => {
      const message = `${lines[index]!.length} columns, at most ${LINE_COLUMNS_MAX}`;
      return fault(source, index + 1, "line_length", message);
    });
}

function linesWithLongText(source: Source): Set<number> {
  const held = new Set<number>();
  walk(source, (node) => {
    const isText = ts.isStringLiteralLike(node) || ts.isTemplateExpression(node) ||
      ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node) ||
      ts.isRegularExpressionLiteral(node);
    if (!isText) return;
    const start = source.tree.getLineAndCharacterOfPosition(node.getStart(source.tree));
    const end = source.tree.getLineAndCharacterOfPosition(node.getEnd());
    for (let line = start.line; line <= end.line; line++) {
      const from = line === start.line ? start.character : 0;
      const to = line === end.line ? end.character : Infinity;
      if (to - from >= LONG_TEXT_COLUMNS) held.add(line);
    }
  });
  return held;
}

export function unfinishedWork(source: Source): Fault[] {
  const pattern = new RegExp(`\\b(${UNFINISHED_WORDS.join("|")})\\b`);
  return source.text.split("\n").flatMap((line, index) => {
    const word = pattern.exec(line)?.[1];
    return word === undefined ? [] : [fault(source, index + 1, "unfinished", `${word} is left`)];
  });
}

/** A test that is run alone hides all others. */
export function testAlone(source: Source): Fault[] {
  return collect(source, (node) => {
    const isOnlyCall = ts.isCallExpression(node) &&
      ts.isPropertyAccessExpression(node.expression) && node.expression.name.text === "only";
    const isOnlyOption = ts.isPropertyAssignment(node) && node.name.getText() === "only" &&
      node.initializer.kind === ts.SyntaxKind.TrueKeyword;
    return isOnlyCall || isOnlyOption ? ["test_alone", "a test is run alone"] : undefined;
  });
}

/** Whether the file is an entry point of the package, which names what users may import. */
export function isEntryPoint(source: Source): boolean {
  return /^sdk\/src\/[a-z]+\/mod\.ts$/.test(source.path);
}

/** Refuses default exports, and files that only re-export, except the package's entry points. */
export function exportForms(source: Source): Fault[] {
  const faults = collect(source, (node) => {
    const isDefault = ts.isExportAssignment(node) ||
      (ts.canHaveModifiers(node) &&
        (ts.getModifiers(node) ?? []).some((m) => m.kind === ts.SyntaxKind.DefaultKeyword));
    return isDefault ? ["default_export", "export by name"] : undefined;
  });
  const statements = source.tree.statements;
  const passesOn = (statement: ts.Statement) =>
    ts.isExportDeclaration(statement) && statement.moduleSpecifier !== undefined;
  if (
    statements.length > 0 && statements.every(passesOn) && !isEntryPoint(source)
  ) {
    faults.push(fault(source, 1, "barrel", "the file only passes names on"));
  }
  return faults;
}

export function declarationForms(source: Source): Fault[] {
  const faults: Fault[] = [];
  for (const statement of source.tree.statements) {
    if (!ts.isVariableStatement(statement)) continue;
    for (const { initializer } of statement.declarationList.declarations) {
      if (initializer === undefined || !ts.isArrowFunction(initializer)) continue;
      const line = lineOf(source, statement.getStart(source.tree));
      faults.push(fault(source, line, "top_level_arrow", "declare it with `function`"));
    }
  }
  return [...faults, ...collect(source, (node) => classFault(source, node))];
}

function classFault(source: Source, node: ts.Node): [string, string] | undefined {
  if (node.kind === ts.SyntaxKind.PrivateKeyword || node.kind === ts.SyntaxKind.ProtectedKeyword) {
    return ["private", "a private member is written with #"];
  }
  if (!ts.isClassLike(node) || CLASS_FOLDERS.some((folder) => within(source.path, folder))) {
    return undefined;
  }
  const parent = node.heritageClauses?.find((c) => c.token === ts.SyntaxKind.ExtendsKeyword);
  if (/(Error|Exception|BudgetSpent)$/.test(parent?.types[0]?.expression.getText() ?? "")) {
    return undefined;
  }
  return ["class", "classes are for errors, engines and collections"];
}

/** Whether the file has nothing that exists at run time. */
export function declaresOnlyTypes(source: Source): boolean {
  return source.tree.statements.every((statement) =>
    ts.isImportDeclaration(statement) || ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement)
  );
}

export function isProduct(source: Source): boolean {
  return source.path === "main.ts" || within(source.path, "src");
}

export function within(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`);
}

export function fault(source: Source, line: number, rule: string, message: string): Fault {
  return { path: source.path, line, rule, message };
}

function collect(
  source: Source,
  judge: (node: ts.Node) => readonly string[] | undefined,
): Fault[] {
  const faults: Fault[] = [];
  walk(source, (node) => {
    const found = judge(node);
    if (found === undefined) return;
    const line = lineOf(source, node.getStart(source.tree));
    faults.push(fault(source, line, found[0]!, found[1]!));
  });
  return faults;
}
