/** The npm package of the client: its files, its sizes, and that it can be built again. */

import assert from "node:assert/strict";
import ts from "typescript";
import { buildPackage, EXTERNAL, readManifest } from "../../scripts/pack/build_package.ts";
import { declarationsOf } from "../../scripts/pack/declarations.ts";
import { BYTES_MAX, compressedBytes } from "../../scripts/pack/sizes.ts";

const ROOT = new URL("../../", import.meta.url);
const built = await buildPackage();

/** Without comments, whose examples import things too. */
function codeOf(path: string): string {
  return built.get(path)!.replaceAll(/\/\*[\s\S]*?\*\//g, "");
}

/** What a built file imports, files of the package by their path. */
function importsOf(path: string): string[] {
  return ts.preProcessFile(built.get(path)!).importedFiles.map(({ fileName }) =>
    fileName.startsWith(".") ? new URL(fileName, `file:///${path}`).pathname.slice(1) : fileName
  );
}

/** All that an entry point loads, itself included. */
function loadedBy(path: string, seen = new Set<string>()): Set<string> {
  if (seen.has(path)) return seen;
  seen.add(path);
  if (built.has(path)) { for (const one of importsOf(path)) loadedBy(one, seen); }
  return seen;
}

Deno.test("each subpath has its JavaScript and its declarations in the package", async () => {
  const manifest = await readManifest();
  const { exports, version, name } = JSON.parse(built.get("package.json")!);
  assert.deepEqual([name, version], [manifest.name, manifest.version]);
  const { "./package.json": _, ...subpaths } = exports;
  assert.deepEqual(Object.keys(subpaths), Object.keys(manifest.exports));
  for (const { types, default: code } of Object.values<Record<string, string>>(subpaths)) {
    assert.ok(built.has(types!.slice(2)) && built.has(code!.slice(2)), code);
  }
});

Deno.test("what a declaration imports is in the package, without the names of sources", () => {
  for (const path of built.keys()) {
    if (!path.endsWith(".d.ts")) continue;
    for (const target of importsOf(path)) {
      assert.ok(built.has(target.replace(/\.js$/, ".d.ts")), `${path}: ${target}`);
    }
    assert.doesNotMatch(codeOf(path), /\.ts"/);
  }
});

Deno.test("only /verify loads packages; the others load nothing but files of this package", () => {
  for (const entry of ["core/mod.js", "webhooks/mod.js", "admin/mod.js"]) {
    for (const one of loadedBy(entry)) assert.ok(built.has(one), `${entry} loads ${one}`);
  }
  const foreign = [...loadedBy("verify/mod.js")].filter((one) => !built.has(one));
  assert.ok(foreign.length > 0);
  for (const one of foreign) assert.ok(EXTERNAL.some((name) => one.startsWith(name)), one);
  for (const one of loadedBy("test/mod.js")) assert.ok(built.has(one) || /^node:/.test(one), one);
});

Deno.test("no entry point is larger than it may be", async () => {
  for (const [entry, most] of Object.entries(BYTES_MAX)) {
    const bytes = await compressedBytes(entry);
    assert.ok(bytes <= most, `${entry}: ${bytes} bytes, at most ${most}`);
  }
});

Deno.test("a public type that needs the server's sources is a fault of the package", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook_pack_" });
  try {
    await Deno.mkdir(`${folder}/sdk`);
    const source = 'import type { A } from "../../a.ts";\nexport interface B { a: A }\n';
    await Deno.writeTextFile(`${folder}/sdk/mod.ts`, source);
    const made = declarationsOf(new URL(`file://${folder}/sdk/`), ["mod.ts"]);
    await assert.rejects(made, /public types need \.\.\/\.\.\/a\.ts/);
    await Deno.writeTextFile(
      `${folder}/sdk/mod.ts`,
      "export function f() { return [1].map(String); }",
    );
    const inferred = declarationsOf(new URL(`file://${folder}/sdk/`), ["mod.ts"]);
    await assert.rejects(inferred, /explicit return type/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the same sources give the same bytes, wherever the repository lies", async () => {
  const folder = await Deno.makeTempDir({ prefix: "daybook_pack_elsewhere_" });
  try {
    const parts = ["sdk", "src", "scripts", "deno.json", "deno.lock", "LICENSE"];
    for (const part of parts) {
      const copied = await new Deno.Command("cp", {
        args: ["-r", new URL(part, ROOT).pathname, `${folder}/${part}`],
      }).output();
      assert.ok(copied.success);
    }
    const run = await new Deno.Command(Deno.execPath(), {
      args: ["run", "--allow-all", "scripts/pack.ts", `${folder}/out`],
      cwd: folder,
    }).output();
    assert.ok(run.success, new TextDecoder().decode(run.stderr));
    for (const [path, text] of built) {
      assert.ok(await Deno.readTextFile(`${folder}/out/${path}`) === text, path);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
