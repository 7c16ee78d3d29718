/**
 * Builds the console: bundles its code, joins its styles, compresses every file, and describes them
 * in `manifest.json`, which the server reads. The same sources give the same bytes.
 */

import { brotliCompressSync, constants } from "node:zlib";
import { CONSOLE_MANIFEST, type ConsoleManifest } from "../../src/console_files.ts";
import { VERIFIER_STYLES, verifyFile } from "./verify_file.ts";

const ROOT = new URL("../../", import.meta.url);
const STATIC = "console/static";
const STYLES = "console/styles";
/** What the build is made of; a change anywhere here needs a new one. */
const SOURCES = ["console", "sdk/src", "src/domain", "scripts/console", "deno.json", "deno.lock"];

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

/** Builds into `folder`, which has either the old files or all new ones at any moment. */
export async function buildConsole(folder: string): Promise<void> {
  const target = new URL(`${folder}/`, ROOT);
  const made = new URL(`${folder}.new/`, ROOT);
  await Deno.remove(made, { recursive: true }).catch(() => undefined);
  await Deno.mkdir(made, { recursive: true });
  const files: Record<string, { type: string; hash: string }> = {};
  for (const [name, bytes] of await filesOf()) {
    files[name] = { type: typeOf(name), hash: await hashOf(bytes) };
    await Deno.writeFile(new URL(name, made), bytes);
    await Deno.writeFile(new URL(`${name}.br`, made), compressed(bytes));
  }
  const manifest: ConsoleManifest = { sources: await hashOfSources(), files };
  await Deno.writeTextFile(new URL(CONSOLE_MANIFEST, made), JSON.stringify(manifest, null, 2));
  await Deno.remove(target, { recursive: true }).catch(() => undefined);
  await Deno.rename(made, target);
}

/** Whether `folder` was built from the sources as they are. */
export async function isConsoleCurrent(folder: string): Promise<boolean> {
  try {
    const text = await Deno.readTextFile(new URL(`${folder}/${CONSOLE_MANIFEST}`, ROOT));
    return (JSON.parse(text) as ConsoleManifest).sources === await hashOfSources();
  } catch {
    return false;
  }
}

async function filesOf(): Promise<(readonly [name: string, bytes: Uint8Array])[]> {
  const [found, verifier] = await Promise.all([
    bundle("console/src/main.tsx", ["--code-splitting"]),
    bundle("console/src/verifier/main.tsx"),
  ]);
  for (const path of await pathsBelow(STATIC)) {
    found.push([path.slice(STATIC.length + 1), await Deno.readFile(new URL(path, ROOT))]);
  }
  const encoder = new TextEncoder();
  found.push(["console.css", encoder.encode(await joined(await pathsBelow(STYLES)))]);
  const code = new TextDecoder().decode(verifier[0]![1]).trim();
  const styles = await joined(VERIFIER_STYLES.map((name) => `${STYLES}/${name}`));
  found.push(["verify.html", encoder.encode(await verifyFile(code, styles))]);
  return found.sort(([a], [b]) => a < b ? -1 : 1);
}

async function joined(paths: readonly string[]): Promise<string> {
  const texts = await Promise.all(paths.map((path) => Deno.readTextFile(new URL(path, ROOT))));
  return texts.join("\n");
}

/**
 * The code of an entry. With `--code-splitting`, what several parts share is in files of its own,
 * loaded when a part needs them.
 */
async function bundle(
  entry: string,
  flags: readonly string[] = [],
): Promise<(readonly [name: string, bytes: Uint8Array])[]> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_console_" });
  try {
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "bundle",
        "--quiet",
        "--platform=browser",
        ...flags,
        "--minify",
        `--outdir=${folder}`,
        entry,
      ],
      cwd: ROOT,
      env: { NO_COLOR: "1" },
    }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
    const made: [string, Uint8Array][] = [];
    for await (const { name } of Deno.readDir(folder)) {
      made.push([name, await Deno.readFile(`${folder}/${name}`)]);
    }
    return made;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function hashOfSources(): Promise<string> {
  const parts: string[] = [];
  for (const source of SOURCES) {
    for (const path of await pathsBelow(source)) {
      parts.push(path, await hashOf(await Deno.readFile(new URL(path, ROOT))));
    }
  }
  return await hashOf(new TextEncoder().encode(parts.join("\n")));
}

/** The files at and below a path of the repository, sorted. */
async function pathsBelow(path: string): Promise<string[]> {
  if ((await Deno.stat(new URL(path, ROOT))).isFile) return [path];
  const found: string[] = [];
  for await (const { name } of Deno.readDir(new URL(path, ROOT))) {
    found.push(...await pathsBelow(`${path}/${name}`));
  }
  return found.sort();
}

function typeOf(name: string): string {
  const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
  if (type === undefined) throw new Error(`the server would not know the type of ${name}`);
  return type;
}

async function hashOf(bytes: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
  return new Uint8Array(digest).toHex();
}

export function compressed(bytes: Uint8Array): Uint8Array {
  return brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY },
  });
}
