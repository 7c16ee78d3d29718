/**
 * Small worlds, each from one number: two nodes over one store write, import and erase with faults,
 * while readers follow the feed from node to node and lose what they had not kept. The judge knows
 * what was sent, what was acknowledged and what the streams hold; none of it is from the feed.
 */

import assert from "node:assert/strict";
import type { FeedEntry, FeedPage, FeedRequest } from "../../src/domain/feed/page.ts";
import { isOutage } from "../../src/domain/outage.ts";
import type { Host } from "../../src/host.ts";
import { FoundationdbEngine } from "../../src/kv/foundationdb/engine.ts";
import { createRandom, type Random } from "../crash/random.ts";
import { erase, eventsOf } from "../support/erasure_fixtures.ts";
import { type Fault, faultyEngine } from "../support/faulty_engine.ts";
import { fileOf, importRequest, lineOf } from "../support/import_fixtures.ts";
import { memoryDatabase } from "../support/memory_foundationdb.ts";
import { temporaryEngine } from "../support/temporary_engine.ts";
import { ACTOR, noteWrite, uuid, valueOf } from "../support/service_fixture.ts";
import { type Node, type OpenedNodes, type TwoNodes, withTwoNodes } from "../support/two_nodes.ts";

const first = Number(Deno.env.get("FEED_FIRST") ?? 1);
const count = Number(Deno.env.get("FEED_SEEDS") ?? 25);
const STREAMS = 4;
/** The number of the first stream that only the import writes. */
const IMPORTED = 10;
const ERASED = `order:${uuid(0)}`;
/** The number of the stream that has a reader of its own. */
const TAILED = 1;
const STEPS = 12;
/** What a reader may need when nothing more is written. */
const PAGES_MAX = 500;

interface World {
  readonly nodes: TwoNodes;
  /** The events of each acknowledged write, in the order of its request. */
  readonly acknowledged: string[][];
  /** What was sent, acknowledged or not. */
  readonly sent: Set<string>;
  /** What each life of a reader got, from where it began. */
  readonly lives: FeedEntry[][];
  /** The ids that a reader of one stream got. */
  readonly tail: string[];
  isOver: boolean;
}

async function write(
  { nodes: { a, b, tenants }, acknowledged, sent }: World,
  random: Random,
  name: string,
) {
  const targets = [...new Set([random.below(STREAMS), random.below(STREAMS)])]
    .slice(0, 1 + random.below(2))
    .map((stream, at) => ({
      aggregateType: "order",
      id: uuid(stream),
      events: Array.from({ length: 1 + random.below(3) }, (_, index) => (
        { type: "was_noted", data: { text: `${name}.${at}.${index}` } }
      )),
    }));
  const texts = targets.flatMap(({ events }) => events.map(({ data }) => data.text));
  for (const text of texts) sent.add(text);
  const form = targets.length > 1 ? "atomic" : texts.length > 1 ? "batch" : "single";
  const isKeyed = random.chance(0.5);
  const metadata = {
    actor: ACTOR,
    ...(form !== "atomic" && random.chance(0.1) && { previous_length: 1 }),
  };
  const idempotency = isKeyed
    ? { idempotency: { key: name, bodyHash: "0".repeat(64) } }
    : undefined;
  const request = { form, targets, metadata, requestId: name, ...idempotency } as const;
  let isKnown = false;
  for (let tries = 0; tries < 5; tries++) {
    const node = random.pick([a, b]);
    try {
      const { ok } = await node.service.data.writeEvents(tenants.test, request);
      if (ok && !isKnown) acknowledged.push(texts);
      isKnown ||= ok;
      if (!isKeyed || (ok && random.chance(0.8))) return;
    } catch (error) {
      if (!isOutage(error)) throw error;
      if (!isKeyed) return;
    }
  }
}

async function writeLast({ nodes: { a, tenants }, acknowledged, sent }: World, stream: number) {
  const text = `last.${stream}`;
  sent.add(text);
  valueOf(await a.service.data.writeEvents(tenants.test, noteWrite(uuid(stream), text)));
  acknowledged.push([text]);
}

/** Reads until the world is over and nothing is left; sometimes loses what it had not kept. */
async function read(world: World, random: Random): Promise<void> {
  const { nodes: { a, b, tenants }, lives } = world;
  let life: FeedEntry[] = [];
  lives.push(life);
  let from = "start";
  let hasHeard = false;
  let node: Node = random.pick([a, b]);
  let follower = node.service.feed.follow(tenants.test);
  try {
    for (let left = PAGES_MAX; left > 0;) {
      const wasOver = world.isOver;
      if (wasOver) left--;
      const page = await readPage(world, node, { from, limit: 1 + random.below(7) });
      life.push(...page.entries);
      from = page.next;
      hasHeard ||= page.erased.some(({ key }) => key === ERASED);
      if (wasOver && page.isUpToDate) return assert.ok(hasHeard, "the erasure was told");
      if (page.isUpToDate && random.chance(0.7)) await follower.changed();
      if (random.chance(0.1) && life.length > 0) {
        // Goes on from a cursor in the middle, as a client does that had kept no later one.
        const kept = random.below(life.length);
        from = life[kept]!.cursor;
        life = life.slice(0, kept + 1);
        lives.push(life);
      }
      if (random.chance(0.3)) {
        follower.end();
        node = random.pick([a, b]);
        follower = node.service.feed.follow(tenants.test);
      }
    }
  } finally {
    follower.end();
  }
  throw new Error("the feed has no end");
}

/** One page, also if the store is away at first; shared with other readers or not. */
async function readPage(
  { nodes: { tenants } }: World,
  { service: { feed } }: Node,
  request: FeedRequest,
): Promise<FeedPage> {
  for (;;) {
    try {
      const read = request.limit % 2 === 0 ? feed.readShared : feed.readPage;
      return valueOf(await read(tenants.test, request));
    } catch (error) {
      if (!isOutage(error)) throw error;
    }
  }
}

function drawFault(random: Random): Fault | undefined {
  if (!random.chance(0.15)) return undefined;
  const landed = random.chance(0.5);
  return random.pick<Fault>([
    { kind: "lose_reply", landed },
    { kind: "unavailable", landed },
    { kind: "conflict", times: 1 },
  ]);
}

/** A reader that is never woken must not hold up the tests for ever. */
async function inTime(readers: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error("a reader does not end")), 30_000);
  try {
    await Promise.race([readers, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Two engines on one store, without faults. */
type OpenStore = (host: ClockHost) => Promise<OpenedNodes>;
type ClockHost = Pick<Host, "nowMs" | "randomBytes">;

const STORES: Readonly<Record<string, OpenStore>> = {
  async sqlite() {
    const { engine, dispose } = await temporaryEngine();
    return { engines: [engine, engine], dispose };
  },
  "foundationdb in memory"(host) {
    const database = memoryDatabase();
    const [a, b] = [0, 1].map(() => new FoundationdbEngine({ database, host }));
    const dispose = async () => void await Promise.all([a!.close(), b!.close()]);
    return Promise.resolve({ engines: [a!, b!], dispose });
  },
};

/** Follows one stream to its end, from node to node. */
async function readTail(world: World, random: Random): Promise<void> {
  const { nodes: { a, b, tenants }, tail } = world;
  const name = { aggregateType: "order", id: uuid(TAILED) };
  for (;;) {
    const wasOver = world.isOver;
    const { feed } = random.pick([a, b]).service;
    const follower = feed.follow(tenants.test, valueOf(await feed.locate(tenants.test, name)));
    try {
      const size = { limit: 1 + random.below(3), bytesMax: 1 + random.below(2_000) };
      const page = valueOf(
        await feed.readTail(tenants.test, { ...name, start: tail.at(-1), ...size }),
      );
      tail.push(...page.entries.map(({ id }) => id));
      if (wasOver && page.isUpToDate) return;
      if (page.isUpToDate && !world.isOver) await follower.changed();
    } catch (error) {
      if (!isOutage(error)) throw error;
    } finally {
      follower.end();
    }
  }
}

async function runWorld(open: OpenStore, seed: number): Promise<void> {
  const random = createRandom(seed);
  const host = {
    nowMs: () => Date.now(),
    randomBytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)),
  };
  let isStormy = false;
  async function openStormy(): Promise<OpenedNodes> {
    const { engines, dispose } = await open(host);
    const [one, two] = engines.map((engine, number) => {
      const own = random.fork(number);
      const plan = () => isStormy ? drawFault(own) : undefined;
      return faultyEngine(engine, plan, { number, nowMs: host.nowMs });
    });
    return { engines: [one!, two!], dispose };
  }
  await withTwoNodes(openStormy, async (nodes) => {
    const world: World = {
      nodes,
      acknowledged: [],
      sent: new Set(),
      lives: [],
      tail: [],
      isOver: false,
    };
    const clock = setInterval(() => nodes.pass(50), 1);
    try {
      const readers = Promise.all([
        ...[1, 2, 3].map((number) => read(world, random.fork(100 + number))),
        readTail(world, random.fork(200)),
      ]);
      // Awaited below, when the world is over.
      readers.catch(() => {});
      isStormy = true;
      await Promise.all([0, 1, 2].map(async (writer) => {
        const own = random.fork(10 + writer);
        for (let step = 0; step < STEPS; step++) await write(world, own, `${writer}-${step}`);
      }));
      isStormy = false;
      const lines = [0, 1, 0, 1, 0].map((stream, n) => lineOf(IMPORTED + stream, { n }));
      const { imports } = nodes.b.service;
      assert.ok((await imports.run(nodes.tenants.test, importRequest(fileOf(lines)))).ok);
      await erase({ service: nodes.a.service, tenants: nodes.tenants }, ERASED);
      world.isOver = true;
      // Whoever waits is woken by these.
      for (let stream = 0; stream < STREAMS; stream++) await writeLast(world, stream);
      await inTime(readers);
      await judge(world);
    } finally {
      clearInterval(clock);
    }
  });
}

async function judge(
  { nodes: { a, tenants }, acknowledged, sent, lives, tail }: World,
): Promise<void> {
  const all: FeedEntry[] = [];
  for (let from = "start";;) {
    const page = valueOf(await a.service.feed.readPage(tenants.test, { from, limit: 1_000 }));
    all.push(...page.entries);
    from = page.next;
    if (page.isUpToDate) break;
  }
  // Nothing has come in behind a cursor, and nothing was left out or told twice.
  const names = all.map(({ cursor, key, id }) => `${cursor} ${key} ${id}`);
  assert.deepEqual(names, names.toSorted());
  for (const life of lives) {
    const got = life.map(({ cursor, key, id }) => `${cursor} ${key} ${id}`);
    assert.deepEqual(got, names.slice(0, got.length));
  }
  const streams = Map.groupBy(all, ({ key }) => String(key));
  for (const number of [...Array(STREAMS).keys(), IMPORTED, IMPORTED + 1]) {
    const stored = await eventsOf(a.service, tenants.test, uuid(number));
    const told = streams.get(`order:${uuid(number)}`) ?? [];
    const shown = told.map(({ id, raw, hash }) => `${id} ${hash} ${raw}`);
    assert.deepEqual(shown, stored.map(({ id, raw, hash }) => `${id} ${hash} ${raw}`));
  }
  assert.equal([...streams.values()].flat().length, all.length);
  assert.deepEqual(tail, streams.get(`order:${uuid(TAILED)}`)?.map(({ id }) => id));
  const texts = all.map(({ raw }) => JSON.parse(raw).data?.text as string | undefined);
  const places = new Map<string, number>();
  for (const [place, text] of texts.entries()) {
    if (text === undefined) continue;
    assert.ok(sent.has(text) && !places.has(text), `${text} is in the feed once`);
    places.set(text, place);
  }
  const isErased = (place: number) => all[place]?.key === ERASED;
  for (const write of acknowledged) {
    const known = write.findIndex((text) => places.has(text));
    // A write to the erased stream alone has only markers left.
    if (known === -1) continue;
    const begin = places.get(write[known]!)! - known;
    for (const [at, text] of write.entries()) {
      assert.ok(texts[begin + at] === text || isErased(begin + at), `${text} has its place`);
    }
  }
}

for (const [name, open] of Object.entries(STORES)) {
  const title = `in ${count} worlds, from seed ${first} on, readers get each event once: ${name}`;
  Deno.test(title, async () => {
    for (let seed = first; seed < first + count; seed++) {
      await runWorld(open, seed).catch((error) => {
        console.log(`repeat with: FEED_FIRST=${seed} FEED_SEEDS=1, ${name}`);
        throw error;
      });
    }
  });
}
