/** What a browser loads of a built console, in bytes with brotli. */

import { BUILT_MANIFEST, type BuiltManifest } from "../../src/built_files.ts";

const ROOT = new URL("../../", import.meta.url);

/** The most that each may be. */
export const BUDGETS = {
  /** Everything that the first view needs. */
  "first view": 150_000,
  "all of it": 450_000,
} as const;

/** The page, its styles and its code, without what is loaded later. */
const FIRST = ["index.html", "console.css", "main.js"] as const;
/** Imports that are loaded together with their file; `import("...")` is not among them. */
const STATIC_IMPORT = /(?:from|import)\s*"\.\/([\w.-]+)"/g;

export async function measureConsole(
  folder: string,
): Promise<Record<keyof typeof BUDGETS, number>> {
  const at = new URL(`${folder}/`, ROOT);
  const { files } = JSON.parse(
    await Deno.readTextFile(new URL(BUILT_MANIFEST, at)),
  ) as BuiltManifest;
  const sizeOf = async (name: string) => (await Deno.stat(new URL(`${name}.br`, at))).size;
  const first = new Set<string>(FIRST);
  for (const name of first) {
    if (!name.endsWith(".js")) continue;
    const text = await Deno.readTextFile(new URL(name, at));
    for (const [, imported] of text.matchAll(STATIC_IMPORT)) first.add(imported!);
  }
  const sum = async (names: Iterable<string>) => {
    let bytes = 0;
    for (const name of names) bytes += await sizeOf(name);
    return bytes;
  };
  return { "first view": await sum(first), "all of it": await sum(Object.keys(files)) };
}
