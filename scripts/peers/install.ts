/**
 * Puts the peers into a folder outside the repository. Debian's packages are unpacked there,
 * unless the machine has them, and npm compiles there what must be compiled. Nothing is
 * installed into the system.
 */

import { type PackageName, VERSIONS } from "./packages.ts";

export interface Installed {
  /** The folder into which the peers are put. */
  readonly cache: string;
  /** The full path of a program; undefined if it is not available. */
  program(name: string): string | undefined;
  /** The folders in which npm has put message-db and Emmett on SQLite; undefined if it failed. */
  readonly npm: { readonly messageDb?: string; readonly emmettSqlite?: string };
  /** Programs and packages that are not available, and why, one line each. */
  readonly problems: readonly string[];
}

/** Compiling Emmett's driver takes minutes. */
const RUN_MS_MAX = 15 * 60_000;
/** Where Debian keeps the programs of a package, below its root. */
const PROGRAM_FOLDERS = ["usr/lib/postgresql/15/bin", "usr/bin", "usr/sbin"];
const DEBIAN: Readonly<Record<string, string>> = {
  "postgres": "postgresql-15",
  "redis-server": "redis-server",
  "nats-server": "nats-server",
};
/** Packages that these need and that a machine may lack. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  "postgresql-15": ["postgresql-client-15", "libpq5"],
  "redis-server": ["redis-tools", "liblzf1", "libjemalloc2", "libatomic1"],
};

/** What a peer needs. */
export interface Needs {
  readonly programs: readonly string[];
  /** Packages that the front loads through the runtime's own cache. */
  readonly packages: readonly PackageName[];
  /** A package that npm puts into a separate folder. */
  readonly npm?: "messageDb" | "emmettSqlite";
}

const NPM = {
  messageDb: "@eventide/message-db",
  emmettSqlite: "@event-driven-io/emmett-sqlite",
} as const;

/** Leaves existing installations alone. A peer that is not available is a problem, not an error. */
export async function installPeers(cache: string, wanted: readonly Needs[]): Promise<Installed> {
  await Deno.mkdir(`${cache}/debian`, { recursive: true });
  const problems: string[] = [];
  for (const program of new Set(wanted.flatMap(({ programs }) => programs))) {
    if (findProgram(cache, program) !== undefined) continue;
    const debian = DEBIAN[program]!;
    tell(debian);
    const failure = await unpackDebian(`${cache}/debian`, [debian, ...BESIDE[debian] ?? []]);
    if (failure !== undefined) problems.push(`${debian}: ${failure}`);
  }
  for (const name of new Set(wanted.flatMap(({ packages }) => packages))) {
    const load = [Deno.execPath(), "cache", "--no-lock", `npm:${name}@${VERSIONS[name]}`];
    const failure = await run(load, cache);
    if (failure !== undefined) problems.push(`${name}: ${failure}`);
  }
  const npm: { messageDb?: string; emmettSqlite?: string } = {};
  for (const { npm: key } of wanted) {
    if (key !== undefined) npm[key] = await installNpm(cache, NPM[key], problems);
  }
  return { cache, program: (name) => findProgram(cache, name), npm, problems };
}

/** The version that each program reports. */
export async function versionsOf(installed: Installed): Promise<Record<string, string>> {
  const versions: Record<string, string> = {};
  for (const name of Object.keys(DEBIAN)) {
    const path = installed.program(name);
    if (path === undefined) continue;
    const env = libraryPath(installed);
    const { stdout } = await new Deno.Command(path, { args: ["--version"], env }).output();
    versions[name] = new TextDecoder().decode(stdout).trim();
  }
  return versions;
}

/** The environment for an unpacked program, so that it finds the libraries unpacked with it. */
export function libraryPath({ cache }: Installed): Record<string, string> {
  const machine = Deno.build.arch;
  return { LD_LIBRARY_PATH: `${cache}/debian/usr/lib/${machine}-linux-gnu` };
}

/** Explains the wait. */
function tell(name: string): void {
  console.error(`installing ${name}; what is to be compiled takes minutes`);
}

function findProgram(cache: string, name: string): string | undefined {
  return ["/", `${cache}/debian/`]
    .flatMap((root) => PROGRAM_FOLDERS.map((folder) => `${root}${folder}/${name}`))
    .find(isFile);
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

/** Returns what went wrong, or undefined. */
async function unpackDebian(folder: string, packages: readonly string[]) {
  const download = () => run(["apt-get", "download", ...packages], folder);
  let failure = await download();
  if (failure !== undefined) {
    // A new machine has no package lists yet.
    await run(["apt-get", "update"], folder);
    failure = await download();
  }
  if (failure !== undefined) return failure;
  for (const { name } of Deno.readDirSync(folder)) {
    if (!name.endsWith(".deb")) continue;
    const unpacked = await run(["dpkg-deb", "-x", name, "."], folder);
    if (unpacked !== undefined) return unpacked;
    await Deno.remove(`${folder}/${name}`);
  }
  return undefined;
}

/** Returns the separate folder in which npm has installed the package; undefined if it failed. */
async function installNpm(
  cache: string,
  name: (typeof NPM)[keyof typeof NPM],
  problems: string[],
): Promise<string | undefined> {
  const folder = `${cache}/npm/${name.split("/")[1]}`;
  const isThere = `${folder}/node_modules/${name}/package.json`;
  if (isFile(isThere)) return folder;
  tell(name);
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(`${folder}/package.json`, '{"private":true}');
  const install = ["npm", "install", "--no-audit", "--no-fund", `${name}@${VERSIONS[name]}`];
  const failure = await run(install, folder);
  if (failure === undefined && isFile(isThere)) return folder;
  problems.push(`${name}: ${failure}`);
  return undefined;
}

/** Returns the end of the command's output if it failed, else undefined. */
export async function run(
  command: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string | undefined> {
  try {
    const [program, ...args] = command;
    const signal = AbortSignal.timeout(RUN_MS_MAX);
    const output = await new Deno.Command(program!, { args, cwd, env, signal }).output();
    if (output.success) return undefined;
    const text = new TextDecoder().decode(output.stderr) + new TextDecoder().decode(output.stdout);
    return text.trim().split("\n").slice(-3).join(" / ");
  } catch (error) {
    return String(error);
  }
}
