/**
 * Puts the peers into a folder outside the repository: Debian's packages unpacked there, unless the
 * machine has them, and what npm has to compile. Nothing is installed into the system.
 */

import { VERSIONS } from "./packages.ts";

export interface Installed {
  /** The folder. */
  readonly cache: string;
  /** A program by its name, with its whole path; undefined where it cannot be had. */
  program(name: string): string | undefined;
  /** Where npm has put message-db and Emmett on SQLite; undefined where it could not. */
  readonly npm: { readonly messageDb?: string; readonly emmettSqlite?: string };
  /** What could not be had, and why, one line each. */
  readonly problems: readonly string[];
}

/** Where Debian keeps the programs of a package, below its root. */
const PROGRAM_FOLDERS = ["usr/lib/postgresql/15/bin", "usr/bin", "usr/sbin"];
const DEBIAN: Readonly<Record<string, string>> = {
  "postgres": "postgresql-15",
  "redis-server": "redis-server",
};
/** What those need that a machine may lack. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  "postgresql-15": ["postgresql-client-15", "libpq5"],
  "redis-server": ["redis-tools", "liblzf1", "libjemalloc2", "libatomic1"],
};

/** `isWanted`: by the name of a peer; what nobody wants is not installed. */
export async function installPeers(
  cache: string,
  isWanted: (peer: string) => boolean,
): Promise<Installed> {
  await Deno.mkdir(`${cache}/debian`, { recursive: true });
  const problems: string[] = [];
  for (const [program, debian] of Object.entries(DEBIAN)) {
    if (findProgram(cache, program) !== undefined) continue;
    const failure = await unpackDebian(`${cache}/debian`, [debian, ...BESIDE[debian] ?? []]);
    if (failure !== undefined) problems.push(`${debian}: ${failure}`);
  }
  const messageDb = isWanted("message-db")
    ? await installNpm(cache, "@eventide/message-db", problems)
    : undefined;
  const emmettSqlite = isWanted("emmett sqlite")
    ? await installNpm(cache, "@event-driven-io/emmett-sqlite", problems)
    : undefined;
  return {
    cache,
    program: (name) => findProgram(cache, name),
    npm: { messageDb, emmettSqlite },
    problems,
  };
}

/** The environment of a program that was unpacked: it finds its libraries beside it. */
export function libraryPath({ cache }: Installed): Record<string, string> {
  const machine = Deno.build.arch;
  return { LD_LIBRARY_PATH: `${cache}/debian/usr/lib/${machine}-linux-gnu` };
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

/** What went wrong, or undefined. */
async function unpackDebian(folder: string, packages: readonly string[]) {
  const failure = await run(["apt-get", "download", ...packages], folder);
  if (failure !== undefined) return failure;
  for (const { name } of Deno.readDirSync(folder)) {
    if (!name.endsWith(".deb")) continue;
    const unpacked = await run(["dpkg-deb", "-x", name, "."], folder);
    if (unpacked !== undefined) return unpacked;
    await Deno.remove(`${folder}/${name}`);
  }
  return undefined;
}

/** The folder of its own into which npm has installed the package; undefined where it could not. */
async function installNpm(
  cache: string,
  name: "@eventide/message-db" | "@event-driven-io/emmett-sqlite",
  problems: string[],
): Promise<string | undefined> {
  const folder = `${cache}/npm/${name.split("/")[1]}`;
  const isThere = `${folder}/node_modules/${name}/package.json`;
  if (isFile(isThere)) return folder;
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(`${folder}/package.json`, '{"private":true}');
  const install = ["npm", "install", "--no-audit", "--no-fund", `${name}@${VERSIONS[name]}`];
  const failure = await run(install, folder);
  if (failure === undefined && isFile(isThere)) return folder;
  problems.push(`${name}: ${failure}`);
  return undefined;
}

/** The end of what the command said when it failed; undefined when it did not. */
export async function run(
  command: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string | undefined> {
  try {
    const [program, ...args] = command;
    const output = await new Deno.Command(program!, { args, cwd, env }).output();
    if (output.success) return undefined;
    const text = new TextDecoder().decode(output.stderr) + new TextDecoder().decode(output.stdout);
    return text.trim().split("\n").slice(-3).join(" / ");
  } catch (error) {
    return String(error);
  }
}
