/** The rows about reactions and their targets, on either store. */

import type { ServerProcess } from "../../tests/support/server_process.ts";
import { residentMemory } from "./machine.ts";
import * as reactions from "./reaction_measures.ts";
import { LINES, REACTION_SPEC } from "./reaction_requests.ts";
import { deployBenchSpec, type Target, targetOf } from "./server_measures.ts";
import type { Row } from "./table.ts";

export interface ReactionBench {
  readonly isQuick: boolean;
  /** Starts a server, on the same store each time. */
  readonly start: () => Promise<ServerProcess>;
  readonly add: (row: Row) => void;
}

/** Drops the targets: they are set for the embedded store. Figures of a cluster stand alone. */
export function withoutTargets(add: (row: Row) => void): ReactionBench["add"] {
  return (row) => add({ ...row, target: undefined });
}

const ENVIRONMENT = "staging";
const SAGAS = 10_000;
const TIMERS = 100_000;
const WRITES_PER_SECOND = 1_000;
/** Each write schedules an event for this much later, so that events fire as fast as they come. */
const TIMER_DELAY_MS = 10_000;
const LATENCY_TRIGGERS_PER_SECOND = 500;
/** The factor by which memory differs from start to start anyway. */
const MEMORY_NOISE = 1.1;
/** The time until a process that has just started is at rest. */
const REST_MS = 3_000;

/** Adds the rows. The servers that it starts are always ended. */
export async function measureReactions(bench: ReactionBench): Promise<void> {
  await withServer(bench, async (server) => {
    await deployBenchSpec(server, ENVIRONMENT, REACTION_SPEC);
    await measureImplied(bench, targetOf(server, ENVIRONMENT));
    await measureSagas(bench, targetOf(server, ENVIRONMENT));
  });
  const memoryBefore = await withServer(bench, memoryAtRest);
  await withServer(bench, (server) => measureTimers(bench, server));
  const memory = await withServer(bench, memoryAtRest);
  bench.add({
    name: "memory of a server at rest with 100,000 timers",
    value: memory,
    unit: "MiB",
    target: { below: memoryBefore * MEMORY_NOISE },
    note: `${memoryBefore.toFixed(1)} MiB without; it varies by a tenth from start to start`,
  });
}

async function withServer<T>(
  { start }: ReactionBench,
  use: (server: ServerProcess) => Promise<T>,
): Promise<T> {
  const server = await start();
  try {
    return await use(server);
  } catch (error) {
    console.error(`server: ${server.howItEnded() ?? "still running"}\n${server.output()}`);
    throw error;
  } finally {
    await server.stop();
  }
}

async function memoryAtRest(server: ServerProcess): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  return await residentMemory(server.pid);
}

async function measureImplied({ isQuick, add }: ReactionBench, target: Target): Promise<void> {
  const seconds = isQuick ? 5 : 8;
  const noted = await reactions.measureNoted(target, seconds);
  add({
    name: "single POST of the same event, 64",
    value: noted.requestsPerSecond,
    unit: "req/s",
    latency: noted,
    note: "implies nothing",
  });
  const target4000 = { unit: "events/s", target: { atLeast: 4_000 } };
  const one = await reactions.measureImplied(target, seconds);
  add({
    name: "implied events, 1 a trigger, 64",
    value: one.unitsPerSecond,
    ...target4000,
    latency: one,
    note: "1 event beside each that is counted",
  });
  const several = await reactions.measureSplit(target, seconds);
  add({
    name: `implied events, ${LINES} a trigger, 64`,
    value: several.unitsPerSecond,
    ...target4000,
    latency: several,
    note: `1 event beside each ${LINES} that are counted`,
  });
  const perSecond = LATENCY_TRIGGERS_PER_SECOND;
  const latency = await reactions.measureImpliedLatency(target, perSecond, isQuick ? 5 : 10);
  add({
    name: "trigger to implied readable, p99",
    value: latency.p99,
    unit: "ms",
    target: { below: 50 },
    latency,
    note: `open loop, ${perSecond} triggers/s, read by GET`,
  });
}

async function measureSagas({ isQuick, add }: ReactionBench, target: Target): Promise<void> {
  await reactions.startSagas(target, SAGAS);
  const steps = await reactions.measureSagas(target, SAGAS, isQuick ? 4 : 8);
  add({
    name: "steps of 10,000 running sagas, 64",
    value: steps.unitsPerSecond,
    unit: "steps/s",
    target: { atLeast: 1_500 },
    latency: steps,
    note: "each: an awaited event, the next one written, a wait",
  });
}

async function measureTimers(
  { isQuick, add }: ReactionBench,
  server: ServerProcess,
): Promise<void> {
  const target = targetOf(server, ENVIRONMENT);
  const delayMs = TIMER_DELAY_MS;
  await reactions.scheduleFarOff(target, TIMERS);
  const { errors, writes, writesPerSecond } = await reactions.measureTimers(target, {
    perSecond: WRITES_PER_SECOND,
    seconds: (isQuick ? 1.5 : 3) * delayMs / 1000,
    delayMs,
  });
  add({
    name: "error of timers, p99, 100,000 pending",
    value: errors.p99,
    unit: "ms",
    target: { below: 500 },
    latency: errors,
    note: `1,000 fire a second, read by GET`,
  });
  add({
    name: "writes beside them",
    value: writesPerSecond,
    unit: "req/s",
    target: { atLeast: WRITES_PER_SECOND * 0.98 },
    latency: writes,
    note: "open loop; each schedules one; us with what fires",
  });
}
