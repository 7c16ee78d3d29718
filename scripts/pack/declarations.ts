/**
 * Declarations of the entry points, made from each source by itself. What a declaration imports
 * must be in the package, so a public type that needs the server's sources is a fault.
 */

import ts from "typescript";

const RELATIVE = /((?:from |import\()")(\.[^"]*)\.ts(")/g;

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
    for (const [, , target] of outputText.matchAll(RELATIVE)) {
      const { href } = new URL(`${target}.ts`, url);
      if (!href.startsWith(sources.href)) {
        throw new Error(`sdk/src/${path}: its public types need ${target}.ts`);
      }
      due.push(href.slice(sources.href.length));
    }
    made.set(path, outputText.replaceAll(RELATIVE, "$1$2.js$3"));
  }
  return [...made].map(([path, text]) => [path.replace(/\.ts$/, ".d.ts"), text]);
}
