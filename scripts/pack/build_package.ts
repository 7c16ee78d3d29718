/**
 * The npm package of the client, as files by their path: JavaScript and declarations of each entry
 * point of `sdk/deno.json`, and what npm reads. The same sources give the same bytes, wherever the
 * repository lies.
 */

import { bundleEntries } from "./bundle_entries.ts";
import { declarationsOf } from "./declarations.ts";
import { licencesOf } from "./licences.ts";

const ROOT = new URL("../../", import.meta.url);

/** The packages that are not bundled, because users may share them: those of `/verify`. */
export const EXTERNAL: readonly string[] = ["@noble/ed25519", "@noble/hashes"];

/** A file's path in the package, and its text. */
export type PackageFiles = ReadonlyMap<string, string>;

interface SdkManifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  /** The subpath, and the source of its entry point. */
  readonly exports: Readonly<Record<string, string>>;
}

export async function readManifest(): Promise<SdkManifest> {
  return JSON.parse(await Deno.readTextFile(new URL("sdk/deno.json", ROOT)));
}

export async function buildPackage(): Promise<PackageFiles> {
  const manifest = await readManifest();
  const entries = Object.values(manifest.exports).map((path) => path.replace("./src/", ""));
  const bundled = await bundleEntries(entries, EXTERNAL);
  const declarations = await declarationsOf(new URL("sdk/src/", ROOT), entries);
  const licences = await licencesOf(bundled.packages);
  const files = [
    ...bundled.files,
    ...declarations,
    ["package.json", await packageJson(manifest)],
    ["README.md", await Deno.readTextFile(new URL("sdk/README.md", ROOT))],
    ["LICENSE", await Deno.readTextFile(new URL("LICENSE", ROOT))],
    ...(bundled.packages.length > 0 ? [["THIRD_PARTY_LICENSES.txt", licences]] : []),
  ] as [string, string][];
  return new Map(files.sort(([a], [b]) => a < b ? -1 : 1));
}

async function packageJson(manifest: SdkManifest): Promise<string> {
  const { imports } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  const exports = Object.entries(manifest.exports).map(([subpath, source]) => {
    const path = source.replace("/src/", "/").replace(/\.ts$/, "");
    return [subpath, { types: `${path}.d.ts`, default: `${path}.js` }];
  });
  const dependencies = EXTERNAL.map((name) => [name, `^${versionIn(imports[name])}`]);
  const fields = {
    name: manifest.name,
    version: manifest.version,
    description: "The client of Daybook, an event-sourced backend",
    keywords: ["daybook", "event sourcing", "events", "client"],
    license: manifest.license,
    type: "module",
    sideEffects: false,
    engines: { node: ">=20" },
    exports: { ...Object.fromEntries(exports), "./package.json": "./package.json" },
    dependencies: Object.fromEntries(dependencies),
  };
  return `${JSON.stringify(fields, undefined, 2)}\n`;
}

function versionIn(specifier: string): string {
  return specifier.slice(specifier.lastIndexOf("@") + 1);
}
