/**
 * The packages of the peers, each in one version. They are not packages of this project: a peer
 * loads them by name when it runs, without the project's lock file.
 */

export const VERSIONS = {
  "pg": "8.23.1",
  "redis": "6.3.1",
  "nats": "2.29.3",
  "@eventide/message-db": "1.3.1",
  "@event-driven-io/emmett-postgresql": "0.42.0",
  "@event-driven-io/emmett-sqlite": "0.38.5",
} as const;

export type PackageName = keyof typeof VERSIONS;

/** Clients in the front's pool: that many transactions may wait for their commit together. */
export const POOL_SIZE = 32;

/** Loads a package from the registry through the runtime's own cache. */
// deno-lint-ignore no-explicit-any -- no types are loaded with it
export async function loadPackage(name: PackageName): Promise<any> {
  return await import(`npm:${name}@${VERSIONS[name]}`);
}
