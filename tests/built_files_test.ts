/** The built console: two builds give the same bytes, and the server reads what was built. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { brotliDecompressSync } from "node:zlib";
import { buildConsole, isConsoleCurrent } from "../scripts/console/build_files.ts";
import { builtReader } from "../src/built_files.ts";

const BUILT = "dist/console_test";

async function withBuilt(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = `${BUILT}_${crypto.randomUUID()}`;
  try {
    await buildConsole(folder);
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("builtReader() reads every file of the manifest, and its compressed form", () =>
  withBuilt(async (folder) => {
    const files = (await builtReader(folder)())!;
    for (const name of ["index.html", "console.css", "main.js", "icon.svg", "verify.html"]) {
      const file = files.get(name)!;
      const bytes = await Deno.readFile(`${folder}/${name}`);
      assert.equal(createHash("sha256").update(bytes).digest("hex"), file.hash, name);
      assert.deepEqual(new Uint8Array(brotliDecompressSync(file.brotli)), bytes, name);
    }
    const index = await Deno.readTextFile(`${folder}/index.html`);
    for (const [, name] of index.matchAll(/(?:src|href)="([^"]+)"/g)) {
      assert.ok(files.has(name!), `index.html names ${name}`);
    }
  }));

Deno.test("two builds of the same sources give the same bytes", () =>
  withBuilt(async (first) => {
    await withBuilt(async (second) => {
      const names = (folder: string) =>
        [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
      assert.deepEqual(names(first), names(second));
      for (const name of names(first)) {
        const bytes = await Deno.readFile(`${first}/${name}`);
        assert.deepEqual(bytes, await Deno.readFile(`${second}/${name}`), name);
      }
    });
  }));

Deno.test("isConsoleCurrent() tells whether the sources have changed since the build", () =>
  withBuilt(async (folder) => {
    assert.equal(await isConsoleCurrent(folder), true);
    const path = `${folder}/manifest.json`;
    const manifest = JSON.parse(await Deno.readTextFile(path));
    await Deno.writeTextFile(path, JSON.stringify({ ...manifest, sources: "00" }));
    assert.equal(await isConsoleCurrent(folder), false);
    assert.equal(await isConsoleCurrent(`${folder}_absent`), false);
  }));

Deno.test("builtReader() finds a console that is built after the server has started", async () => {
  const folder = `${BUILT}_${crypto.randomUUID()}`;
  const read = builtReader(folder);
  assert.equal(await read(), undefined);
  try {
    await buildConsole(folder);
    assert.ok((await read())!.has("index.html"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
