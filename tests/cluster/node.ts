/** One of several server processes on one cluster, which tests kill, restart and probe. */

import { type Api, connectApi } from "../crash/api.ts";
import type { ClusterProcess } from "../support/cluster_process.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";

/** The settings that make a server a node of the cluster. */
export function nodeSettings({ clusterFile }: Pick<ClusterProcess, "clusterFile">) {
  return { DAYBOOK_STORE: "foundationdb", FDB_CLUSTER_FILE: clusterFile };
}

export interface Node {
  readonly name: string;
  /** False from just before a kill until the restart. */
  readonly isUp: boolean;
  /** How often it was started: a request that spans two lives may lose its connection. */
  readonly lives: number;
  readonly server: ServerProcess;
  /** Belongs to the present life. */
  readonly api: Api;
  /** Sends SIGKILL. */
  kill(): Promise<void>;
  /** Starts a new process on the same store; resolves when it is ready. */
  restart(): Promise<void>;
  /** Sends SIGSTOP, and SIGCONT after so many milliseconds. */
  holdStill(milliseconds: number): Promise<void>;
  /** How long it was held still until now, in milliseconds. */
  heldMs(): number;
}

export interface Probe {
  readonly path: string;
  /** Undefined if there was no answer at all. */
  readonly status: number | undefined;
  readonly ms: number;
}

const PROBE_TIMEOUT_MS = 8_000;

/** Nodes may share a data folder: it only holds the keys of the first start. */
export async function startNode(
  name: string,
  dataDir: string,
  env: Readonly<Record<string, string>>,
): Promise<Node> {
  let server = await startServer({ dataDir, env });
  let api = connectApi(server);
  let isUp = true;
  let lives = 1;
  let heldMs = 0;
  let heldSinceMs: number | undefined;
  const heldNow = () => heldSinceMs === undefined ? 0 : performance.now() - heldSinceMs;
  return {
    name,
    get isUp() {
      return isUp;
    },
    get lives() {
      return lives;
    },
    get server() {
      return server;
    },
    get api() {
      return api;
    },
    async kill() {
      isUp = false;
      await server.kill();
      api.close();
    },
    async restart() {
      server = await startServer({ dataDir, env });
      api = connectApi(server);
      lives++;
      isUp = true;
    },
    async holdStill(milliseconds) {
      heldSinceMs = performance.now();
      Deno.kill(server.pid, "SIGSTOP");
      await pause(milliseconds);
      Deno.kill(server.pid, "SIGCONT");
      heldMs += heldNow();
      heldSinceMs = undefined;
    },
    heldMs: () => heldMs + heldNow(),
  };
}

export async function probe({ server }: Node, path: string): Promise<Probe> {
  const sentAt = performance.now();
  const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
  const status = await fetch(server.baseUrls.test + path, { signal }).then(
    async (reply) => {
      await reply.body?.cancel();
      return reply.status;
    },
    () => undefined,
  );
  return { path, status, ms: performance.now() - sentAt };
}

/** Milliseconds until the node reports ready; undefined if it does not in time. */
export async function untilReady(node: Node, timeoutMs: number): Promise<number | undefined> {
  const startedAt = performance.now();
  while (performance.now() - startedAt < timeoutMs) {
    if ((await probe(node, "/health/ready")).status === 200) return performance.now() - startedAt;
    await pause(20);
  }
  return undefined;
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
