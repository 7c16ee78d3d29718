/**
 * Checks deliveries: each subscribed event is delivered at least once, or a record says why
 * not. It comes under one id, as it is stored, signed, and in the order of its stream. None is
 * forgotten.
 */

import { createHmac } from "node:crypto";
import { bytesOf } from "../../src/kv/byte_text.ts";
import { unpack } from "../../src/kv/tuple.ts";
import type { Delivery, EndedDelivery } from "../../src/domain/listener/delivery.ts";
import { decodeRecord } from "../../src/store/json_record.ts";
import { keys } from "../../src/store/keys.ts";
import type { Census } from "./census.ts";
import { canonical, groupBy } from "./compare.ts";
import { type Evidence, nameOf, type Placed, streamIdOf } from "./evidence.ts";
import { addressOf, hears, type ListenerName, LISTENERS } from "./expected_deliveries.ts";
import { TENANT } from "./founding.ts";
import type { Arrival } from "./receivers.ts";
import { possibleSpecs } from "./spec_times.ts";
import type { EndedWorld } from "./world.ts";

const TRIES_MAX = 4;
const GONE = 410;
const ISO_SECONDS = 1_000;

/** Everything known about the delivery of one event to one listener. */
interface Told {
  /** All ids that its place in the lane ever had; more than one is a fault. */
  readonly ids: ReadonlySet<string>;
  readonly isPending: boolean;
}

export function checkDeliveries(evidence: Evidence, census: Census): string[] {
  const { world, events } = evidence;
  if (world.weather.receivers === "none") return [];
  const faults: string[] = [];
  const told = readTold(world);
  const ended = groupBy(readEnded(world), ({ delivery }) => delivery.id);
  const arrivals = groupBy(world.arrivals, ({ webhook }) => webhook.headers["webhook-id"]);
  for (const listener of LISTENERS) {
    for (const placed of events) {
      const name = `${listener}, ${nameOf(placed)} ${placed.event.type}`;
      const own = told.get(`${listener} ${nameOf(placed)}`);
      told.delete(`${listener} ${nameOf(placed)}`);
      const specs = possibleSpecs(world, placed.version);
      const hearing = specs.filter((spec) => hears(listener, placed.event, spec));
      if (own === undefined) {
        if (hearing.length === specs.length) faults.push(`${name}: nobody was told`);
        continue;
      }
      if (hearing.length === 0) faults.push(`${name}: it was told, and should not be`);
      const [id] = own.ids;
      const found = { own, ended: ended.get(id!) ?? [], arrivals: arrivals.get(id!) ?? [] };
      arrivals.delete(id!);
      faults.push(...faultsOf(world, listener, placed, found).map((fault) => `${name}: ${fault}`));
      count(census, placed, found);
    }
    faults.push(...checkOrder(evidence, listener, ended));
  }
  for (const name of told.keys()) faults.push(`${name} was told, and is not there`);
  for (const id of arrivals.keys()) faults.push(`${id} has come, and nobody knows it`);
  return faults;
}

interface Found {
  readonly own: Told;
  readonly ended: readonly EndedDelivery[];
  readonly arrivals: readonly Arrival[];
}

function* faultsOf(
  world: EndedWorld,
  listener: ListenerName,
  placed: Placed,
  { own, ended, arrivals }: Found,
): Generator<string> {
  if (own.ids.size !== 1) yield `it had ${own.ids.size} ids`;
  if (own.isPending) yield "it still waits";
  if (ended.length !== 1) yield `it has ended ${ended.length} times`;
  for (const { end, delivery: { tries }, stream, index } of ended) {
    if (stream !== placed.event.key || index !== placed.index) yield `it ended as ${stream}`;
    const isHeard = arrivals.some(({ status }) => status < 300);
    const last = tries.at(-1);
    if (end.state === "delivered" && !isHeard) yield "it is delivered, and nobody has said so";
    if (end.state === "dropped") {
      const isGone = listener === "books" && world.journal.deploys.some(({ spec }) => spec === 3);
      if (end.reason !== "listener_removed" || !isGone) yield `it was dropped: ${end.reason}`;
    }
    if (end.state !== "dead") continue;
    if (world.weather.receivers === "well") yield "it is dead, and nobody refused it";
    if (end.reason === "tries_used_up" && tries.length !== TRIES_MAX) {
      yield `it was tried ${tries.length} times`;
    }
    if (end.reason === "gone" && last?.status !== GONE) yield "it is gone without a 410";
  }
  for (const arrival of arrivals) yield* faultsOfArrival(world, listener, placed, arrival);
}

function* faultsOfArrival(
  world: EndedWorld,
  listener: ListenerName,
  { event, index, hash, version }: Placed,
  { webhook: { url, headers, body }, version: arrivedAt }: Arrival,
): Generator<string> {
  if (arrivedAt < version) yield "it was told before it was there";
  const { id, attempt, ...rest } = JSON.parse(body);
  if (id !== headers["webhook-id"]) yield `its body has another id, ${id}`;
  if (!(attempt >= 1 && attempt <= TRIES_MAX)) yield `it has come as attempt ${attempt}`;
  const expected = {
    listener,
    occurred_at: new Date(event.metadata.timestamp * ISO_SECONDS).toISOString(),
    instance_id: TENANT.instanceId,
    environment: TENANT.environment,
    event: { id: streamIdOf(index), hash, ...event },
  };
  if (canonical(rest) !== canonical(expected as unknown as typeof rest)) {
    yield `another event was told: ${body}`;
  }
  const signature = headers["X-SVC-Signature"];
  const fits = possibleSpecs(world, arrivedAt).some((spec) => {
    const address = addressOf(listener, spec);
    const signed = createHmac("sha256", address.secret).update(body).digest("hex");
    return address.url === url && (signature === undefined || signature === signed);
  });
  if (!fits) yield `it went to ${url}, signed ${signature}`;
  if (signature === undefined && world.weather.outages === 0) yield "it came without a signature";
}

/**
 * Of two events of one stream, the later may come only when the earlier is done: accepted,
 * refused for good, out of tries, or dropped. The sender may die before that is stored.
 */
function checkOrder(
  { world, streams }: Evidence,
  listener: ListenerName,
  ended: ReadonlyMap<string, readonly EndedDelivery[]>,
): string[] {
  const faults: string[] = [];
  const done = new Map<string, Set<number>>();
  const ends = [...ended.values()].flat();
  for (const { webhook: { body }, status } of world.arrivals) {
    const { listener: to, attempt, event: { key, id: streamId } } = JSON.parse(body);
    if (to !== listener) continue;
    const index = Number(streamId);
    let own = done.get(key);
    if (own === undefined) {
      const given = ends.filter(({ stream, end }) => stream === key && end.state !== "delivered");
      done.set(key, own = new Set(given.map((each) => each.index)));
    }
    for (const { event, index: before, version } of streams.get(key) ?? []) {
      if (before >= index) break;
      const specs = possibleSpecs(world, version);
      const isHeard = specs.every((spec) => hears(listener, event, spec));
      if (isHeard && !own.has(before)) {
        faults.push(`${listener}: ${key} ${index} came before ${before} was done with`);
      }
    }
    if (status < 300 || status === GONE || attempt === TRIES_MAX) own.add(index);
  }
  return faults;
}

function readTold({ store }: EndedWorld): Map<string, Told> {
  const told = new Map<string, Told>();
  for (const text of store.keysWithin(keys.deliveries(TENANT.number))) {
    const [listener, stream, index] = unpack(bytesOf(text)).slice(-3) as [string, string, number];
    const versions = store.history(text);
    const values = versions.flatMap(({ value }) =>
      value === undefined ? [] : [decodeRecord<Delivery>(value)]
    );
    told.set(`${listener} ${stream} ${streamIdOf(index)}`, {
      ids: new Set(values.map(({ id }) => id)),
      isPending: versions.at(-1)!.value !== undefined,
    });
  }
  return told;
}

function readEnded({ store }: EndedWorld): EndedDelivery[] {
  return store.pairsWithin(keys.allEndedDeliveries(TENANT.number)).map(({ key, value }) => {
    const ended = decodeRecord<EndedDelivery>(value);
    const id = unpack(key).at(-1) as string;
    return { ...ended, delivery: { ...ended.delivery, id } };
  });
}

function count(census: Census, { commit }: Placed, { ended, arrivals }: Found): void {
  const successes = arrivals.filter(({ status }) => status < 300);
  if (successes.length > 1) census.count("deliveries that came again, though answered");
  for (const { end, delivery } of ended) {
    census.count(`deliveries ${end.state}`);
    if (end.state === "delivered" && delivery.tries.length > 1) {
      census.count("deliveries made after a failed try");
    }
  }
  if (arrivals.some(({ process }) => process !== commit.process)) {
    census.count("deliveries by another process than the one that wrote");
  }
}
