/**
 * Kills a real server repeatedly while clients write, and checks the store after each restart.
 * One seed fixes what is sent and when the server dies; how the two interleave is up to the
 * operating system. One data folder lives through all rounds, so it also grows.
 */

import assert from "node:assert/strict";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { connectApi } from "./api.ts";
import { type Check, FINAL_CHECKS, STANDARD_CHECKS } from "./checks.ts";
import { type Load, runClients } from "./clients.ts";
import { createJournal, isLanded, type Journal, type Operation, settle } from "./journal.ts";
import { createRandom, type Random } from "./random.ts";
import type { JudgeUnsent, StreamModel } from "./stream_model.ts";
import { CRASH_SPEC, STANDARD_MIX, type Workload } from "./workload.ts";

export interface CrashOptions {
  readonly seed: number;
  /** How often the server is killed. */
  readonly rounds: number;
  /**
   * Asked after these kills: has each kind of work been hit that the run is about? Until it has,
   * the kills go on, up to `KILLS_MAX_FACTOR` times as many.
   */
  readonly hasProven?: () => boolean;
  readonly connections?: number;
  /** The server dies at most this long after the load begins. */
  readonly loadMsMax?: number;
  readonly mix?: readonly Workload[];
  /** Replaces the clients that send the mix. Resolves when every client has lost its server. */
  readonly clients?: (load: Load) => Promise<string[]>;
  readonly spec?: unknown;
  /** Judges events that the service writes by itself. */
  readonly judgeUnsent?: JudgeUnsent;
  /** Lives without writers, which end while the server works off what it has found. */
  readonly recovery?: {
    /** The share of rounds that have such a life. */
    readonly share: number;
    /** How long after the server was ready such a life ends, in milliseconds. */
    readonly msMin: number;
    readonly msMax: number;
  };
  /** Inspects the store while no server runs on it; returns the faults. */
  readonly whileDown?: (dataDir: string, how: "killed" | "stopped") => Promise<string[]>;
  /** Runs before the orderly stop at the end. */
  readonly beforeStop?: Check;
  /** Run after each restart; `finalChecks` run after the last one. */
  readonly checks?: readonly Check[];
  readonly finalChecks?: readonly Check[];
  readonly env?: Readonly<Record<string, string>>;
  readonly log?: (line: string) => void;
}

export interface CrashReport {
  readonly seed: number;
  readonly kills: number;
  readonly acknowledged: number;
  /** Writes whose answer was cut off by the kill, and how many of them had landed. */
  readonly cutOff: number;
  readonly cutOffLanded: number;
  readonly events: number;
  readonly streams: number;
  readonly seconds: number;
  /** Empty if all promises were kept. If not, the data folder is kept. */
  readonly faults: readonly string[];
  readonly dataDir: string;
}

/** Throws with the faults first: the summary of a test run shows the first lines only. */
export function assertNoFaults({ faults, seed, dataDir }: CrashReport): void {
  assert.ok(faults.length === 0, `${faults.join("\n")}\nseed ${seed}, data kept in ${dataDir}`);
}

/** Everything that lives longer than one server. */
interface Run {
  readonly options: CrashOptions;
  readonly random: Random;
  readonly dataDir: string;
  readonly journal: Journal;
  readonly streams: Map<string, StreamModel>;
  readonly pool: readonly string[];
  readonly ownIds: readonly string[];
  readonly faults: string[];
  kills: number;
  cutOff: number;
  cutOffLanded: number;
}

const POOL_STREAMS = 24;
const KILLS_AT_START = 0.15;
const KILLS_MAX_FACTOR = 4;
const FAULTS_SHOWN_MAX = 20;

export async function runCrashes(options: CrashOptions): Promise<CrashReport> {
  const startedAt = performance.now();
  const run = await begin(options);
  let server = await firstStart(run);
  try {
    let written: Operation[] = [];
    for (let round = 0; goesOn(run); round++) {
      const random = run.random.fork(round);
      written = await loadAndKill(run, server, random);
      if (goesOn(run) && random.chance(KILLS_AT_START)) {
        await killWhileStarting(run, random);
      }
      if (goesOn(run) && random.fork(-3).chance(options.recovery?.share ?? 0)) {
        await killInRecovery(run, random.fork(-4));
      }
      server = await restart(run);
      options.log?.(describe(run, written, server));
      await checkLife(run, server, { written, random, checks: options.checks ?? STANDARD_CHECKS });
    }
    if (run.faults.length === 0) server = await stopAndCheckAll(run, server, written);
  } catch (error) {
    run.faults.push(String(error));
  } finally {
    await server.kill();
  }
  if (run.faults.length === 0) await Deno.remove(run.dataDir, { recursive: true });
  return report(run, (performance.now() - startedAt) / 1000);
}

function goesOn({ faults, kills, options: { rounds, hasProven } }: Run): boolean {
  if (faults.length > 0) return false;
  return kills < rounds || hasProven?.() === false && kills < KILLS_MAX_FACTOR * rounds;
}

async function begin(options: CrashOptions): Promise<Run> {
  const random = createRandom(options.seed);
  return {
    options,
    random,
    dataDir: await Deno.makeTempDir({ prefix: "daybook_crash_" }),
    journal: createJournal(),
    streams: new Map(),
    pool: ["global", ...Array.from({ length: POOL_STREAMS - 1 }, () => random.uuid())],
    ownIds: Array.from({ length: options.connections ?? 8 }, () => random.uuid()),
    faults: [],
    kills: 0,
    cutOff: 0,
    cutOffLanded: 0,
  };
}

/** The very first start is killed too: keys and credentials must survive it or be made again. */
async function firstStart(run: Run): Promise<ServerProcess> {
  if (run.options.rounds > 1) await killWhileStarting(run, run.random);
  const server = await restart(run);
  const api = connectApi(server);
  await api.deploySpec(run.options.spec ?? CRASH_SPEC);
  api.close();
  return server;
}

async function restart(run: Run): Promise<ServerProcess> {
  return await startServer({ dataDir: run.dataDir, env: run.options.env });
}

async function killWhileStarting(run: Run, random: Random): Promise<void> {
  const server = await startServer({
    dataDir: run.dataDir,
    env: run.options.env,
    waitForReady: false,
  });
  await pause(50 + random.below(600));
  await server.kill();
  await noteKill(run);
}

/** Nobody writes: the server only works off what earlier lives have left. */
async function killInRecovery(run: Run, random: Random): Promise<void> {
  const { msMin, msMax } = run.options.recovery!;
  const server = await restart(run);
  await pause(msMin + random.below(msMax - msMin));
  await server.kill();
  await noteKill(run);
}

async function noteKill(run: Run): Promise<void> {
  run.kills++;
  run.faults.push(...await run.options.whileDown?.(run.dataDir, "killed") ?? []);
}

/** Clients write until the server is killed at a moment that the seed chooses. */
async function loadAndKill(
  run: Run,
  server: ServerProcess,
  random: Random,
): Promise<Operation[]> {
  const { journal, options } = run;
  const firstOperation = journal.operations.length;
  const api = connectApi(server);
  let isDying = false;
  const clients = (options.clients ?? runClients)({
    api,
    journal,
    mix: options.mix ?? STANDARD_MIX,
    pool: run.pool,
    own: run.ownIds.map((id) => ({
      id,
      length: run.streams.get(`account:${id}`)?.hashes.length ?? 0,
    })),
    random,
    dying: () => isDying,
  });
  await pause(5 + random.fork(-2).below(options.loadMsMax ?? 500));
  isDying = true;
  const end = server.howItEnded();
  if (end !== undefined) run.faults.push(`the server ended by itself: ${end}\n${server.output()}`);
  await server.kill();
  run.faults.push(...await clients);
  await noteKill(run);
  api.close();
  return journal.operations.slice(firstOperation);
}

interface CheckedLife {
  readonly written: readonly Operation[];
  readonly random: Random;
  readonly checks: readonly Check[];
}

async function checkLife(
  run: Run,
  server: ServerProcess,
  { written, random, checks }: CheckedLife,
): Promise<void> {
  const { journal, streams, options: { judgeUnsent } } = run;
  const api = connectApi(server);
  const unknown = written.filter(({ outcome }) => outcome === "unknown");
  run.cutOff += unknown.length;
  for (const [index, { name, run: check }] of checks.entries()) {
    const life = { api, server, journal, streams, written, random, judgeUnsent };
    const found = await check(life);
    if (index === 0) run.cutOffLanded += unknown.filter((o) => isLanded(o, journal)).length;
    run.faults.push(...found.map((fault) => `after kill ${run.kills}, ${name}: ${fault}`));
    if (found.length > 0) break;
  }
  unknown.forEach((operation) => settle(operation, journal));
  api.close();
}

/**
 * An orderly stop must lose nothing either. Afterwards everything is read again from the start.
 */
async function stopAndCheckAll(
  run: Run,
  server: ServerProcess,
  written: readonly Operation[],
): Promise<ServerProcess> {
  const { beforeStop, whileDown, finalChecks } = run.options;
  if (beforeStop !== undefined) {
    await checkLife(run, server, { written: [], random: run.random, checks: [beforeStop] });
  }
  const code = await server.stop();
  run.faults.push(...await whileDown?.(run.dataDir, "stopped") ?? []);
  if (code !== 0) run.faults.push(`the orderly stop ended with code ${code}: ${server.output()}`);
  const last = await restart(run);
  await checkLife(run, last, { written, random: run.random, checks: finalChecks ?? FINAL_CHECKS });
  return last;
}

function describe(run: Run, written: readonly Operation[], server: ServerProcess): string {
  const count = (outcome: string) => written.filter((o) => o.outcome === outcome).length;
  return `kill ${run.kills}: ${count("acknowledged")} acknowledged, ${count("unknown")} cut off; ` +
    `restarted in ${Math.round(server.startMs)} ms`;
}

function report(run: Run, seconds: number): CrashReport {
  const { journal, streams, faults, kills, cutOff, cutOffLanded, dataDir } = run;
  return {
    seed: run.options.seed,
    kills,
    acknowledged: journal.operations.filter(({ outcome }) => outcome === "acknowledged").length,
    cutOff,
    cutOffLanded,
    events: [...streams.values()].reduce((sum, { hashes }) => sum + hashes.length, 0),
    streams: streams.size,
    seconds,
    faults: faults.slice(0, FAULTS_SHOWN_MAX),
    dataDir,
  };
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
