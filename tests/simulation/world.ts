/**
 * A world from one number: machines, their processes, clients and faults, until all is quiet.
 * One thread, its own time and its own randomness: the same number gives the same world.
 */

import { createHash } from "node:crypto";
import { createRandom, type Random } from "../crash/random.ts";
import type { Fault } from "../support/faulty_engine.ts";
import type { Census } from "./census.ts";
import { type ClientWorld, deploy, runClient } from "./clients.ts";
import { foundInstance } from "./founding.ts";
import { openHttpEntrance } from "./http_entrance.ts";
import { type Journal, openJournal } from "./journal.ts";
import { clockMs, EPOCH_MS, type Machine, type Node, startNode } from "./node.ts";
import { type Bundle, makeLastAnchor, takeBundles } from "./last_anchor.ts";
import { countPending, nextDueMs } from "./pending.ts";
import { readOnce } from "./reads.ts";
import { type Arrival, openReceivers, type Receivers } from "./receivers.ts";
import { serviceEntrance } from "./service_entrance.ts";
import { createSimulatedStore, type SimulatedStore } from "./simulated_store.ts";
import { createVirtualTime, type VirtualTime, withTimersOf } from "./virtual_time.ts";
import { areProjectionsBusy, DEFINITIONS, deployProjection } from "./projections.ts";
import { DEATH_SHARES, drawFault, drawLatencyMs, drawWeather, type Weather } from "./weather.ts";
import type { SpecNumber } from "./world_spec.ts";

/** What is known of one commit. */
export interface CommitNote {
  readonly atMs: number;
  readonly machine: Machine;
  /** Number of the process on that machine. */
  readonly process: number;
}

/** A world when it is over. */
export interface EndedWorld {
  readonly seed: number;
  readonly weather: Weather;
  readonly store: SimulatedStore;
  readonly journal: Journal;
  /** By version, from 1. */
  readonly commits: ReadonlyMap<number, CommitNote>;
  /** What the processes logged as errors. */
  readonly errors: readonly string[];
  /** What reached the endpoints of listeners. */
  readonly arrivals: readonly Arrival[];
  /** Proofs that the product gave at the end. */
  readonly bundles: readonly Bundle[];
  /** Whether the world became quiet. */
  readonly isQuiet: boolean;
  /** SHA-256 over every commit, the time it landed, and what it wrote. */
  readonly trace: string;
}

/**
 * After all faults are over, a world must become quiet within this time. A receiver that
 * refuses many events of one stream takes a minute: four tries of each, one event after the
 * other.
 */
const DRAIN_MS_MAX = 300_000;
/** Ten times what any world writes. */
const KEYS_MAX = 5_000;
const LOOK_MS = 500;
/** Each look sets all clocks forward by at least this much, because waiting is expensive. */
const FORWARD_MS_MIN = 2_500;

/** Everything that moves in a world. */
interface World extends ClientWorld {
  readonly weather: Weather;
  readonly random: Random;
  readonly store: SimulatedStore;
  readonly machines: readonly Machine[];
  readonly processes: Node[];
  readonly commits: Map<number, CommitNote>;
  readonly trace: ReturnType<typeof createHash>;
  readonly receivers: Receivers;
  isStormy: boolean;
  deathsLeft: number;
  /** Machines that cannot reach the store. */
  away: ReadonlySet<Machine>;
}

/** `weather` replaces that of the seed; everything else is drawn as before. */
export async function runWorld(
  seed: number,
  census: Census,
  weather?: Weather,
): Promise<EndedWorld> {
  const time = createVirtualTime();
  const world = createWorld(seed, census, time, weather);
  function refuse(): void {
    if (world.store.keyCount > KEYS_MAX) throw new Error("it writes on and on");
  }
  return await withTimersOf(time, () => time.runUntil(live(seed, world), refuse));
}

async function live(seed: number, world: World): Promise<EndedWorld> {
  const { weather, random, machines, journal, store, commits } = world;
  await foundInstance(store);
  for (const machine of machines) start(world, machine);
  if (!await deploy(world, random, 1)) throw new Error("the first spec was not deployed");
  if (weather.hasProjections && !await deployProjection(world, random, DEFINITIONS[0]!)) {
    throw new Error("the first projection was not deployed");
  }
  world.isStormy = true;
  const clients = Array.from(
    { length: weather.clients },
    (_, index) =>
      runClient(world, random.fork(100 + index), weather.operationsEach, weather.thinkMsMax),
  );
  const storm = runStorm(world);
  await Promise.all([...clients, storm]);
  world.isStormy = false;
  world.away = new Set();
  const isQuiet = await becomeQuiet(world);
  const bundles = isQuiet && weather.hasAnchors ? await proveAll(world) : [];
  const errors = world.processes.flatMap((process) => process.errors);
  for (const process of world.nodes()) await process.stop();
  for (const versions of store.keysWithin(EVERYTHING).map(store.history)) {
    for (const { version, value } of versions) {
      world.trace.update(`${version}`).update(value ?? "-");
    }
  }
  const trace = world.trace.digest("hex");
  const { arrivals } = world.receivers;
  return { seed, weather, store, journal, commits, errors, arrivals, bundles, isQuiet, trace };
}

/** The stream that cannot be written while it is poisoned. */
const POISONED = "ledger:poisoned";
const EVERYTHING = { begin: new Uint8Array(), end: Uint8Array.of(0xff) };

function createWorld(
  seed: number,
  census: Census,
  time: VirtualTime,
  given: Weather | undefined,
): World {
  const random = createRandom(seed);
  const drawn = drawWeather(random);
  const weather = given ?? drawn;
  const { skewMsMax, poison } = weather;
  const machines = Array.from({ length: weather.machines }, (): Machine => ({
    clock: [{ fromMs: 0, aheadMs: Math.floor((2 * random.next() - 1) * skewMsMax) }],
  }));
  const store = createSimulatedStore();
  const processes: Node[] = [];
  let numbers = 0;
  const journal = openJournal();
  const http = weather.entrance === "http" ? openHttpEntrance(journal, census) : undefined;
  const world: World = {
    weather,
    random,
    census,
    time,
    store,
    machines,
    processes,
    journal,
    entrance: http ?? serviceEntrance,
    ...http && { readOnce: (random) => readOnce(world, http, random) },
    receivers: openReceivers({
      weather,
      census,
      isStormy: () => world.isStormy,
      version: () => store.version,
    }),
    commits: new Map(),
    trace: createHash("sha256"),
    isPoisonous: poison !== "none",
    hasListeners: weather.receivers !== "none",
    isStormy: false,
    deathsLeft: weather.deathsInCalls,
    away: new Set(),
    nodes: () => processes.filter(({ isAlive }) => isAlive),
    version: () => store.version,
    nextNumber: () => ++numbers,
  };
  return world;
}

function start(world: World, machine: Machine): void {
  const { time, store, weather, census, random } = world;
  const number = world.processes.length + 1;
  const own = random.fork(number);
  const node = startNode(machine, {
    time,
    store,
    random: own,
    weather,
    latencyMs: () => drawLatencyMs(own, weather),
    isDeadly(stage) {
      if (!world.isStormy || world.deathsLeft === 0) return false;
      if (!own.chance(DEATH_SHARES[stage])) return false;
      world.deathsLeft--;
      if (stage === "reply") census.count("nodes killed after a commit that nobody heard of");
      census.count("nodes killed");
      return true;
    },
    fault: (): Fault | undefined =>
      world.isStormy ? drawFault(own, weather.faultShare, census) : undefined,
    isAway: (asking) => world.away.has(asking),
    poison: () => isPoisoned(world) ? POISONED : undefined,
    sender: (wait) => world.receivers.senderFor(number, wait, own.fork(1)),
    onCommit(landedOn, version, keys) {
      world.commits.set(version, { atMs: time.nowMs, machine: landedOn, process: number });
      world.trace.update(`${version} ${time.nowMs} ${number}`);
      for (const { key } of keys) world.trace.update(key);
    },
  }, number);
  world.processes.push(node);
  if (world.isStormy) census.count("nodes started again");
  node.ended.then(() => startAgain(world, machine));
}

function isPoisoned({ weather: { poison }, isStormy }: World): boolean {
  return poison === "lasting" || (poison === "passing" && isStormy);
}

/** A dead process is restarted sooner or later. */
async function startAgain(world: World, machine: Machine): Promise<void> {
  if (!world.isStormy) return;
  await world.time.sleep(world.random.next() * world.random.pick([100, 3_000, 20_000]));
  if (world.isStormy) start(world, machine);
}

/** The faults of a world, each at some time while the clients work. */
async function runStorm(world: World): Promise<void> {
  const { weather, random } = world;
  const spanMs = (weather.operationsEach + 1) * weather.thinkMsMax * 0.6 + 500;
  const events = [
    ...Array.from({ length: weather.deathsInTime }, () => die),
    ...Array.from({ length: weather.outages }, () => loseStore),
    ...Array.from({ length: weather.clockJumps }, () => jump),
    ...Array.from({ length: weather.deploys }, () => deployNext),
    ...weather.hasProjections ? [deployNextProjection] : [],
  ];
  await Promise.all(events.map(async (happen, index) => {
    const own = random.fork(1_000 + index);
    await world.time.sleep(own.next() * spanMs);
    await happen(world, own);
  }));
}

async function die({ nodes, census }: World, random: Random): Promise<void> {
  const alive = nodes();
  if (alive.length === 0) return;
  const node = random.pick(alive);
  if (random.chance(0.25)) {
    await Promise.race([node.stop(), node.ended]);
    census.count("nodes stopped in order");
  } else {
    node.kill();
    census.count("nodes killed");
  }
}

async function loseStore(world: World, random: Random): Promise<void> {
  const { machines, census, time } = world;
  const isAll = machines.length === 1 || random.chance(0.5);
  census.count(isAll ? "outages of all" : "outages of one machine");
  world.away = new Set(isAll ? machines : [random.pick(machines)]);
  await time.sleep(random.next() * random.pick([300, 2_000, 6_000]));
  world.away = new Set();
}

function jump({ machines, census, time }: World, random: Random): Promise<void> {
  const machine = random.pick(machines);
  const isForward = random.chance(0.5);
  census.count(isForward ? "clocks set forward" : "clocks set back");
  const byMs = Math.floor(random.next() * random.pick([1_500, 5_000, 30_000, 3_600_000]));
  const { aheadMs } = machine.clock.at(-1)!;
  machine.clock.push({ fromMs: time.nowMs, aheadMs: aheadMs + (isForward ? byMs : -byMs) });
  return Promise.resolve();
}

async function deployNext(world: World, random: Random): Promise<void> {
  await deploy(world, random, random.pick<SpecNumber>([1, 2, 2, 3, 3]));
}

async function deployNextProjection(world: World, random: Random): Promise<void> {
  if (random.chance(0.5)) await deployProjection(world, random, random.pick(DEFINITIONS));
}

/**
 * Ends all faults: clocks, store, a process on each machine (or on one alone). Returns false if
 * the world does not become quiet.
 */
async function becomeQuiet(world: World): Promise<boolean> {
  const { machines, time, random, store, weather } = world;
  // All clocks start from the right time and then only go forward together. So a timer set by a
  // clock that was far ahead becomes due on every machine.
  setClocks(world, 0);
  const isLonely = random.chance(0.5);
  for (const machine of isLonely ? machines.slice(0, 1) : machines) {
    if (!world.nodes().some((node) => node.machine === machine)) start(world, machine);
  }
  const untilMs = time.nowMs + DRAIN_MS_MAX;
  while (time.nowMs < untilMs) {
    await time.sleep(LOOK_MS);
    if (countPending(store) === 0 && !(weather.hasProjections && areProjectionsBusy(store))) {
      return true;
    }
    const dueMs = nextDueMs(store);
    // If nothing waits for a time, the work is under way.
    const waitMs = dueMs === Infinity ? 0 : dueMs - clockMs(machines[0]!, time.nowMs);
    setClocks(world, Math.max(waitMs, FORWARD_MS_MIN));
  }
  return false;
}

/** Asks the first process that is up; nothing fails any more. */
async function proveAll(world: World): Promise<Bundle[]> {
  const [node] = world.nodes();
  await makeLastAnchor(node!);
  return await takeBundles(node!, world.store);
}

/**
 * Sets all clocks alike: `forwardMs` ahead of the first one's time, or to the right time if 0.
 */
function setClocks({ machines, time }: World, forwardMs: number): void {
  const aheadMs = clockMs(machines[0]!, time.nowMs) - EPOCH_MS - time.nowMs;
  const nextMs = forwardMs === 0 ? 0 : Math.ceil(aheadMs + forwardMs);
  for (const { clock } of machines) clock.push({ fromMs: time.nowMs, aheadMs: nextMs });
}
