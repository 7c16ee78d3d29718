/** Finds FoundationDB's cluster file and says plainly what is wrong with it. */

/** Where FoundationDB's own tools look, in their order. */
const defaultPaths: readonly string[] = ["fdb.cluster", "/etc/foundationdb/fdb.cluster"];
const connection = /^[A-Za-z0-9_]+:[A-Za-z0-9]+@[^\s@,]+:\d+(:tls)?(,[^\s@,]+:\d+(:tls)?)*$/;
/** The client truncates longer paths. */
const pathBytesMax = 1000;

/**
 * The path of the cluster file.
 * @param path as configured; undefined for FoundationDB's own default.
 * @throws {Error} with a message for people when it is missing, unreadable or not a cluster
 * file.
 */
export async function findClusterFile(path: string | undefined): Promise<string> {
  for (const candidate of path === undefined ? defaultPaths : [path]) {
    let text: string;
    try {
      text = await Deno.readTextFile(candidate);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) continue;
      throw new Error(`The cluster file ${candidate} cannot be read: ${(error as Error).message}`);
    }
    checkClusterFile(candidate, text);
    return candidate;
  }
  const tried = path ?? defaultPaths.join(" and ");
  throw new Error(
    `There is no FoundationDB cluster file at ${tried}. Set FDB_CLUSTER_FILE to its path, ` +
      "or start a cluster for trying things out with scripts/run_foundationdb.sh",
  );
}

function checkClusterFile(path: string, text: string): void {
  const lines = text.split("\n").map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  if (!connection.test(lines.join(""))) {
    throw new Error(
      `${path} is no FoundationDB cluster file: ` +
        "it should hold one line like description:id@127.0.0.1:4500",
    );
  }
  if (new TextEncoder().encode(path).length > pathBytesMax) {
    throw new Error(`The path of the cluster file is longer than ${pathBytesMax} bytes: ${path}`);
  }
}
