/** Compiles TypeScript that is in memory, with the compiler of the `typescript` package. */

import ts from "typescript";

export interface CompiledTypes {
  /** `file:line: message`, of syntax and types. */
  readonly faults: readonly string[];
  readonly program: ts.Program;
}

const OPTIONS: ts.CompilerOptions = {
  noEmit: true,
  strict: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: true,
  allowImportingTsExtensions: true,
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  types: [],
};

/** Files that were read before, above all the compiler's own libraries. */
const onDisk = new Map<string, ts.SourceFile>();

/**
 * Compiles all files as one program. `files`: text by absolute path. Other files that they import
 * are read from disk.
 */
export function compileTypes(files: Readonly<Record<string, string>>): CompiledTypes {
  const host = ts.createCompilerHost(OPTIONS);
  const { getSourceFile, fileExists, readFile } = host;
  host.getSourceFile = (path, target, ...rest) => {
    const text = files[path];
    if (text !== undefined) return ts.createSourceFile(path, text, target);
    const known = onDisk.get(path) ?? getSourceFile.call(host, path, target, ...rest);
    if (known !== undefined) onDisk.set(path, known);
    return known;
  };
  host.fileExists = (path) => Object.hasOwn(files, path) || fileExists.call(host, path);
  host.readFile = (path) => files[path] ?? readFile.call(host, path);
  // Files are found by their names alone.
  host.directoryExists = () => true;
  const program = ts.createProgram(Object.keys(files), OPTIONS, host);
  const faults = ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
    const text = ts.flattenDiagnosticMessageText(messageText, "\n");
    if (file === undefined) return text;
    const { line } = file.getLineAndCharacterOfPosition(start);
    return `${file.fileName}:${line + 1}: ${text}`;
  });
  return { faults, program };
}
