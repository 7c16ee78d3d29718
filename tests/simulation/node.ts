/**
 * One server process of a world: a service with its workers and its HTTP application. It has a
 * clock of its own and an engine that fails. It can die at any moment; work that was under way
 * then never continues.
 */

import { type Access, createAccess } from "../../src/features/access/access_service.ts";
import { createService, type Service } from "../../src/features/service.ts";
import type { Host } from "../../src/host.ts";
import { createApp } from "../../src/http/app.ts";
import { createAddressNet } from "../../src/http/middleware/address_net.ts";
import type { Engine } from "../../src/kv/engine.ts";
import type { Keyed } from "../../src/kv/key_map.ts";
import type { WebhookSender } from "../../src/domain/listener/webhook.ts";
import {
  anchorWorker,
  deliveryWorker,
  leaseWorker,
  memoryWorker,
  outboxWorker,
  projectionBuildWorker,
  projectionWorker,
  timerWorker,
} from "../../src/workers/workers.ts";
import { type RunningWorker, runWorker, type Worker } from "../../src/workers/worker.ts";
import type { Random } from "../crash/random.ts";
import { fakeHost } from "../support/fake_host.ts";
import { type Fault, faultyEngine } from "../support/faulty_engine.ts";
import { poisonedEngine } from "../support/poisoned_engine.ts";
import type { CallStage, SimulatedStore } from "./simulated_store.ts";
import type { VirtualTime } from "./virtual_time.ts";
import type { Weather } from "./weather.ts";

/** The machine that a process runs on; it outlives its processes. */
export interface Machine {
  /**
   * How far its clock is ahead of {@link EPOCH_MS}, in milliseconds, from each of these moments
   * on.
   */
  readonly clock: { readonly fromMs: number; readonly aheadMs: number }[];
}

export interface Node {
  readonly machine: Machine;
  readonly service: Service;
  /** Answers through its HTTP application. Only in worlds whose clients speak HTTP. */
  answer(request: Request): Promise<Response>;
  readonly isAlive: boolean;
  /** Resolves when it has died or was stopped. */
  readonly ended: Promise<void>;
  /** Its log lines of level error. */
  readonly errors: readonly string[];
  kill(): void;
  /** As on a signal: finishes the work under way first. */
  stop(): Promise<void>;
}

/** What a node meets, decided by its world. */
export interface Surroundings {
  readonly time: VirtualTime;
  readonly store: SimulatedStore;
  readonly random: Random;
  readonly weather: Weather;
  /** How long a call takes at this stage. */
  latencyMs(stage: CallStage): number;
  /** Whether the node dies here. */
  isDeadly(stage: CallStage): boolean;
  fault(): Fault | undefined;
  isAway(machine: Machine): boolean;
  poison(): string | undefined;
  /** Makes its sender to listeners. `wait` never resolves once the process is dead. */
  sender(wait: () => Promise<void>): WebhookSender;
  /** A commit of a node on `machine` has landed as `version`. */
  onCommit(machine: Machine, version: number, keys: readonly Keyed[]): void;
}

/** When the world begins, by a correct clock. */
export const EPOCH_MS = Date.UTC(2026, 0, 1);
/** The shortest interval that exists. */
const ANCHOR_SECONDS = 1;
const JWT_SECRET = new Uint8Array(32).fill(7);
/**
 * Counts no client, because requests have no address; one for each process would be expensive.
 */
const ADDRESS_NET = createAddressNet((peer) => peer);
/** Stands in for authentication in worlds whose clients do not use HTTP. */
const NO_ACCESS = { close: () => Promise.resolve() } as Access;

export function startNode(machine: Machine, around: Surroundings, number: number): Node {
  const { time, weather } = around;
  const ended = Promise.withResolvers<void>();
  const errors: string[] = [];
  let isAlive = true;

  function kill(): void {
    isAlive = false;
    ended.resolve();
  }

  /** Calls `run` unless the process is dead by then. */
  function startTimer(milliseconds: number, run: () => void): () => void {
    return time.startTimer(milliseconds, () => isAlive && run());
  }

  function pause(stage: CallStage): Promise<void> {
    if (isAlive && around.isDeadly(stage)) kill();
    if (!isAlive) return never();
    return new Promise((resolve) => void startTimer(around.latencyMs(stage), resolve));
  }

  const host: Host = {
    ...fakeHost(),
    nowMs: () => clockMs(machine, time.nowMs),
    monotonicMs: () => time.nowMs,
    randomBytes: (length) => Uint8Array.from({ length }, () => around.random.below(256)),
    startTimer,
    yieldTurn: () => new Promise((resolve) => void startTimer(0, resolve)),
    yieldBriefly: () => new Promise((resolve) => void startTimer(0, resolve)),
    log(level, message, { reason } = {}) {
      if (isAlive && level === "error") errors.push(`${message}: ${reason}`);
    },
  };
  const engine = openEngine(machine, around, number, pause);
  const isHttp = weather.entrance === "http";
  const access = isHttp ? createAccess(engine, host, { jwtSecret: JWT_SECRET }) : NO_ACCESS;
  const sender = around.sender(() => pause("begin"));
  const service = createService(engine, host, access, {
    isDirect: weather.isDirect,
    ...weather.receivers !== "none" &&
      { webhooks: { sender, headerPrefix: "SVC", allowPrivate: false } },
  });
  const workers = workersOf(service, weather).map((each): RunningWorker => runWorker(each, host));
  const app = isHttp
    ? createApp(service, host, {
      headerPrefix: "SVC",
      environment: { kind: "listener", environment: "test" },
      clientAddress: (peer) => peer,
      addressNet: ADDRESS_NET,
    })
    : undefined;

  async function stop(): Promise<void> {
    await Promise.all(workers.map((worker) => worker.stop()));
    await Promise.all([service.close(), access.close()]);
    kill();
  }

  return {
    machine,
    service,
    answer: async (request) => await app!.fetch(request),
    errors,
    get isAlive() {
      return isAlive;
    },
    ended: ended.promise,
    kill,
    stop,
  };
}

function workersOf(service: Service, { receivers, hasProjections, hasAnchors }: Weather): Worker[] {
  const workers = [outboxWorker, timerWorker, leaseWorker, memoryWorker];
  if (receivers !== "none") workers.push(deliveryWorker);
  if (hasProjections) workers.push(projectionWorker, projectionBuildWorker);
  if (hasAnchors) workers.push((service) => anchorWorker(service, ANCHOR_SECONDS));
  return workers.map((open) => open(service));
}

/**
 * A new promise each time: a shared one would keep everything that ever waited for it in
 * memory.
 */
function never(): Promise<never> {
  return new Promise(() => {});
}

function openEngine(
  machine: Machine,
  around: Surroundings,
  number: number,
  pause: (stage: CallStage) => Promise<void>,
): Engine {
  const { time, store } = around;
  const inner = store.open({
    pause,
    nowMs: () => time.nowMs,
    onCommit: (version, { keys }) => around.onCommit(machine, version, keys.entries),
  });
  const options = {
    isAway: () => around.isAway(machine),
    nowMs: () => Math.floor(EPOCH_MS + time.nowMs),
    number,
  };
  return faultyEngine(poisonedEngine(inner, around.poison), () => around.fault(), options);
}

/** What the machine's clock shows. */
export function clockMs({ clock }: Machine, trueMs: number): number {
  const now = clock.findLast(({ fromMs }) => fromMs <= trueMs)!;
  return Math.floor(EPOCH_MS + trueMs + now.aheadMs);
}

/** The latest time that the clock has shown within the last `windowMs`. */
export function latestClockMs(machine: Machine, trueMs: number, windowMs: number): number {
  const { clock } = machine;
  let latest = clockMs(machine, trueMs);
  for (const [index, { aheadMs, fromMs }] of clock.entries()) {
    const untilMs = clock[index + 1]?.fromMs ?? Infinity;
    if (fromMs > trueMs || untilMs < trueMs - windowMs) continue;
    latest = Math.max(latest, EPOCH_MS + Math.min(untilMs, trueMs) + aheadMs);
  }
  return latest;
}
