/**
 * Writes built files for the server: each compressed, and all described in `manifest.json`. The
 * same files give the same bytes.
 */

import { brotliCompressSync, constants } from "node:zlib";
import { BUILT_MANIFEST, type BuiltManifest } from "../../src/built_files.ts";

const ROOT = new URL("../../", import.meta.url);

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
  md: "text/markdown; charset=utf-8",
  png: "image/png",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
};

export type SiteFiles = readonly (readonly [name: string, bytes: Uint8Array])[];

export interface SiteForm {
  /** What the files were made of: files and folders. */
  readonly sources: readonly string[];
  /** From 0 to 11. */
  readonly brotliQuality: number;
  /** Whether each file is also there as it is. */
  readonly keepsPlain: boolean;
}

/** Writes into `folder`, which has either the old files or all new ones at any moment. */
export async function writeSite(folder: string, found: SiteFiles, form: SiteForm): Promise<void> {
  const target = new URL(`${folder}/`, ROOT);
  const made = new URL(`${folder}.new/`, ROOT);
  await Deno.remove(made, { recursive: true }).catch(() => undefined);
  await Deno.mkdir(made, { recursive: true });
  const files: Record<string, { type: string; hash: string }> = {};
  for (const [name, bytes] of found) {
    files[name] = { type: typeOf(name), hash: await hashOf(bytes) };
    if (form.keepsPlain) await writeBelow(made, name, bytes);
    await writeBelow(made, `${name}.br`, compressed(bytes, form.brotliQuality));
  }
  const manifest: BuiltManifest = { sources: await hashOfSources(form.sources), files };
  await Deno.writeTextFile(new URL(BUILT_MANIFEST, made), JSON.stringify(manifest, null, 2));
  await Deno.remove(target, { recursive: true }).catch(() => undefined);
  await Deno.rename(made, target);
}

/** Writes a file into a folder, with the folders of its name. */
export async function writeBelow(folder: URL, name: string, bytes: Uint8Array): Promise<void> {
  const file = new URL(name, folder);
  await Deno.mkdir(new URL(".", file), { recursive: true });
  await Deno.writeFile(file, bytes);
}

/** Whether `folder` was built from the sources as they are. */
export async function isSiteCurrent(folder: string, sources: readonly string[]): Promise<boolean> {
  try {
    const text = await Deno.readTextFile(new URL(`${folder}/${BUILT_MANIFEST}`, ROOT));
    return (JSON.parse(text) as BuiltManifest).sources === await hashOfSources(sources);
  } catch {
    return false;
  }
}

async function hashOfSources(sources: readonly string[]): Promise<string> {
  const parts: string[] = [];
  for (const source of sources) {
    for (const path of await pathsBelow(source)) {
      parts.push(path, await hashOf(await Deno.readFile(new URL(path, ROOT))));
    }
  }
  return await hashOf(new TextEncoder().encode(parts.join("\n")));
}

/** The files at and below a path of the repository, sorted. */
export async function pathsBelow(path: string): Promise<string[]> {
  if ((await Deno.stat(new URL(path, ROOT))).isFile) return [path];
  const found: string[] = [];
  for await (const { name } of Deno.readDir(new URL(path, ROOT))) {
    found.push(...await pathsBelow(`${path}/${name}`));
  }
  return found.sort();
}

/**
 * The code of an entry. With `--code-splitting`, what several parts share is in files of its own,
 * loaded when a part needs them.
 */
export async function bundle(
  entry: string,
  flags: readonly string[] = [],
): Promise<(readonly [name: string, bytes: Uint8Array])[]> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_bundle_" });
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

function typeOf(name: string): string {
  const type = TYPES[name.slice(name.lastIndexOf(".") + 1)];
  if (type === undefined) throw new Error(`the server would not know the type of ${name}`);
  return type;
}

async function hashOf(bytes: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
  return new Uint8Array(digest).toHex();
}

export function compressed(
  bytes: Uint8Array,
  quality: number = constants.BROTLI_MAX_QUALITY,
): Uint8Array {
  return brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } });
}
