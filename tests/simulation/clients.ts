/** The clients of a world: each sends one operation after another, to any node that is up. */

import type { JsonObject } from "../../src/domain/json.ts";
import type { WriteRequest } from "../../src/domain/write/write.ts";
import type { Random } from "../crash/random.ts";
import type { Census } from "./census.ts";
import type { Entrance, Reply, Told } from "./entrance.ts";
import { TENANT } from "./founding.ts";
import type { Journal, JournalEvent, JournalWrite } from "./journal.ts";
import type { Node } from "./node.ts";
import type { VirtualTime } from "./virtual_time.ts";
import { REMINDER_MS, type SpecNumber, TIMEOUT_MS, worldSpec } from "./world_spec.ts";

/** What clients see of their world. */
export interface ClientWorld {
  readonly time: VirtualTime;
  readonly census: Census;
  readonly journal: Journal;
  readonly entrance: Entrance;
  /** Reads something, in worlds whose clients read. */
  readonly readOnce?: (random: Random) => Promise<void>;
  /** The nodes that are up. */
  nodes(): readonly Node[];
  version(): number;
  readonly isPoisonous: boolean;
  readonly hasListeners: boolean;
  /** Returns a number that no event has yet. */
  nextNumber(): number;
}

const ORDERS = ["a", "a", "b", "c"];
const TRIES_MAX = 12;
const RETRY_MS = 250;
const ACTOR = { type: "user", id: "global" };

/** Thrown if a node dies during a call. */
class NodeDied extends Error {
  override readonly name = "NodeDied";
}

export async function runClient(
  world: ClientWorld,
  random: Random,
  operations: number,
  thinkMsMax: number,
): Promise<void> {
  for (let done = 0; done < operations; done++) {
    await world.time.sleep(random.next() * thinkMsMax);
    if (random.chance(0.06)) {
      await deleteSchedule(world, random);
      continue;
    }
    const events = drawEvents(world, random);
    await Promise.all([write(world, random, events), world.readOnce?.(random)]);
    await world.readOnce?.(random);
    const answer = drawAnswer(world, random, events);
    if (answer === undefined) continue;
    await world.time.sleep(answer.afterMs);
    await write(world, random, [answer.event]);
  }
}

/**
 * How the outside world reacts to an event: it pays, early, late, or just when a reminder is
 * due.
 */
function drawAnswer(world: ClientWorld, random: Random, events: readonly JournalEvent[]) {
  const { key, type } = events.at(-1)!;
  if (type === "was_requested" && random.chance(0.7)) {
    const afterMs = random.next() * random.pick([100, 500, 1.1 * TIMEOUT_MS]);
    return { afterMs, event: drawPayment(world, random, key.split(":")[1]!) };
  }
  if (type !== "was_promised" || random.chance(0.6)) return undefined;
  const afterMs = REMINDER_MS - 20 + random.next() * 40;
  return { afterMs, event: event(world, key, "was_paid", {}) };
}

function drawPayment(world: ClientWorld, random: Random, id: string): JournalEvent {
  const type = random.chance(0.75) ? "was_captured" : "was_refused";
  return event(world, `payment:${id}`, type, { amount: random.pick([0, 5, 5, 5]) });
}

const UNHEARD: ReadonlySet<string> = new Set([
  "NodeDied",
  "NothingHeard",
  "EngineUnavailable",
  "EngineClosed",
]);

/** Returns undefined if there was no reply. */
export async function ask<T>(
  world: Pick<ClientWorld, "nodes">,
  random: Random,
  call: (node: Node) => Promise<T>,
): Promise<T | undefined> {
  const nodes = world.nodes();
  if (nodes.length === 0) return undefined;
  const node = random.pick(nodes);
  const died = node.ended.then(() => Promise.reject(new NodeDied("The node died")));
  try {
    return await Promise.race([call(node), died]);
  } catch (error) {
    if (UNHEARD.has((error as Error).name)) return undefined;
    throw error;
  }
}

async function write(
  world: ClientWorld,
  random: Random,
  events: readonly JournalEvent[],
): Promise<void> {
  const { journal, census, entrance } = world;
  const isKeyed = random.chance(0.5);
  const entry: JournalWrite = { events, heard: "unknown", places: [], impliedCount: 0 };
  journal.writes.push(entry);
  // The expected length is usually wrong: then nothing of the write may be there.
  const previousLength = random.chance(0.08) ? random.below(4) : undefined;
  const request = requestOf(events, isKeyed, previousLength);
  const again = isKeyed && random.chance(0.15);
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const reply = await ask(world, random, (node) => entrance.write(node, request));
    if (reply !== undefined && (reply.ok || !reply.isBusy)) {
      note(world, entry, reply);
      if (!again || tries > 0) break;
    } else if (!isKeyed) break;
    await world.time.sleep(RETRY_MS * (1 + random.next()));
  }
  if (entry.heard === "acknowledged") census.count("writes acknowledged");
  else if (entry.heard === "refused") census.count("writes refused");
  else census.count("writes of which nothing was heard");
}

function note({ census }: ClientWorld, entry: JournalWrite, reply: Reply<Told>): void {
  if (!reply.ok) {
    if (entry.heard === "acknowledged") throw new Error("a key that was answered is refused");
    entry.heard = "refused";
    return;
  }
  const { places, impliedCount, replayed } = reply.value;
  if (replayed) census.count("keyed writes answered from the ledger");
  if (entry.heard === "acknowledged" && !replayed) throw new Error("a key was written twice");
  entry.heard = "acknowledged";
  entry.places = places;
  entry.impliedCount = impliedCount;
}

function requestOf(
  events: readonly JournalEvent[],
  isKeyed: boolean,
  previous_length: number | undefined,
): WriteRequest {
  const keys = [...new Set(events.map(({ key }) => key))];
  const targets = keys.map((key) => {
    const [aggregateType, id] = key.split(":") as [string, string];
    const own = events.filter((event) => event.key === key);
    return { aggregateType, id, events: own.map(({ type, data }) => ({ type, data })) };
  });
  const number = String(events[0]!.data.n);
  const isAtomic = targets.length > 1;
  return {
    form: isAtomic ? "atomic" : events.length > 1 ? "batch" : "single",
    targets,
    metadata: {
      actor: ACTOR,
      ...(!isAtomic && previous_length !== undefined && { previous_length }),
    },
    requestId: `request-${number}`,
    ...(isKeyed && {
      idempotency: { key: `key-${number}`, bodyHash: number.padStart(64, "0") },
    }),
  };
}

/** One event, several of one order, or some that cancel in several orders at once. */
function drawEvents(world: ClientWorld, random: Random): JournalEvent[] {
  const id = random.pick(ORDERS);
  if (random.chance(0.06)) {
    return ["a", "b"].map((each) => event(world, `order:${each}`, "was_paid", {}));
  }
  const count = random.chance(0.25) ? 2 + random.below(3) : 1;
  const first = drawEvent(world, random, id);
  if (!first.key.startsWith("order:")) return [first];
  const more = Array.from({ length: count - 1 }, () => drawEvent(world, random, id));
  return [first, ...more.filter(({ key }) => key === first.key)];
}

function event({ nextNumber }: ClientWorld, key: string, type: string, data: JsonObject) {
  return { key, type, data: { n: nextNumber(), ...data } };
}

function drawEvent(world: ClientWorld, random: Random, id: string): JournalEvent {
  const order = (type: string, data: JsonObject = {}) => event(world, `order:${id}`, type, data);
  const flag = random.chance(0.5);
  const to = world.isPoisonous && random.chance(0.5) ? "poisoned" : random.pick(ORDERS);
  const drawn = random.below(100);
  if (drawn < 13) return order("was_placed", { flag });
  if (drawn < 21) return order("was_spread", { ids: [to, ...random.chance(0.5) ? [id, id] : []] });
  if (drawn < 26) return order("was_piped", { flag });
  if (drawn < 28) return order("was_echoed");
  if (drawn < 34) return order("was_counted", { count: random.pick<number | string>([1, "x"]) });
  if (drawn < 39) return order("was_sent", { to: random.pick([to, "no identifier"]) });
  if (drawn < 53) return order("was_promised");
  if (drawn < 61) return order("was_delayed", { flag, to });
  if (drawn < 68) return order("was_paid");
  if (drawn < 73) return event(world, "order:global", "was_called_off", {});
  if (drawn < 86) return order("was_requested", { flag, saga: random.chance(0.9) });
  return drawPayment(world, random, id);
}

async function deleteSchedule(world: ClientWorld, random: Random): Promise<void> {
  const { journal, census, entrance } = world;
  const ids = await ask(world, random, (node) => entrance.listScheduled(node));
  if (ids === undefined || ids.length === 0) return;
  const scheduledId = random.pick(ids);
  await world.time.sleep(random.next() * RETRY_MS);
  const reply = await ask(world, random, (node) => entrance.cancelScheduled(node, scheduledId));
  const heard = reply === undefined ? "unknown" : reply.ok ? "acknowledged" : "refused";
  journal.deletes.push({ scheduledId, heard, version: world.version() });
  if (heard === "acknowledged") census.count("schedules deleted");
  if (heard === "refused") census.count("schedules not deleted, for they were gone");
}

/** Tries until a deploy is acknowledged, or gives up. */
export async function deploy(
  world: ClientWorld,
  random: Random,
  number: SpecNumber,
): Promise<boolean> {
  const { journal, census, time } = world;
  journal.deploys.push({ spec: number, fromVersion: world.version() });
  const request = { spec: worldSpec(number, world.hasListeners), force: true, dryRun: false };
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const outcome = await ask(
      world,
      random,
      ({ service }) => service.specs.deploySpec(TENANT, request),
    );
    if (outcome?.ok) {
      census.count("specs deployed");
      return true;
    }
    if (outcome !== undefined) throw new Error(`refused: ${JSON.stringify(outcome.refusal)}`);
    await time.sleep(RETRY_MS);
  }
  return false;
}
