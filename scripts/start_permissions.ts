/**
 * What the server may touch, as options for the runtime: made of the settings, so that it is no
 * more than they need. `deno task start` and the container image ask for one option after the
 * other.
 *
 *   deno run -A scripts/start_permissions.ts read|write|run|ffi
 */

import { join, resolve } from "node:path";

export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder with `deno.json`. */
  readonly root: string;
  /** This runtime's own program. */
  readonly deno: string;
  readonly isMac: boolean;
  /** Where a path leads if it or a part of it is a link; undefined where there is nothing. */
  readonly realPath: (path: string) => string | undefined;
}

/** Names of options, in the order in which the task asks for them. */
export const ASKED = ["read", "write", "run", "ffi"] as const;
export type Asked = typeof ASKED[number];

/** Sets limits to the memory of runner processes; see `src/runners/memory_limit.ts`. */
const LIMITER = "/usr/bin/prlimit";
/** Where FoundationDB's client looks, and what its package asks the machine for. */
const CLUSTER_FILES = ["fdb.cluster", "/etc/foundationdb/fdb.cluster"];
const PLATFORM_MARK = "/etc/alpine-release";

export function startPermission(asked: Asked, around: Surroundings): string {
  const { env, root, deno } = around;
  const data = env.DAYBOOK_DATA_DIR || "./data";
  const isCluster = env.DAYBOOK_STORE === "foundationdb";
  switch (asked) {
    case "read": {
      const tls = [env.DAYBOOK_TLS_CERT, env.DAYBOOK_TLS_KEY].filter((path) => !!path);
      const cluster = env.FDB_CLUSTER_FILE ? [env.FDB_CLUSTER_FILE] : CLUSTER_FILES;
      const client = isCluster ? [...cluster, PLATFORM_MARK, packagesFolder(around)] : [];
      const paths = [join(root, "src"), data, ...tls as string[], ...client];
      return option("read", paths, around);
    }
    case "write":
      return option("write", [data], around);
    case "run":
      return option("run", [deno, LIMITER], around);
    case "ffi":
      // Native code that a package brings may do anything: so it is for clusters alone.
      return isCluster ? option("ffi", [packagesFolder(around)], around) : "--deny-ffi";
  }
}

/** The packages of this runtime's cache. */
function packagesFolder({ env, isMac }: Surroundings): string {
  if (env.DENO_DIR) return join(env.DENO_DIR, "npm");
  const home = env.HOME ?? "/";
  const cache = isMac ? join(home, "Library/Caches") : env.XDG_CACHE_HOME || join(home, ".cache");
  return join(cache, "deno", "npm");
}

/** Each path, and where it leads. @throws {Error} for one with a comma: it would begin another. */
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

/** Of what does not exist yet: where its folder leads. */
function realPathOf(path: string, around: Surroundings): string {
  const real = around.realPath(path);
  if (real !== undefined) return real;
  const parent = join(path, "..");
  if (parent === path) return path;
  return join(realPathOf(parent, around), path.slice(parent === "/" ? 1 : parent.length + 1));
}

/** Of this process, for a server with these variables beside its own. */
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

/** Not by the console: `OTEL_DENO_CONSOLE=replace` would send it away. */
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
    tell(Deno.stdout, startPermission(asked, surroundings()));
  } catch (error) {
    tell(Deno.stderr, `${(error as Error).message}\n`);
    Deno.exit(1);
  }
}
