/** JavaScript of the entry points, by `deno bundle`: what they share is in files of its own. */

const ROOT = new URL("../../", import.meta.url);

export interface Bundled {
  /** Path and text of each file. */
  readonly files: readonly (readonly [path: string, text: string])[];
  /** The packages that are inside, as `name/version`. */
  readonly packages: readonly string[];
}

/** Where the runtime keeps packages; the part before differs from machine to machine. */
const IN_CACHE = /[^"\s]*\/npm\/registry\.npmjs\.org\/((?:@[^/"\s]+\/)?[^/"\s]+\/[^/"\s]+)\//g;

/** `entries`: paths below `sdk/src`. `external`: packages that stay imports. */
export async function bundleEntries(
  entries: readonly string[],
  external: readonly string[],
): Promise<Bundled> {
  const folder = await Deno.makeTempDir({ prefix: "daybook_bundle_" });
  try {
    await runBundle([
      "--code-splitting",
      `--outdir=${folder}`,
      ...external.map((name) => `--external=${name}/*`),
      ...external.map((name) => `--external=${name}`),
      ...entries.map((entry) => `sdk/src/${entry}`),
    ]);
    const packages = new Set<string>();
    const files: [string, string][] = [];
    for (const path of await filesBelow(folder)) {
      const text = await Deno.readTextFile(`${folder}/${path}`);
      for (const [, name] of text.matchAll(IN_CACHE)) packages.add(name!);
      files.push([path, text.replaceAll(IN_CACHE, "npm/$1/")]);
    }
    return { files: files.sort(), packages: [...packages].sort() };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** One entry point with all that it imports, minified: what a browser would load. */
export async function minifiedEntry(entry: string): Promise<Uint8Array> {
  const file = await Deno.makeTempFile({ prefix: "daybook_entry_", suffix: ".js" });
  try {
    await runBundle(["--minify", `--output=${file}`, `sdk/src/${entry}`]);
    return await Deno.readFile(file);
  } finally {
    await Deno.remove(file);
  }
}

async function runBundle(args: readonly string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["bundle", "--quiet", "--platform=deno", "--format=esm", ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1" },
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
}

async function filesBelow(folder: string, below = ""): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir(`${folder}/${below}`)) {
    const path = `${below}${entry.name}`;
    if (entry.isDirectory) found.push(...await filesBelow(folder, `${path}/`));
    else found.push(path);
  }
  return found;
}
