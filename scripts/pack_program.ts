/**
 * `deno task pack:program [FOLDER]`: writes the npm package of the program into a folder,
 * `dist/daybook` if none is named. The package brings the runtime as the npm package `deno`, and
 * the sources as they are here: Deno runs them as it does in this repository, with the packages
 * that the lock file names.
 */

import { cp } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { buildConsole, isConsoleCurrent } from "./console/build_files.ts";
import { areDocsCurrent, buildDocs } from "./docs/build_site.ts";

const ROOT = new URL("../", import.meta.url);
const CONSOLE = "dist/console";
const DOCS = "dist/docs";
/** Sources of the program, and what `deno.json` and the start of a server need. */
const PARTS = [
  "main.ts",
  "deno.json",
  "deno.lock",
  "src",
  "sdk",
  // A member of the workspace must be there; its sources need not, for it is built.
  "console/deno.json",
  CONSOLE,
  DOCS,
  "scripts/start_permissions.ts",
];
/** Beside the package's own package.json, which would change what the lock file has to say. */
const APP = "app";
const LEFT_OUT: ReadonlySet<string> = new Set(["node_modules"]);

export async function writeProgramPackage(folder: string): Promise<void> {
  const copyPart = (part: string, to: string) =>
    copyTree(new URL(part, ROOT), `${folder}/${to}`, LEFT_OUT);
  await Deno.remove(folder, { recursive: true }).catch(() => undefined);
  if (!await isConsoleCurrent(CONSOLE)) await buildConsole(CONSOLE);
  if (!await areDocsCurrent(DOCS)) await buildDocs(DOCS);
  for (const part of PARTS) await copyPart(part, `${APP}/${part}`);
  await copyPart("scripts/pack/program_bin.js", "bin/daybook.js");
  await copyPart("LICENSE", "LICENSE");
  await Deno.writeTextFile(`${folder}/README.md`, README);
  await Deno.writeTextFile(`${folder}/package.json`, await packageJson());
}

/** Copies a file, or a folder with all that is in it except what has one of the names. */
export async function copyTree(
  from: URL,
  to: string,
  leftOut: ReadonlySet<string>,
): Promise<void> {
  const filter = (source: string) => !leftOut.has(basename(source));
  await cp(fileURLToPath(from), to, { recursive: true, filter });
}

async function packageJson(): Promise<string> {
  const { version, license } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  const fields = {
    name: "daybook",
    version,
    description: "An event-sourced backend: its server and its command line",
    keywords: ["event sourcing", "events", "backend", "cli"],
    license,
    type: "module",
    bin: { daybook: "bin/daybook.js" },
    files: ["bin", APP, "LICENSE", "README.md"],
    engines: { node: ">=20" },
    dependencies: { deno: DENO_VERSION },
  };
  return `${JSON.stringify(fields, undefined, 2)}\n`;
}

/** The version that all tests of this repository run on. */
const DENO_VERSION = "2.9.6";

const README = `# Daybook

An event-sourced backend that you run yourself: its server and its command line.

    npx daybook dev spec.json      a server for development, which deploys the file when it changes
    npx daybook serve              a server
    npx daybook --help             everything else

Nothing but Node is needed; the runtime comes as the npm package \`deno\`. The first start fetches the
packages of the server, whose hashes are in \`app/deno.lock\`.
`;

if (import.meta.main) {
  const folder = Deno.args[0] ?? "dist/daybook";
  await writeProgramPackage(folder);
  console.log(`the package is in ${folder}: npm pack ./${folder}`);
}
