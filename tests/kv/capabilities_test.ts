/** A new engine: what does not compile without it, and who may know engines by their names. */

import assert from "node:assert/strict";
import ts from "typescript";
import { CAPABILITIES, STORE_NAMES } from "../../src/kv/capabilities.ts";
import { readSources, walk } from "../../scripts/checks/source_tree.ts";
import { NODE_STORES } from "../support/node_stores.ts";

const NAMES = 'export const STORE_NAMES = ["sqlite", "foundationdb"] as const;';
const MORE_NAMES = 'export const STORE_NAMES = ["sqlite", "foundationdb", "third"] as const;';
const CHOICE = "src/kv/open_engine.ts";
const TABLE = "src/kv/capabilities.ts";
/** What the choices return; without the types of the engines, to be quick. */
const TYPES = ["src/kv/engine.ts", "src/kv/sqlite/pages/page_check.ts"];
/** "Property is missing", and "function lacks ending return statement". */
const FORGOTTEN: readonly number[] = [2741, 2366];

/** The places that do not compile for want of an engine, if the names are these. */
function forgotten(names: string): string[] {
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    noResolve: true,
    allowImportingTsExtensions: true,
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.ESNext,
  };
  const host = ts.createCompilerHost(options);
  const readFile = host.getSourceFile;
  host.getSourceFile = (path, ...rest) => {
    if (!path.endsWith(TABLE)) return readFile(path, ...rest);
    const text = Deno.readTextFileSync(TABLE).replace(NAMES, names);
    assert.ok(text.includes(names), "the names stand in one line");
    return ts.createSourceFile(path, text, ts.ScriptTarget.ESNext);
  };
  const program = ts.createProgram([TABLE, CHOICE, ...TYPES], options, host);
  return [TABLE, CHOICE].flatMap((path) =>
    program.getSemanticDiagnostics(program.getSourceFile(path))
      .filter(({ code }) => FORGOTTEN.includes(code))
      .map(() => path)
  );
}

Deno.test("an engine that is named does not compile before it is in each choice", () => {
  assert.deepEqual(forgotten(NAMES), []);
  assert.deepEqual(forgotten(MORE_NAMES), [TABLE, CHOICE, CHOICE, CHOICE, CHOICE]);
});

Deno.test("no file but these knows an engine by its name", async () => {
  const names: ReadonlySet<string> = new Set(STORE_NAMES);
  const knowing = new Set<string>();
  for (const source of await readSources(["main.ts", "src"])) {
    walk(source, (node) => {
      const isPackage = ts.isCallExpression(node.parent ?? node) &&
        (node.parent as ts.CallExpression).expression?.kind === ts.SyntaxKind.ImportKeyword;
      const isType = node.parent !== undefined && ts.isLiteralTypeNode(node.parent) &&
        ts.isImportTypeNode(node.parent.parent);
      if (!ts.isStringLiteralLike(node) || isPackage || isType) return;
      if (names.has(node.text)) knowing.add(source.path);
    });
  }
  assert.deepEqual([...knowing], ["src/config.ts", TABLE, CHOICE]);
});

Deno.test("each engine says of itself what the table says of it", async () => {
  for (const { name, open } of NODE_STORES) {
    const { engines, dispose } = await open();
    const [store] = STORE_NAMES.filter((each) => name.startsWith(each));
    assert.equal(engines[0].capabilities, CAPABILITIES[store!]);
    await dispose();
  }
});
