/**
 * Computes the runtime's permissions of the server from its settings: no more than they need.
 *
 * `deno task start` and the container image ask for one option after the other.
 *
 *   deno run -A scripts/start_permissions.ts read|write|run|ffi
 */

import { join, resolve } from "node:path";
import { makeFolder } from "../src/kv/sqlite/synced_folder.ts";

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder that holds `deno.json`. */
  readonly root: string;
  /** This runtime's own program. */
  readonly deno: string;
  readonly isMac: boolean;
  /** The target of a path that is a link or contains one; undefined if nothing exists there. */
  readonly realPath: (path: string) => string | undefined;
}

/** Names of the options, in the order in which the task asks for them. */
export const ASKED = ["read", "write", "run", "ffi"] as const;
export type Asked = typeof ASKED[number];

/** Limits the memory of runner processes; see `src/runners/memory_limit.ts`. */
const LIMITER = "/usr/bin/prlimit";
/** Where FoundationDB's client looks, and the file by which its package recognizes the platform. */
const CLUSTER_FILES = ["fdb.cluster", "/etc/foundationdb/fdb.cluster"];
const PLATFORM_MARK = "/etc/alpine-release";

export function startPermission(asked: Asked, around: Surroundings): string {
  const { env, root, deno } = around;
  const archive = env.DAYBOOK_ARCHIVE_DIR;
  const folders = [dataFolder(around), ...archive ? [archive] : []];
  const isCluster = env.DAYBOOK_STORE === "foundationdb";
  switch (asked) {
    case "read": {
      const tls = [env.DAYBOOK_TLS_CERT, env.DAYBOOK_TLS_KEY].filter((path) => !!path);
      const cluster = env.FDB_CLUSTER_FILE ? [env.FDB_CLUSTER_FILE] : CLUSTER_FILES;
      const client = isCluster ? [...cluster, PLATFORM_MARK, packagesFolder(around)] : [];
      const paths = [
        join(root, "src"),
        join(root, "dist/console"),
        join(root, "dist/docs"),
        ...folders,
        ...tls as string[],
        ...client,
      ];
      return option("read", paths, around);
    }
    case "write":
      return option("write", folders, around);
    case "run":
      return option("run", [deno, LIMITER], around);
    case "ffi":
      // Native code in a package may do anything; therefore only clusters get this permission.
      return isCluster ? option("ffi", [packagesFolder(around)], around) : "--deny-ffi";
  }
}

/** The packages in this runtime's cache. */
function packagesFolder({ env, isMac }: Surroundings): string {
  if (env.DENO_DIR) return join(env.DENO_DIR, "npm");
  const home = env.HOME ?? "/";
  const cache = isMac ? join(home, "Library/Caches") : env.XDG_CACHE_HOME || join(home, ".cache");
  return join(cache, "deno", "npm");
}

/**
 * The option for each path and for its link target.
 * @throws {Error} for a path with a comma, which would begin another path.
 */
function option(name: string, paths: readonly string[], around: Surroundings): string {
  const named = paths.map((path) => resolve(around.root, path));
  const real = named.map((path) => realPathOf(path, around));
  const all = [...new Set([...named, ...real])];
  const split = all.find((path) => path.includes(","));
  if (split !== undefined) {
    throw new Error(`The path ${split} has a comma, which permissions cannot name: move it`);
  }
  return `--allow-${name}=${all.join(",")}`;
}

/** The real path. For a path that does not exist yet, the one below its folder's real path. */
function realPathOf(path: string, around: Surroundings): string {
  const real = around.realPath(path);
  if (real !== undefined) return real;
  const parent = join(path, "..");
  if (parent === path) return path;
  return join(realPathOf(parent, around), path.slice(parent === "/" ? 1 : parent.length + 1));
}

function dataFolder({ env }: Surroundings): string {
  return env.DAYBOOK_DATA_DIR || "./data";
}

/** The surroundings of this process, for a server with these variables besides its own. */
export function surroundings(env: Readonly<Record<string, string>> = {}): Surroundings {
  return {
    env: { ...Deno.env.toObject(), ...env },
    root: resolve(import.meta.dirname!, ".."),
    deno: Deno.execPath(),
    isMac: Deno.build.os === "darwin",
    realPath(path) {
      try {
        return Deno.realPathSync(path);
      } catch {
        return undefined;
      }
    },
  };
}

/**
 * Creates the data folder, and that of the archive, and syncs their names. The server could not: it
 * may not read the folders above. What cannot be created is reported by the server.
 */
function createDataFolder(around: Surroundings): void {
  try {
    makeFolder(resolve(around.root, dataFolder(around)));
    const archive = around.env.DAYBOOK_ARCHIVE_DIR;
    if (archive) makeFolder(resolve(around.root, archive));
  } catch {
    return;
  }
}

/** Bypasses the console, which `OTEL_DENO_CONSOLE=replace` would redirect. */
function tell(to: { writeSync(bytes: Uint8Array): number }, text: string): void {
  to.writeSync(new TextEncoder().encode(text));
}

if (import.meta.main) {
  const asked = ASKED.find((name) => name === Deno.args[0]);
  if (asked === undefined) {
    tell(Deno.stderr, `usage: start_permissions.ts ${ASKED.join("|")}\n`);
    Deno.exit(2);
  }
  try {
    const around = surroundings();
    if (asked === "write") createDataFolder(around);
    tell(Deno.stdout, startPermission(asked, around));
  } catch (error) {
    tell(Deno.stderr, `${(error as Error).message}\n`);
    Deno.exit(1);
  }
}
