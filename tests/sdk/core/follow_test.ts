/**
 * What an iterator does when connections end, fall silent or are held back on the way, over a
 * network that is a script and pauses that take no time.
 */

import assert from "node:assert/strict";
import { createClient, DaybookError } from "@daybook/client";
import type { Shop } from "../shop_server.ts";
import {
  answers,
  hangs,
  refuses,
  type ScriptedWorld,
  scriptedWorld,
  type Turn,
} from "./scripted_world.ts";

const encoder = new TextEncoder();

/** The frame of an entry whose cursor is `c<n>`. */
function entry(n: number): string {
  return `event: event\nid: c${n}\ndata: {"cursor":"c${n}","id":"${n}","event":{"type":"was_viewed"}}\n\n`;
}

function caughtUp(n: number): string {
  return `event: caught_up\nid: c${n}\ndata: {"cursor":"c${n}"}\n\n`;
}

type Ending = "close" | "break" | "stay";

/** A live answer: texts, each a chunk of its own, and how it ends. */
function streams(texts: readonly string[], ending: Ending = "close"): Turn {
  return ({ signal }) => {
    const rest = [...texts];
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        signal.addEventListener("abort", () => controller.error(signal.reason));
      },
      pull(controller) {
        const text = rest.shift();
        if (text !== undefined) return controller.enqueue(encoder.encode(text));
        if (ending === "close") controller.close();
        if (ending === "break") controller.error(new TypeError("connection reset"));
        return ending === "stay" ? new Promise(() => {}) : undefined;
      },
    }, { highWaterMark: 0 });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
}

function page(entries: readonly number[], next: string, upToDate = true): Turn {
  return answers(200, {
    ok: true,
    data: entries.map((n) => ({ cursor: `c${n}`, id: `${n}`, event: { type: "was_viewed" } })),
    next,
    up_to_date: upToDate,
  });
}

function shopOf(world: ScriptedWorld) {
  return createClient<Shop>({ url: "http://shop.test", key: "k", world });
}

/** The parameters of each request that was sent. */
function asked(world: ScriptedWorld): string[] {
  return world.sent.map(({ url }) => new URL(url).search);
}

/** The first `count` items. */
async function take<Item>(items: AsyncIterable<Item>, count: number): Promise<Item[]> {
  const taken: Item[] = [];
  for await (const item of items) {
    taken.push(item);
    if (taken.length === count) break;
  }
  return taken;
}

for (const ending of ["close", "break"] as const) {
  Deno.test(`a connection that ends (${ending}) is opened again behind the last item given`, async () => {
    const world = scriptedWorld([
      streams([entry(1) + entry(2), caughtUp(3)], ending),
      streams([entry(4)], ending),
      streams([entry(5)], ending),
    ]);
    const items = await take(shopOf(world).$feed({ types: ["order"] }), 4);
    assert.deepEqual(items.map(({ cursor }) => cursor), ["c1", "c2", "c4", "c5"]);
    assert.deepEqual(asked(world), [
      "?types=order&live=sse",
      "?types=order&from=c3&live=sse",
      "?types=order&from=c4&live=sse",
    ]);
  });
}

Deno.test("notices are given to those who ask for them, each at its place", async () => {
  const erased = 'event: erased\nid: c2\ndata: {"key":"order:A","cursor":"c2"}\n\n';
  const world = scriptedWorld([streams([entry(1) + erased + entry(3), caughtUp(3)], "stay")]);
  const items = await take(shopOf(world).$feed({ notices: true }), 4);
  assert.deepEqual(items.map(({ type, cursor }) => [type, cursor]), [
    ["event", "c1"],
    ["erased", "c2"],
    ["event", "c3"],
    ["caught_up", "c3"],
  ]);
});

Deno.test("a frame that is cut off is not given, and asked for again", async () => {
  const world = scriptedWorld([
    streams([entry(1), entry(2).slice(0, -2)], "break"),
    streams([entry(2)], "stay"),
  ]);
  const items = await take(shopOf(world).$feed(), 2);
  assert.deepEqual(items.map(({ cursor }) => cursor), ["c1", "c2"]);
  assert.deepEqual(asked(world), ["?live=sse", "?from=c1&live=sse"]);
});

Deno.test("nothing is read before it is asked for", async () => {
  const world = scriptedWorld([streams([entry(1), entry(2)], "stay")]);
  const feed = shopOf(world).$feed();
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(world.sent.length, 0);
  assert.equal((await feed.next()).value!.cursor, "c1");
  await feed.return!();
});

Deno.test("return() aborts the request, even while the iterator waits", async () => {
  // Timers of this world never end.
  const script = scriptedWorld([streams([entry(1)], "stay")]);
  const db = createClient<Shop>({
    url: "http://shop.test",
    world: { ...script, after: () => () => {} },
  });
  const feed = db.$feed();
  await feed.next();
  const waiting = feed.next();
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(script.sent[0]!.signal.aborted, false);
  assert.deepEqual(await feed.return!(), { done: true, value: undefined });
  assert.deepEqual(await waiting, { done: true, value: undefined });
  assert.equal(script.sent[0]!.signal.aborted, true);
  assert.deepEqual(await feed.next(), { done: true, value: undefined });
});

Deno.test("leaving the loop ends the connection, and so does an error of the consumer", async () => {
  for (const isThrown of [false, true]) {
    const world = scriptedWorld([streams([entry(1), entry(2)], "stay")]);
    try {
      for await (const _ of shopOf(world).$feed()) {
        if (isThrown) throw new Error("mine");
        break;
      }
    } catch (error) {
      assert.equal((error as Error).message, "mine");
    }
    assert.equal(world.sent[0]!.signal.aborted, true);
  }
});

Deno.test("a signal ends the iterator with its reason, waiting or between two items", async () => {
  for (const turn of [streams([entry(1)], "stay"), streams([entry(1) + entry(2)], "stay")]) {
    const script = scriptedWorld([turn]);
    const controller = new AbortController();
    const db = createClient<Shop>({
      url: "http://shop.test",
      world: { ...script, after: () => () => {} },
    });
    const feed = db.$feed({ signal: controller.signal });
    await feed.next();
    const next = feed.next();
    controller.abort("enough");
    // The item that was there already may still be given, and then the end.
    const ended = await next.then(() => feed.next()).catch((error) => error);
    assert.ok(ended instanceof DaybookError);
    assert.equal(ended.refusal.error_type, "aborted");
    assert.equal(ended.cause, "enough");
    assert.equal(script.sent[0]!.signal.aborted, true);
  }
});

Deno.test("a refusal that lasts is thrown: an unknown key, a cursor from beyond a restore", async () => {
  for (const [status, error_type] of [[401, "unauthorized"], [410, "cursor_expired"]] as const) {
    const world = scriptedWorld([
      streams([entry(1)]),
      answers(status, { ok: false, error: "x", error_type, newest: "c0" }),
    ]);
    const feed = shopOf(world).$feed();
    await feed.next();
    const error = await feed.next().catch((error) => error);
    assert.ok(error instanceof DaybookError);
    assert.equal(error.refusal.error_type, error_type);
    if (error.refusal.error_type === "cursor_expired") assert.equal(error.refusal.newest, "c0");
    assert.equal(world.sent.length, 2);
  }
});

Deno.test("a server that is down from the beginning is told after the tries of any call", async () => {
  const world = scriptedWorld([refuses()]);
  const error = await shopOf(world).$feed({ retries: 2 }).next().catch((error) => error);
  assert.ok(error instanceof DaybookError);
  assert.equal(error.refusal.error_type, "unreachable");
  assert.equal(world.sent.length, 3);
});

Deno.test("a server that goes down later is waited for, however long", async () => {
  const away = Array.from({ length: 40 }, (_, n) =>
    n % 2 === 0 ? refuses() : answers(503, {
      ok: false,
      error: "The server is stopping; try again",
      error_type: "unavailable",
    }));
  const world = scriptedWorld([streams([entry(1)]), ...away, streams([entry(2)])]);
  const items = await take(shopOf(world).$feed({ retries: 2 }), 2);
  assert.deepEqual(items.map(({ cursor }) => cursor), ["c1", "c2"]);
  assert.equal(world.sent.length, 42);
});

Deno.test("a stream that is held back is replaced by long polls, and tried again after a while", async () => {
  const world = scriptedWorld([
    // Nothing comes, as from a proxy that keeps the answer until it is whole.
    streams([], "stay"),
    page([1, 2], "c3", false),
    page([4], "c5"),
    page([], "c6"),
    streams([entry(7)], "stay"),
  ]);
  // Each long poll takes its 20 seconds, until the five minutes are over.
  let polls = 0;
  const db = createClient<Shop>({
    url: "http://shop.test",
    world: { ...world, now: () => polls < 3 ? 0 : 300_000 },
    fetch(url, init) {
      if (url.includes("long-poll")) polls++;
      return world.fetch(url, init);
    },
  });
  const items = await take(db.$feed({ notices: true }), 5);
  assert.deepEqual(items.map(({ type, cursor }) => [type, cursor]), [
    ["event", "c1"],
    ["event", "c2"],
    ["event", "c4"],
    ["caught_up", "c5"],
    ["event", "c7"],
  ]);
  assert.deepEqual(asked(world), [
    "?live=sse",
    "?live=long-poll&wait=20",
    "?from=c3&live=long-poll&wait=20",
    "?from=c5&live=long-poll&wait=20",
    "?from=c6&live=sse",
  ]);
  // The silence was noticed after 20 seconds.
  assert.ok(world.pausesMs.includes(20_000));
});

Deno.test("silence after a while means a dead connection: it goes on behind the last item", async () => {
  const world = scriptedWorld([streams([entry(1)], "stay"), page([2], "c2"), hangs()]);
  const items = await take(shopOf(world).$feed(), 2);
  assert.deepEqual(items.map(({ cursor }) => cursor), ["c1", "c2"]);
  assert.deepEqual(asked(world).slice(0, 2), ["?live=sse", "?from=c1&live=long-poll&wait=20"]);
});

Deno.test("connections that end without a word are no streams: long polls take over", async () => {
  const world = scriptedWorld([streams([]), streams([]), page([1], "c1")]);
  const [item] = await take(shopOf(world).$feed(), 1);
  assert.equal(item!.cursor, "c1");
  assert.deepEqual(asked(world), ["?live=sse", "?live=sse", "?live=long-poll&wait=20"]);
});

Deno.test("an answer of which not even the head comes is held back, too", async () => {
  const world = scriptedWorld([hangs(), page([1], "c1")]);
  await take(shopOf(world).$feed(), 1);
  assert.deepEqual(asked(world), ["?live=sse", "?live=long-poll&wait=20"]);
  assert.equal(world.sent[0]!.signal.aborted, true);
});

Deno.test("with live: sse there are streams alone, with long-poll there are polls alone", async () => {
  const streamed = scriptedWorld([streams([], "stay"), streams([], "stay"), streams([entry(1)])]);
  await take(shopOf(streamed).$feed({ live: "sse" }), 1);
  assert.deepEqual(asked(streamed), ["?live=sse", "?live=sse", "?live=sse"]);
  const polled = scriptedWorld([page([1], "c1"), page([], "c2"), page([3], "c3")]);
  await take(shopOf(polled).$feed({ live: "long-poll" }), 2);
  assert.deepEqual(asked(polled).map((query) => /live=([a-z-]+)/.exec(query)?.[1]), [
    "long-poll",
    "long-poll",
    "long-poll",
  ]);
});

Deno.test("`now` is the moment of the first answer, also if what follows is lost", async () => {
  const world = scriptedWorld([
    refuses(),
    page([], "c9"),
    refuses(),
    streams([]),
    streams([entry(10)], "stay"),
  ]);
  await take(shopOf(world).$feed({ from: "now", types: ["order"] }), 1);
  assert.deepEqual(asked(world), [
    "?from=now",
    "?from=now",
    "?types=order&from=c9&live=sse",
    "?types=order&from=c9&live=sse",
    "?types=order&from=c9&live=sse",
  ]);
});

Deno.test("an erasure of a polled page is given at its place", async () => {
  const body = {
    ok: true,
    data: [{ cursor: "c1", id: "1" }, { cursor: "c3", id: "3" }],
    erased: [{ key: "order:A", cursor: "c2" }, { key: "order:B", cursor: "c4" }],
    next: "c5",
    up_to_date: true,
  };
  const world = scriptedWorld([answers(200, body)]);
  const items = await take(shopOf(world).$feed({ live: "long-poll", notices: true }), 5);
  assert.deepEqual(items.map(({ cursor }) => cursor), ["c1", "c2", "c3", "c4", "c5"]);
});

Deno.test("of several states that came meanwhile only the newest is given", async () => {
  const state = (length: number) =>
    `event: state\nid: ${length}\ndata: {"ok":true,"data":{"n":${length}},"metadata":{"length":${length}}}\n\n`;
  const world = scriptedWorld([
    streams([state(1), state(2) + state(3)]),
    answers(204, undefined),
    streams([state(4)], "stay"),
  ]);
  const db = shopOf(world);
  const items = await take(db.order("main").live(), 2);
  assert.deepEqual(items.map(({ metadata }) => metadata.length), [1, 3]);
});

Deno.test("a live state goes on behind its length; a poll without news is asked again", async () => {
  const body = (length: number) => ({ ok: true, data: {}, metadata: { length } });
  const world = scriptedWorld([
    answers(200, body(3)),
    answers(204, undefined),
    answers(200, body(5)),
  ]);
  const live = shopOf(world).order("main").live({ live: "long-poll", after_length: 2 });
  const items = await take(live, 2);
  assert.deepEqual(items.map(({ metadata }) => metadata.length), [3, 5]);
  assert.deepEqual(asked(world), [
    "?after_length=2&live=long-poll&wait=20",
    "?after_length=3&live=long-poll&wait=20",
    "?after_length=3&live=long-poll&wait=20",
  ]);
});

Deno.test("a tail goes on behind the last event, streamed or polled", async () => {
  const event = (n: number) => `event: event\nid: ${n}\ndata: {"id":"${n}","event":{}}\n\n`;
  const streamed = scriptedWorld([
    streams([event(1) + 'event: caught_up\ndata: {"next_start":"1"}\n\n']),
    streams([event(2), 'event: erased\ndata: {"key":"order:main"}\n\n'], "stay"),
  ]);
  const tail = shopOf(streamed).order("main").tail({ start: "0", notices: true });
  const items = await take(tail, 4);
  assert.deepEqual(items.map(({ type }) => type), ["event", "caught_up", "event", "erased"]);
  assert.deepEqual(asked(streamed), ["?start=0&live=sse", "?start=1&live=sse"]);

  const entries = (...ids: string[]) => ({ ok: true, data: ids.map((id) => ({ id, event: {} })) });
  const polled = scriptedWorld([
    answers(200, { ...entries("1", "2"), truncated: true, next_start: "2" }),
    answers(200, { ...entries(), truncated: false }),
    answers(200, { ...entries("3"), truncated: false }),
  ]);
  const polls = await take(
    shopOf(polled).order("main").tail({ live: "long-poll", notices: true }),
    4,
  );
  assert.deepEqual(polls.map(({ type }) => type), ["event", "event", "caught_up", "event"]);
  assert.deepEqual(asked(polled), [
    "?live=long-poll&wait=20",
    "?start=2&live=long-poll&wait=20",
    "?start=2&live=long-poll&wait=20",
  ]);
});
