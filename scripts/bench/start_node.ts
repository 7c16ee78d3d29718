/** Starts a server on a cluster. Those of one bench share a folder and its credentials. */

import type { ClusterProcess } from "../../tests/support/cluster_process.ts";
import { type ServerProcess, startServer } from "../../tests/support/server_process.ts";
import type { Bench } from "./bench.ts";

/** The settings by which a server or a command finds the cluster. */
export function clusterEnv({ clusterFile }: Pick<ClusterProcess, "clusterFile">) {
  return { DAYBOOK_STORE: "foundationdb", FDB_CLUSTER_FILE: clusterFile };
}

export function startNode(
  { dataDir }: Pick<Bench, "dataDir">,
  cluster: Pick<ClusterProcess, "clusterFile">,
): Promise<ServerProcess> {
  return startServer({ dataDir, env: clusterEnv(cluster) });
}
