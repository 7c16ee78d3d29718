/**
 * `deno task pack:program [FOLDER]`: writes the npm package of the program into a folder,
 * `dist/daybook` if none is named. The package brings the runtime as the npm package `deno`, and
 * the sources as they are here: Deno runs them as it does in this repository, with the packages
 * that the lock file names.
 */

const ROOT = new URL("../", import.meta.url);
/** Sources of the program, and what `deno.json` and the start of a server need. */
const PARTS = ["main.ts", "deno.json", "deno.lock", "src", "sdk", "scripts/start_permissions.ts"];
/** Beside the package's own package.json, which would change what the lock file has to say. */
const APP = "app";

export async function writeProgramPackage(folder: string): Promise<void> {
  await Deno.remove(folder, { recursive: true }).catch(() => undefined);
  for (const part of PARTS) await copy(part, `${folder}/${APP}/${part}`);
  await copy("scripts/pack/program_bin.js", `${folder}/bin/daybook.js`);
  await copy("LICENSE", `${folder}/LICENSE`);
  await Deno.writeTextFile(`${folder}/README.md`, README);
  await Deno.writeTextFile(`${folder}/package.json`, await packageJson());
}

async function copy(from: string, to: string): Promise<void> {
  const source = new URL(from, ROOT);
  if (!(await Deno.stat(source)).isDirectory) {
    await Deno.mkdir(to.slice(0, to.lastIndexOf("/")), { recursive: true });
    return await Deno.copyFile(source, to);
  }
  for await (const { name } of Deno.readDir(source)) {
    if (name !== "node_modules") await copy(`${from}/${name}`, `${to}/${name}`);
  }
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
