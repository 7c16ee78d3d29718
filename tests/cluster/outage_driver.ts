/**
 * Two server processes on one cluster, under load and through faults. Nodes are killed or
 * suspended, the cluster is killed and restarted, or suspended. After each fault the load
 * continues, then everything is compared with the journal. One seed fixes what is sent and when
 * faults occur.
 */

import { FINAL_CHECKS, STANDARD_CHECKS } from "../crash/checks.ts";
import { createJournal, isLanded, type Journal, type Operation, settle } from "../crash/journal.ts";
import { createRandom, type Random } from "../crash/random.ts";
import type { StreamModel } from "../crash/stream_model.ts";
import { CRASH_SPEC } from "../crash/workload.ts";
import type { ClusterProcess } from "../support/cluster_process.ts";
import { FAULT_KINDS, type FaultKind, type FaultReport, inject } from "./faults.ts";
import { type Node, nodeSettings, pause, startNode } from "./node.ts";
import { runOutageClients, type Tally } from "./outage_clients.ts";

export interface OutageOptions {
  readonly seed: number;
  /** Each round has one fault; the kinds alternate. */
  readonly rounds: number;
  readonly clients?: number;
  /** How long a killed cluster stays dead. */
  readonly clusterDownMs: number;
  readonly log?: (line: string) => void;
}

export interface OutageReport {
  readonly seed: number;
  readonly rounds: number;
  readonly acknowledged: number;
  /** Writes that were sent once and not acknowledged, and how many of them had landed. */
  readonly unknown: number;
  readonly unknownLanded: number;
  readonly events: number;
  readonly unavailable: number;
  readonly brokenConnections: number;
  readonly inProgress: number;
  readonly replayed: number;
  readonly readsAfterWrites: number;
  readonly slowestAnswerMs: number;
  readonly slowestRecoveryMs: number;
  readonly seconds: number;
  readonly faults: readonly string[];
}

interface Run {
  readonly options: OutageOptions;
  readonly cluster: ClusterProcess;
  readonly nodes: readonly Node[];
  readonly random: Random;
  readonly journal: Journal;
  readonly streams: Map<string, StreamModel>;
  readonly pool: readonly string[];
  readonly tally: Tally;
  /** When the store was away, in `performance.now()` milliseconds. */
  readonly absences: { from: number; to: number }[];
  readonly faults: string[];
  unknown: number;
  unknownLanded: number;
  slowestRecoveryMs: number;
}

const NODES = 2;
const POOL_STREAMS = 24;
const BEFORE_FAULT_MS = 1_000;
const AFTER_FAULT_MS = 1_500;
/** Requests begun while the store was away may report it this much later. */
const AFTERWARDS_MS = 1_000;
const FAULTS_SHOWN_MAX = 20;

export async function runOutages(
  cluster: ClusterProcess,
  options: OutageOptions,
): Promise<OutageReport> {
  const startedAt = performance.now();
  const dataDir = await Deno.makeTempDir({ prefix: "daybook_nodes_" });
  const run = await begin(cluster, dataDir, options);
  try {
    for (let round = 0; round < options.rounds && run.faults.length === 0; round++) {
      await playRound(run, round);
    }
    if (run.faults.length === 0) await stopAndCheckAll(run);
  } catch (error) {
    run.faults.push(String(error instanceof Error ? error.stack : error));
  } finally {
    for (const { server, api } of run.nodes) {
      api.close();
      await server.kill();
    }
    await Deno.remove(dataDir, { recursive: true });
  }
  return report(run, (performance.now() - startedAt) / 1000);
}

async function begin(
  cluster: ClusterProcess,
  dataDir: string,
  options: OutageOptions,
): Promise<Run> {
  const random = createRandom(options.seed);
  const nodes: Node[] = [];
  for (let number = 1; number <= NODES; number++) {
    nodes.push(await startNode(`node ${number}`, dataDir, nodeSettings(cluster)));
  }
  await nodes[0]!.api.deploySpec(CRASH_SPEC);
  return {
    options,
    cluster,
    nodes,
    random,
    journal: createJournal(),
    streams: new Map(),
    pool: ["global", ...Array.from({ length: POOL_STREAMS - 1 }, () => random.uuid())],
    tally: {
      acknowledged: new Map(),
      unavailable: 0,
      brokenConnections: 0,
      inProgress: 0,
      replayed: 0,
      readsAfterWrites: 0,
      slowestMs: 0,
    },
    absences: [],
    faults: [],
    unknown: 0,
    unknownLanded: 0,
    slowestRecoveryMs: 0,
  };
}

/** Load, a fault, more load; then the clients finish and the store is checked. */
async function playRound(run: Run, round: number): Promise<void> {
  const { journal, nodes, tally, options } = run;
  const random = run.random.fork(round);
  const kind = FAULT_KINDS[round % FAULT_KINDS.length]!;
  const firstOperation = journal.operations.length;
  let isOver = false;
  const clients = runOutageClients({
    nodes,
    journal,
    pool: run.pool,
    random: random.fork(0),
    clients: options.clients ?? 8,
    isOver: () => isOver,
    wasAway: (from, to) =>
      run.absences.some((absence) => absence.from <= to && absence.to + AFTERWARDS_MS >= from),
    tally,
  });
  await pause(BEFORE_FAULT_MS);
  const done = await inject(kind, {
    nodes,
    cluster: run.cluster,
    random: random.fork(1),
    clusterDownMs: options.clusterDownMs,
    away: (isAway) => noteAbsence(run, isAway),
  });
  const acknowledgedBefore = new Map(tally.acknowledged);
  await pause(AFTER_FAULT_MS);
  isOver = true;
  run.faults.push(...done.faults, ...await clients);
  for (const node of nodes) {
    const end = node.server.howItEnded();
    if (end !== undefined) {
      run.faults.push(`${node.name} ended by itself: ${end}\n${node.server.output()}`);
    }
    if (tally.acknowledged.get(node) !== acknowledgedBefore.get(node)) continue;
    run.faults.push(`${node.name} acknowledged nothing after the fault`);
  }
  const written = journal.operations.slice(firstOperation);
  options.log?.(describe(kind, done, written));
  run.slowestRecoveryMs = Math.max(run.slowestRecoveryMs, done.recoveryMs);
  run.faults.splice(0, run.faults.length, ...run.faults.map((f) => named(f, round, kind)));
  if (run.faults.length === 0) await check(run, random.pick(nodes), { written, random, round });
}

function named(fault: string, round: number, kind: FaultKind): string {
  return `round ${round + 1}, ${kind}: ${fault}`;
}

function noteAbsence(run: Run, isAway: boolean): void {
  if (isAway) run.absences.push({ from: performance.now(), to: Infinity });
  else run.absences.at(-1)!.to = performance.now();
}

interface CheckedRound {
  readonly written: readonly Operation[];
  readonly random: Random;
  readonly round?: number;
}

async function check(
  run: Run,
  { api, server, name }: Node,
  { written, random, round }: CheckedRound,
): Promise<void> {
  const { journal, streams } = run;
  const unknown = written.filter(({ outcome }) => outcome === "unknown");
  run.unknown += unknown.length;
  const checks = round === undefined ? FINAL_CHECKS : STANDARD_CHECKS;
  const when = round === undefined ? "in the end" : `after round ${round + 1}`;
  for (const [index, { name: what, run: look }] of checks.entries()) {
    const found = await look({ api, server, journal, streams, written, random });
    if (index === 0) run.unknownLanded += unknown.filter((o) => isLanded(o, journal)).length;
    run.faults.push(...found.map((fault) => `${when}, on ${name}, ${what}: ${fault}`));
    if (found.length > 0) break;
  }
  unknown.forEach((operation) => settle(operation, journal));
}

/**
 * Checks every byte again on each node; then stops all in order and checks on a fresh process.
 */
async function stopAndCheckAll(run: Run): Promise<void> {
  for (const node of run.nodes) await check(run, node, { written: [], random: run.random });
  for (const { server, name } of run.nodes) {
    const code = await server.stop();
    if (code !== 0) run.faults.push(`${name} stopped with code ${code}: ${server.output()}`);
  }
  const [first] = run.nodes;
  await first!.restart();
  await check(run, first!, { written: [], random: run.random });
}

function describe(kind: FaultKind, done: FaultReport, written: readonly Operation[]): string {
  const count = (outcome: string) => written.filter((o) => o.outcome === outcome).length;
  return `${kind} for ${(done.awayMs / 1000).toFixed(1)} s, ready again after ` +
    `${Math.round(done.recoveryMs)} ms: ${count("acknowledged")} acknowledged, ` +
    `${count("unknown")} unknown`;
}

function report(run: Run, seconds: number): OutageReport {
  const { journal, streams, tally, options } = run;
  return {
    seed: options.seed,
    rounds: options.rounds,
    acknowledged: journal.operations.filter(({ outcome }) => outcome === "acknowledged").length,
    unknown: run.unknown,
    unknownLanded: run.unknownLanded,
    events: [...streams.values()].reduce((sum, { hashes }) => sum + hashes.length, 0),
    unavailable: tally.unavailable,
    brokenConnections: tally.brokenConnections,
    inProgress: tally.inProgress,
    replayed: tally.replayed,
    readsAfterWrites: tally.readsAfterWrites,
    slowestAnswerMs: Math.round(tally.slowestMs),
    slowestRecoveryMs: Math.round(run.slowestRecoveryMs),
    seconds: Math.round(seconds),
    faults: run.faults.slice(0, FAULTS_SHOWN_MAX),
  };
}
