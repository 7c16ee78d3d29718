/**
 * The feed of real servers, read over sockets that break at any byte, while the servers are killed
 * with `kill -9` and spec, streams and events change. At the end each connection has had what the
 * feed has between its first cursor and its last, and the feed has what the streams have.
 */

import assert from "node:assert/strict";
import type { JsonObject } from "../../src/domain/json.ts";
import { type Frame, sseFrame } from "../http/feed/feed_server.ts";
import { exampleSpec } from "../support/example_spec.ts";
import { type ServerProcess, startServer } from "../support/server_process.ts";
import { uuid } from "../support/service_fixture.ts";
import { createRandom, type Random } from "./random.ts";

const WRITERS = 3;
const READERS = 4;
const STREAMS = 6;
const WRITES_PER_ROUND = 25;
const PATIENCE_MS = 60_000;
const METADATA = { actor: { type: "user", id: "global" } };

/** An event as the feed shows it, without its content: an erasure may come before or after. */
interface Seen {
  readonly cursor: string;
  /** `order:<id>/<id of the event>`. */
  readonly name: string;
}

/** What one connection brought. */
interface Connection {
  /** The cursor with which it began; empty for the start. */
  readonly from: string;
  readonly seen: Seen[];
  isCaughtUp: boolean;
}

export interface FeedCrashes {
  readonly seed: number;
  /** A server is killed at the end of each. */
  readonly rounds: number;
  /** Servers of one deployment: clients write to all, and readers go from one to another. */
  readonly nodes: number;
  readonly env?: Readonly<Record<string, string>>;
}

interface World {
  readonly servers: ServerProcess[];
  readonly connections: Connection[];
  /** The texts of each acknowledged write, in its order. */
  readonly acknowledged: string[][];
  written: number;
  /** Who writes has to stop. */
  isRoundOver: boolean;
  /** Nothing is written any more. */
  isOver: boolean;
  hasEnded: boolean;
}

async function send(
  server: ServerProcess,
  path: string,
  body?: unknown,
  credential: "key" | "operator" = "key",
): Promise<JsonObject> {
  const { keys, operator_token } = server.credentials;
  const token = credential === "operator" ? operator_token : keys.test.write;
  const reply = await fetch(`${server.baseUrls.test}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": typeof body === "string" ? "application/x-ndjson" : "application/json",
    },
    body: typeof body === "string" ? body : body === undefined ? null : JSON.stringify(body),
  });
  const answer = await reply.json();
  assert.ok(reply.status < 300 || reply.status >= 500, JSON.stringify(answer));
  if (!reply.ok) throw new Error(answer.error);
  return answer;
}

function note(text: string) {
  return { type: "was_noted", data: { text } };
}

/** Writes until the round is over or the server is gone, to one stream or to two at once. */
async function writeUntilKilled(
  world: World,
  server: ServerProcess,
  random: Random,
  name: string,
): Promise<void> {
  for (let number = 0; !world.isRoundOver; number++) {
    const texts = [0, 1, 2].slice(0, 1 + random.below(3)).map((at) => `${name}.${number}.${at}`);
    const [first, second] = [random.below(STREAMS), random.below(STREAMS - 1)];
    const other = second >= first ? second + 1 : second;
    const isAtomic = texts.length > 1 && random.chance(0.5);
    const target = (stream: number, own: readonly string[]) => ({
      aggregate_type: "order",
      id: uuid(stream),
      events: own.map(note),
    });
    const [path, body] = isAtomic
      ? ["/_atomic-write", {
        targets: [target(first, texts.slice(0, 1)), target(other, texts.slice(1))],
      }]
      : [`/order/${uuid(first)}`, { events: texts.map(note) }];
    try {
      await send(server, path, { ...body, metadata: METADATA });
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return;
    }
    world.acknowledged.push(texts);
    world.written++;
  }
}

/** Connects again and again, from the last cursor or an earlier one, until all is read. */
async function follow(world: World, random: Random): Promise<void> {
  let kept = [""];
  while (!world.hasEnded) {
    const from = random.chance(0.2) ? kept[random.below(kept.length)]! : kept.at(-1)!;
    const connection: Connection = { from, seen: [], isCaughtUp: false };
    world.connections.push(connection);
    const bytesMax = world.isOver ? Infinity : random.below(6_000);
    const isSlow = !world.isOver && random.chance(0.2);
    const wasOver = world.isOver;
    await readConnection(world, random.pick(world.servers), connection, { bytesMax, isSlow });
    kept = [...kept, ...connection.seen.map(({ cursor }) => cursor)].filter((cursor, at, all) =>
      cursor > (all[at - 1] ?? "") || at === 0
    );
    if (wasOver && connection.isCaughtUp) return;
    await new Promise((resolve) => setTimeout(resolve, random.below(20)));
  }
}

async function readConnection(
  { isOver }: World,
  server: ServerProcess,
  connection: Connection,
  { bytesMax, isSlow }: { readonly bytesMax: number; readonly isSlow: boolean },
): Promise<void> {
  const cut = new AbortController();
  try {
    const headers = {
      authorization: `Bearer ${server.credentials.keys.test.read}`,
      ...(connection.from !== "" && { "last-event-id": connection.from }),
    };
    const url = `${server.baseUrls.test}/_feed?live=sse`;
    const reply = await fetch(url, { headers, signal: cut.signal });
    assert.ok(reply.status === 200 || reply.status >= 500, `${reply.status}`);
    let [text, left] = ["", bytesMax];
    for await (const bytes of reply.body!) {
      text += new TextDecoder().decode(bytes.subarray(0, left));
      left -= bytes.length;
      const frames = text.split("\n\n");
      text = frames.pop()!;
      for (const frame of frames) takeFrame(connection, sseFrame(frame));
      if (left <= 0 || (isOver && connection.isCaughtUp)) break;
      if (isSlow) await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error;
    // The connection broke, as it should.
  } finally {
    cut.abort();
  }
}

function takeFrame(connection: Connection, frame: Frame): void {
  if (frame.type === "caught_up") connection.isCaughtUp = true;
  if (frame.type !== "event") return;
  const { id, event: { key } } = frame.data;
  connection.seen.push({ cursor: frame.id!, name: `${key}/${id}` });
}

/** Something that changes more than a write does. */
async function disturb(server: ServerProcess, round: number): Promise<void> {
  const { instance_id } = server.credentials;
  if (round % 3 === 0) {
    const spec = { ...exampleSpec, title: `Shop ${round}` };
    await send(
      server,
      `/api/instances/${instance_id}/spec`,
      { environment: "test", spec },
      "operator",
    );
  } else if (round % 3 === 1) {
    const key = `order:${uuid(round % STREAMS)}`;
    const request = { key, reason: "asked for", environment: "test", grace_hours: 0 };
    await send(server, "/_admin/tombstones", request, "operator").catch((error) => {
      // That of an earlier round may still be to come.
      if (!/is to be erased already/.test(error.message)) throw error;
    });
  } else {
    const line = (number: number) => {
      const metadata = { ...METADATA, timestamp: 1_700_000_000 };
      return JSON.stringify({ key: `order:${uuid(100 + number % 2)}`, ...note("old"), metadata });
    };
    const lines = [0, 1, 2, 3].map(line).join("\n");
    const path =
      `/_admin/import_jsonl?import_id=round${round}&environment=test&instance_id=${instance_id}`;
    await send(server, path, `${lines}\n`, "operator");
  }
}

async function judge({ servers, connections, acknowledged }: World): Promise<number> {
  const server = servers[0]!;
  const all: { cursor: string; key: string; name: string; text?: string }[] = [];
  for (let from = "start";;) {
    const page = await send(server, `/_feed?limit=1000&from=${from}`);
    // deno-lint-ignore no-explicit-any -- the judge reads what clients read
    for (const { cursor, id, event } of page.data as any[]) {
      all.push({ cursor, key: event.key, name: `${event.key}/${id}`, text: event.data?.text });
    }
    from = page.next as string;
    if (page.up_to_date === true) break;
  }
  for (const { from, seen } of connections) {
    const to = seen.at(-1)?.cursor ?? "";
    const wanted = all.filter(({ cursor }) => cursor > from && cursor <= to);
    assert.deepEqual(seen, wanted.map(({ cursor, name }) => ({ cursor, name })));
  }
  const streams = Map.groupBy(all, ({ key }) => key);
  for (const [key, events] of streams) {
    const { data } = await send(server, `/${key.replace(":", "/")}/events?count=5000`);
    const stored = (data as { id: string }[]).map(({ id }) => `${key}/${id}`);
    assert.deepEqual(events.map(({ name }) => name), stored);
  }
  const { data: ids } = await send(server, "/order?limit=200");
  assert.equal((ids as unknown[]).length, streams.size);
  const places = new Map(all.map(({ text }, place) => [text, place]));
  for (const texts of acknowledged) {
    const known = texts.findIndex((text) => places.has(text));
    if (known === -1) continue;
    const begin = places.get(texts[known])! - known;
    for (const [at, text] of texts.entries()) {
      const found = all[begin + at]!.text;
      // Markers have no text.
      assert.ok(found === text || found === undefined, `${text} has its place`);
    }
  }
  return all.length;
}

/** Writes to all servers and changes something else, until the victim is killed. */
async function runRound(
  world: World,
  random: Random,
  round: number,
  victim: number,
): Promise<void> {
  const { servers } = world;
  const enough = world.written + WRITES_PER_ROUND;
  world.isRoundOver = false;
  const writing = Array.from({ length: WRITERS }, (_, number) => {
    const server = servers[number % servers.length]!;
    return writeUntilKilled(world, server, random.fork(100 * round + number), `${round}.${number}`);
  });
  await disturb(random.pick(servers), round);
  const untilMs = performance.now() + PATIENCE_MS;
  while (world.written < enough) {
    assert.ok(performance.now() < untilMs, "the servers take writes");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await servers[victim]!.kill();
  world.isRoundOver = true;
  await Promise.all(writing);
}

/** Runs the rounds and judges what came. */
export async function runFeedCrashes({ seed, rounds, nodes, env }: FeedCrashes): Promise<void> {
  const random = createRandom(seed);
  const dataDir = await Deno.makeTempDir({ prefix: "daybook_feed_" });
  const servers: ServerProcess[] = [];
  const world: World = {
    servers,
    connections: [],
    acknowledged: [],
    written: 0,
    isRoundOver: false,
    isOver: false,
    hasEnded: false,
  };
  let readers: Promise<void>[] = [];
  try {
    while (servers.length < nodes) servers.push(await startServer({ dataDir, env }));
    const [first] = servers;
    const spec = { environment: "test", spec: exampleSpec };
    const path = `/api/instances/${first!.credentials.instance_id}/spec`;
    await send(first!, path, spec, "operator");
    readers = Array.from({ length: READERS }, (_, number) => follow(world, random.fork(number)));
    for (let round = 0; round < rounds; round++) {
      const victim = round % nodes;
      await runRound(world, random, round, victim);
      servers[victim] = await startServer({ dataDir, env });
    }
    world.isOver = true;
    await Promise.all(readers);
    const events = await judge(world);
    const got = world.connections.reduce((sum, { seen }) => sum + seen.length, 0);
    console.log(`${events} events, ${world.connections.length} connections brought ${got}`);
    assert.ok(events > rounds * WRITES_PER_ROUND && got >= READERS * events);
  } finally {
    world.hasEnded = true;
    for (const server of servers) await server.remove();
    await Promise.allSettled(readers);
    await Deno.remove(dataDir, { recursive: true });
  }
}
