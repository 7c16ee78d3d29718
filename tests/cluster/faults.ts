/** What is done to the nodes and to the cluster while clients write. */

import { LEASE_SILENCE_MS } from "../../src/domain/fairness/lease.ts";
import type { Random } from "../crash/random.ts";
import type { ClusterProcess } from "../support/cluster_process.ts";
import { type Node, pause, probe, untilReady } from "./node.ts";

export type FaultKind =
  | "node killed"
  | "node held still"
  | "cluster killed"
  | "cluster held still briefly"
  | "cluster held still long";

export const FAULT_KINDS: readonly FaultKind[] = [
  "cluster held still long",
  "node killed",
  "node held still",
  "cluster killed",
  "cluster held still briefly",
];

export interface FaultContext {
  readonly nodes: readonly Node[];
  readonly cluster: ClusterProcess;
  readonly random: Random;
  /** How long the cluster stays dead. */
  readonly clusterDownMs: number;
  /** Reports that the store goes away or comes back. */
  readonly away: (isAway: boolean) => void;
}

export interface FaultReport {
  /** How long the store was away, and how long the nodes then took to recover. */
  readonly awayMs: number;
  readonly recoveryMs: number;
  readonly faults: readonly string[];
}

/** More than the four seconds that a call waits and the five that a transaction may last. */
const HELD_LONG_MS = 6_000;
const HELD_BRIEFLY_MS = 1_500;
const HELD_SPREAD_MS = 2_500;
/** Others then have its leases before it goes on. */
const NODE_HELD_MS = LEASE_SILENCE_MS + 1_500;
/** Nodes must use a recovered cluster again within this time, without a restart. */
const RECOVERY_MS_MAX = 20_000;
const PROBE_PAUSE_MS = 300;
/** Five seconds, plus what a busy machine may add. */
const READY_MS_MAX = 5_500;
const LIVE_MS_MAX = 2_000;

export async function inject(kind: FaultKind, context: FaultContext): Promise<FaultReport> {
  if (kind === "node killed") return await killNode(context);
  if (kind === "node held still") return await holdNode(context);
  const { cluster, random, clusterDownMs } = context;
  if (kind === "cluster killed") {
    return await leave(context, () => cluster.kill(), clusterDownMs, () => cluster.restart());
  }
  const least = kind === "cluster held still long" ? HELD_LONG_MS : HELD_BRIEFLY_MS;
  const ms = least + random.below(HELD_SPREAD_MS);
  return await leave(context, () => cluster.pause(), ms, () => cluster.resume());
}

async function killNode({ nodes, random }: FaultContext): Promise<FaultReport> {
  const node = random.pick(nodes);
  const startedAt = performance.now();
  await node.kill();
  await pause(random.below(1_000));
  const downMs = performance.now() - startedAt;
  await node.restart();
  return { awayMs: downMs, recoveryMs: node.server.startMs, faults: [] };
}

async function holdNode({ nodes, random }: FaultContext): Promise<FaultReport> {
  const node = random.pick(nodes);
  const awayMs = NODE_HELD_MS + random.below(HELD_SPREAD_MS);
  await node.holdStill(awayMs);
  const waited = await untilReady(node, RECOVERY_MS_MAX);
  const faults = waited === undefined ? [`${node.name} is not ready again`] : [];
  return { awayMs, recoveryMs: waited ?? 0, faults };
}

async function leave(
  { nodes, away }: FaultContext,
  begin: () => void | Promise<void>,
  ms: number,
  end: () => void | Promise<void>,
): Promise<FaultReport> {
  const startedAt = performance.now();
  away(true);
  await begin();
  let isBack = false;
  const probing = Promise.all(nodes.map((node) => probeUntil(node, () => isBack)));
  await pause(ms);
  await end();
  const backAt = performance.now();
  const waits = await Promise.all(nodes.map((node) => untilReady(node, RECOVERY_MS_MAX)));
  isBack = true;
  const faults = (await probing).flat();
  away(false);
  for (const [index, waited] of waits.entries()) {
    if (waited !== undefined) continue;
    faults.push(`${nodes[index]!.name} is not ready ${RECOVERY_MS_MAX} ms after the cluster`);
  }
  return { awayMs: backAt - startedAt, recoveryMs: Math.max(...waits.map((w) => w ?? 0)), faults };
}

/** A node must be alive all the time and say within five seconds whether it is ready. */
async function probeUntil(node: Node, isOver: () => boolean): Promise<string[]> {
  while (!isOver()) {
    const [live, ready] = await Promise.all([
      probe(node, "/health/live"),
      probe(node, "/health/ready"),
    ]);
    const isRight = live.status === 200 && live.ms <= LIVE_MS_MAX &&
      (ready.status === 200 || ready.status === 503) && ready.ms <= READY_MS_MAX;
    if (!isRight) return [`${node.name} answered ${JSON.stringify([live, ready])}`];
    await pause(PROBE_PAUSE_MS);
  }
  return [];
}
