/**
 * Declarations of the entry points, made from each source by itself. What a declaration imports
 * must be in the package, so a public type that needs the server's sources is a fault.
 */

import ts from "typescript";

/** A file beside the one that imports it. */
const BESIDE = /^\..*\.ts$/;

/** `entries`: paths below `sources`. Returns each declaration with its path. */
export async function declarationsOf(
  sources: URL,
  entries: readonly string[],
): Promise<[path: string, text: string][]> {
  const made = new Map<string, string>();
  const due = [...entries];
  for (let path = due.pop(); path !== undefined; path = due.pop()) {
    if (made.has(path)) continue;
    const url = new URL(path, sources);
    const { outputText, diagnostics } = ts.transpileDeclaration(await Deno.readTextFile(url), {
      fileName: path,
      reportDiagnostics: true,
      compilerOptions: {
        declaration: true,
        isolatedDeclarations: true,
        strict: true,
        target: ts.ScriptTarget.ESNext,
        module: ts.ModuleKind.ESNext,
      },
    });
    for (const { messageText } of diagnostics ?? []) {
      const message = ts.flattenDiagnosticMessageText(messageText, "\n");
      throw new Error(`sdk/src/${path}: ${message}`);
    }
    let text = outputText;
    // From the end on, so that places before stay true. Examples in comments import nothing.
    for (const { fileName, pos } of ts.preProcessFile(outputText).importedFiles.toReversed()) {
      if (!BESIDE.test(fileName)) continue;
      const { href } = new URL(fileName, url);
      if (!href.startsWith(sources.href)) {
        throw new Error(`sdk/src/${path}: its public types need ${fileName}`);
      }
      due.push(href.slice(sources.href.length));
      const end = pos + 1 + fileName.length;
      text = `${text.slice(0, end - ".ts".length)}.js${text.slice(end)}`;
    }
    made.set(path, text);
  }
  return [...made].map(([path, text]) => [path.replace(/\.ts$/, ".d.ts"), text]);
}
