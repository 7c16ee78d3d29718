/** Live answers of the feed, over sockets and by a test clock. See docs/reference/feed.md. */

import assert from "node:assert/strict";
import { createApp } from "../../../src/http/app.ts";
import { limits } from "../../../src/domain/limits.ts";
import type { Tier } from "../../../src/domain/access/access.ts";
import { RATES_PER_MINUTE } from "../../../src/domain/limits/plan.ts";
import { openDrain } from "../../../src/http/middleware/load_gate.ts";
import { LIVE_ANSWER_BYTES, liveCount, liveRoom } from "../../../src/http/feed/live_count.ts";
import { endFill, setFill } from "../../../src/store/feed/fill.ts";
import { makeKey } from "../../support/access_fixtures.ts";
import { erase } from "../../support/erasure_fixtures.ts";
import {
  ACTOR,
  noteWrite,
  orderWrite,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { type FeedServer, type Frame, readFrames, withFeedServer } from "./feed_server.ts";

const NDJSON = { accept: "application/x-ndjson" };

async function live(world: FeedServer, query: string, headers?: Record<string, string>) {
  const response = await world.get(`?live=sse${query}`, { headers });
  assert.equal(response.status, 200);
  return readFrames(response);
}

function textOf({ data }: Frame): string {
  return data.event.data.text;
}

Deno.test("live=sse sends what is there, then caught_up, then what comes and caught_up again", () =>
  withFeedServer(async (world) => {
    await world.note("a", "b");
    const response = await world.get("?live=sse");
    const { headers } = response;
    assert.equal(headers.get("content-type"), "text/event-stream");
    assert.equal(headers.get("cache-control"), "no-store");
    assert.equal(headers.get("x-accel-buffering"), "no");
    assert.equal(headers.get("content-encoding"), null);
    const frames = readFrames(response);
    const page = await (await world.get("")).json();
    const [a, b, caughtUp] = await frames.take(3);
    assert.deepEqual([a, b].map((frame) => [frame!.type, frame!.id, frame!.data]), [
      ["event", page.data[0].cursor, page.data[0]],
      ["event", page.data[1].cursor, page.data[1]],
    ]);
    assert.deepEqual(caughtUp, {
      type: "caught_up",
      id: page.next,
      data: { cursor: page.next },
    });
    for (const text of ["c", "d"]) {
      await world.note(text);
      const [event, again] = await frames.take(2);
      assert.equal(textOf(event!), text);
      assert.deepEqual([again!.type, again!.id], ["caught_up", event!.id]);
    }
    await frames.cancel();
    await untilNobody(world);
  }));

Deno.test("with Accept: application/x-ndjson the same comes as lines", () =>
  withFeedServer(async (world) => {
    await world.note("a");
    const response = await world.get("?live=sse&raw=true", { headers: NDJSON });
    assert.equal(response.headers.get("content-type"), "application/x-ndjson");
    const frames = readFrames(response);
    const page = await (await world.get("?raw=true")).json();
    assert.deepEqual(await frames.take(2), [
      { type: "event", data: page.data[0] },
      { type: "caught_up", data: { cursor: page.next } },
    ]);
    await world.note("b");
    assert.deepEqual((await frames.take(2)).map(({ type }) => type), ["event", "caught_up"]);
    await frames.cancel();
    await untilNobody(world);
  }));

Deno.test("lines are sent to those who take them, in any case, and not at a weight of zero", () =>
  withFeedServer(async (world) => {
    const forms = {
      "text/plain, Application/X-NDJSON;q=0.1": "application/x-ndjson",
      "application/x-ndjson;q=0, text/event-stream": "text/event-stream",
      "application/x-ndjson; q=0.00": "text/event-stream",
      "application/x-ndjson-seq": "text/event-stream",
      [`application/x-ndjson${",a/b".repeat(251)}`]: "application/x-ndjson",
      [`application/x-ndjson${",a/b".repeat(252)}`]: "text/event-stream",
    };
    for (const [accept, form] of Object.entries(forms)) {
      const response = await world.get("?live=sse", { headers: { accept } });
      assert.equal(response.headers.get("content-type"), form, accept);
      await response.body!.cancel();
    }
    await untilNobody(world);
  }));

Deno.test("Last-Event-ID wins over from, and each cursor of a frame is one to go on from", () =>
  withFeedServer(async (world) => {
    await world.note("a", "b", "c");
    const first = await live(world, "");
    const frames = await first.take(4);
    await first.cancel();
    for (const [number, { id }] of frames.entries()) {
      const again = await live(world, "&from=start", { "last-event-id": id! });
      const left = await again.take(4 - Math.min(number + 1, 3));
      assert.deepEqual(left.slice(0, -1).map(textOf), ["a", "b", "c"].slice(number + 1));
      assert.equal(left.at(-1)!.type, "caught_up");
      await again.cancel();
    }
    const now = await live(world, "&from=now");
    const [caughtUp] = await now.take(1);
    assert.deepEqual([caughtUp!.type, caughtUp!.data.cursor >= frames[2]!.id!], [
      "caught_up",
      true,
    ]);
    await world.note("d");
    assert.equal(textOf((await now.take(1))[0]!), "d");
    await now.cancel();
    await untilNobody(world);
  }));

Deno.test("a bad Last-Event-ID is refused under its own name, of the feed, of a tail and of a state", () =>
  withFeedServer(async (world) => {
    await world.note("a");
    const order = `/order/${uuid(1)}`;
    const headers = { "last-event-id": "nowhere" };
    for (const path of ["/_feed?live=sse", `${order}/events?live=sse`, `${order}?live=sse`]) {
      const refused = await world.read(path, { headers });
      const { error, path: place } = await refused.json();
      assert.deepEqual([refused.status, place], [400, "Last-Event-ID"], path);
      assert.match(error, /^Last-Event-ID must be /, path);
    }
    const misspelt = await world.read("/_feed?live=sse&types=nothing", { headers });
    assert.equal((await misspelt.json()).path, "types", "what is wrong beside it keeps its name");
  }));

Deno.test("types choose what a live answer sends", () =>
  withFeedServer(async (world) => {
    const frames = await live(world, "&types=order.was_placed");
    assert.equal((await frames.take(1))[0]!.type, "caught_up");
    await world.note("a");
    const write = noteWrite(uuid(9), "");
    const events = [{ type: "was_placed", data: { customer: "Ada" } }];
    const targets = [{ ...write.targets[0]!, events }];
    valueOf(await world.service.data.writeEvents(world.tenants.test, { ...write, targets }));
    const [event] = await frames.take(1);
    assert.equal(event!.data.event.type, "was_placed");
    await frames.cancel();
    await untilNobody(world);
  }));

Deno.test("an erasure has a frame at its place, live and for who comes later", () =>
  withFeedServer(async (world) => {
    await world.note("a", "bb");
    const frames = await live(world, "");
    await frames.take(3);
    const key = `order:${uuid(1)}`;
    await erase(world, key);
    const [erased, caughtUp] = await frames.take(2);
    assert.deepEqual([erased!.type, erased!.data], ["erased", { key, cursor: erased!.id }]);
    assert.equal(caughtUp!.type, "caught_up");
    await world.note("ccc");
    await frames.take(1);
    await frames.cancel();
    for (const headers of [{}, NDJSON]) {
      const later = await live(world, "", headers);
      const types = (await later.take(5)).map(({ type, data }) => data.event?.type ?? type);
      const wanted = ["_was_tombstoned", "was_noted", "erased", "was_noted", "caught_up"];
      assert.deepEqual(types, wanted);
      await later.cancel();
    }
    await untilNobody(world);
  }));

Deno.test("a history of several pages comes whole, and caught_up once", () =>
  withFeedServer(async (world) => {
    const texts = Array.from({ length: 250 }, (_, number) => "x".repeat(1 + number % 20));
    await world.note(...texts);
    const frames = await live(world, "");
    const got = await frames.take(251);
    assert.deepEqual(got.slice(0, -1).map(textOf), texts);
    assert.equal(got.at(-1)!.type, "caught_up");
    await frames.cancel();
    await untilNobody(world);
  }));

Deno.test("a stop of the server ends live answers at once, behind a whole frame", () =>
  withFeedServer(async (world) => {
    await world.note("a");
    const all = [await live(world, ""), await live(world, "", NDJSON)];
    for (const frames of all) await frames.take(2);
    const beganAt = performance.now();
    const stopped = world.server.stop(10_000);
    for (const frames of all) assert.deepEqual(await frames.rest(), []);
    await stopped;
    assert.ok(performance.now() - beganAt < 3_000);
  }));

Deno.test("at a stop a client that takes what is left gets the end of its answer, within two seconds", () =>
  withService(async ({ service, engine, host, tenants: { test } }) => {
    const { key } = await makeKey(engine, host, test, "read");
    const environment = { kind: "listener", environment: "test" } as const;
    const clientAddress = (peer: string) => peer;
    const drain = openDrain();
    const options = { headerPrefix: "SVC", environment, clientAddress, drain };
    const app = createApp(service, host, options);
    const headers = { authorization: `Bearer ${key}` };
    async function open() {
      const request = new Request("http://127.0.0.1/_feed?live=sse", { headers });
      const reader = (await app.fetch(request)).body!.getReader();
      assert.match(new TextDecoder().decode((await reader.read()).value), /^event: caught_up/);
      return reader;
    }
    const [quick, waiting, slow] = [await open(), await open(), await open()];
    const rest = waiting.read();
    for (let turn = 0; turn < 20; turn++) await host.yieldTurn();
    await drain.stop();
    assert.deepEqual(await quick.read(), { done: true, value: undefined });
    assert.deepEqual(await rest, { done: true, value: undefined });
    host.timeMs += 2_000;
    await host.yieldTurn();
    await assert.rejects(slow.read(), /taken nothing/);
    assert.equal(service.feed.countFollowers(), 0);
  }));

Deno.test("a revoked key ends a live answer within five seconds, and says why", () =>
  withFeedServer(async (world) => {
    const { engine, host, tenants: { test } } = world;
    for (const headers of [{}, NDJSON]) {
      const { id, key } = await makeKey(engine, host, test, "read");
      const frames = readFrames(await world.get("?live=sse", { key, headers }));
      await frames.take(1);
      const beganAt = performance.now();
      await world.revoke(id);
      const rest = await frames.rest();
      assert.ok(performance.now() - beganAt < 5_000);
      assert.deepEqual(rest.map(({ type }) => type), ["refused"]);
      const { ok, error_type } = rest[0]!.data;
      assert.deepEqual([ok, error_type], [false, "unauthorized"]);
    }
    await untilNobody(world);
  }));

Deno.test("clients that leave without a word leave nobody behind", () =>
  withFeedServer(async (world) => {
    const { hostname, port } = world.server.addresses[2]!;
    const request = `GET /_feed?live=sse HTTP/1.1\r\nHost: localhost\r\n` +
      `Authorization: Bearer ${world.key}\r\n\r\n`;
    for (let round = 0; round < 20; round++) {
      const connection = await Deno.connect({ hostname, port });
      await connection.write(new TextEncoder().encode(request));
      if (round % 2 === 0) await connection.read(new Uint8Array(1_000));
      connection.close();
    }
    await world.note("a");
    await untilNobody(world);
  }));

/** A live answer of an application that lives by the test's clock. */
async function withFakeClock(
  body: (given: {
    readonly isOpen: () => boolean;
    readonly pass: (ms: number) => Promise<void>;
    readonly seen: Frame[];
    /** Changes whether the past of the environment is still being filled in. */
    readonly setBuilding: (isBuilding: boolean) => Promise<void>;
    /** Writes so many events. */
    readonly fill: (count: number) => Promise<void>;
    /** Of the instance. */
    readonly changeTier: (tier: Tier) => Promise<void>;
    /** Reads so often that the rate limit counts as many. */
    readonly takeReads: (count: number) => Promise<void>;
  }) => Promise<void>,
  isBuilding = false,
): Promise<void> {
  await withService(async ({ service, access, engine, host, tenants: { test } }) => {
    const { key } = await makeKey(engine, host, test, "read");
    function setBuilding(isBuilding: boolean): Promise<void> {
      return engine.transact((tx) => {
        if (isBuilding) setFill(tx, test.number, { records: 0 });
        else endFill(tx, test.number);
        return Promise.resolve();
      });
    }
    await setBuilding(isBuilding);
    const environment = { kind: "listener", environment: "test" } as const;
    const clientAddress = (peer: string) => peer;
    const app = createApp(service, host, { headerPrefix: "SVC", environment, clientAddress });
    const headers = { authorization: `Bearer ${key}` };
    const request = new Request("http://127.0.0.1/_feed?live=sse", { headers });
    const frames = readFrames(await app.fetch(request, undefined));
    const seen: Frame[] = [];
    let isOpen = true;
    const all = (async () => {
      for (let frame = await frames.next(); frame !== undefined; frame = await frames.next()) {
        seen.push(frame);
      }
      isOpen = false;
    })();
    async function pass(ms: number): Promise<void> {
      for (let left = ms; left > 0; left -= 250) {
        host.timeMs += Math.min(250, left);
        for (let turn = 0; turn < 6; turn++) await host.yieldTurn();
      }
    }
    async function fill(count: number): Promise<void> {
      const events = Array.from({ length: count }, (_, n) => ({
        type: "was_noted",
        data: { text: `${n}` },
      }));
      const targets = [{ aggregateType: "order", id: uuid(1), events }];
      const write = { form: "batch", targets, metadata: { actor: ACTOR }, requestId: "1" } as const;
      valueOf(await service.data.writeEvents(test, write));
    }
    async function changeTier(tier: Tier): Promise<void> {
      valueOf(await access.changeTier(test.instanceId, tier));
    }
    async function takeReads(count: number): Promise<void> {
      for (let n = 0; n < count; n++) {
        const url = "http://127.0.0.1/_feed?from=now";
        assert.ok((await app.fetch(new Request(url, { headers }), undefined)).status < 500);
      }
    }
    await pass(1_000);
    await body({ isOpen: () => isOpen, pass, seen, setBuilding, fill, changeTier, takeReads });
    await pass(limits.liveSecondsMax * 1_000);
    await all;
    assert.equal(service.feed.countFollowers(), 0);
  });
}

Deno.test("a live answer with nothing to say says so every 15 s, and ends after five minutes", () =>
  withFakeClock(async ({ isOpen, pass, seen }) => {
    assert.deepEqual(seen.map(({ type }) => type), ["caught_up"]);
    await pass(60_000);
    assert.deepEqual(seen.slice(1).map(({ type }) => type), Array(4).fill("heartbeat"));
    await pass(limits.liveSecondsMax * 900 - 65_000);
    assert.equal(isOpen(), true);
    await pass(limits.liveSecondsMax * 100 + 5_000);
    assert.equal(isOpen(), false);
  }));

Deno.test("while the past is being filled in, a live answer only says that it is alive", () =>
  withFakeClock(async ({ pass, seen, setBuilding }) => {
    assert.deepEqual(seen, []);
    await pass(32_000);
    assert.deepEqual(seen.map(({ type }) => type), ["heartbeat", "heartbeat"]);
    await setBuilding(false);
    await pass(1_000);
    assert.deepEqual(seen.slice(2).map(({ type }) => type), ["caught_up"]);
  }, true));

Deno.test("at the rate limit a live answer pauses, and goes on when there is room again", () =>
  withFakeClock(async ({ pass, seen, fill, changeTier, takeReads }) => {
    await changeTier("free");
    const { read: perMinute } = RATES_PER_MINUTE.free;
    await takeReads(perMinute);
    await fill(1_000);
    await pass(10_000);
    // What was sent before the limit was looked at.
    const before = eventsOf(seen);
    assert.ok(before > 0 && before < 1_000, `${before} events`);
    await pass(40_000);
    assert.equal(eventsOf(seen), before);
    await pass(30_000);
    assert.equal(eventsOf(seen), 1_000);
  }));

function eventsOf(frames: readonly Frame[]): number {
  return frames.filter(({ type }) => type === "event").length;
}

Deno.test("while there is no room for what was read, a live answer does not read it again", () =>
  withService(async ({ service, engine, host, tenants: { test } }) => {
    const { key } = await makeKey(engine, host, test, "read");
    const event = { type: "was_placed", data: { customer: "a".repeat(70_000) } };
    valueOf(await service.data.writeEvents(test, orderWrite(uuid(1), [event])));
    const { feed, data } = service;
    let reads = 0;
    function counted<Given extends unknown[], T>(read: (...given: Given) => T) {
      return (...given: Given) => (reads++, read(...given));
    }
    async function pass(ms: number): Promise<void> {
      for (let left = ms; left > 0; left -= 250) {
        host.timeMs += 250;
        for (let turn = 0; turn < 6; turn++) await host.yieldTurn();
      }
    }
    const clientAddress = (peer: string) => peer;
    const environment = { kind: "listener", environment: "test" } as const;
    const options = { headerPrefix: "SVC", environment, clientAddress };
    const rows = [
      ["/_feed", { ...service, feed: { ...feed, readShared: counted(feed.readShared) } }, 1],
      [
        `/order/${uuid(1)}/events`,
        { ...service, feed: { ...feed, readSharedTail: counted(feed.readSharedTail) } },
        1,
      ],
      [
        `/order/${uuid(1)}`,
        { ...service, data: { ...data, readAggregate: counted(data.readAggregate) } },
        1,
      ],
    ] as const;
    for (const [path, service, wanted] of rows) {
      reads = 0;
      const others = liveRoom.open("others");
      assert.ok(others.take(limits.liveBytesMax));
      const headers = { authorization: `Bearer ${key}` };
      const request = new Request(`http://127.0.0.1${path}?live=sse`, { headers });
      const frames = readFrames(await createApp(service, host, options).fetch(request));
      const first = frames.next();
      await pass(10_000);
      assert.equal(reads, wanted, path);
      others.leave();
      await pass(2_000);
      assert.notEqual((await first)!.type, "heartbeat", path);
      await frames.cancel();
    }
    host.timeMs += 60_000;
    await host.yieldTurn();
  }));

Deno.test("of many live answers without room, as many read again as there is room for", () =>
  withService(async ({ service, engine, host, tenants: { test } }) => {
    const { key } = await makeKey(engine, host, test, "read");
    const event = { type: "was_placed", data: { customer: "a".repeat(70_000) } };
    valueOf(await service.data.writeEvents(test, orderWrite(uuid(1), [event])));
    let reads = 0;
    const readShared: typeof service.feed.readShared = (...given) => {
      reads++;
      return service.feed.readShared(...given);
    };
    const environment = { kind: "listener", environment: "test" } as const;
    const clientAddress = (peer: string) => peer;
    const counted = { ...service, feed: { ...service.feed, readShared } };
    const app = createApp(counted, host, { headerPrefix: "SVC", environment, clientAddress });
    async function pass(ms: number): Promise<void> {
      for (let left = ms; left > 0; left -= 250) {
        host.timeMs += 250;
        for (let turn = 0; turn < 20; turn++) await host.yieldTurn();
      }
    }
    const headers = { authorization: `Bearer ${key}` };
    const others = liveRoom.open("others");
    assert.ok(others.take(limits.liveBytesMax));
    const answers = await Promise.all(Array.from({ length: 10 }, async () => {
      const request = new Request("http://127.0.0.1/_feed?live=sse", { headers });
      const reader = (await app.fetch(request)).body!.getReader();
      return { reader, first: reader.read() };
    }));
    await pass(3_000);
    assert.equal(reads, 10);
    others.giveBack(100_000);
    await pass(3_000);
    assert.equal(reads, 11);
    others.leave();
    await pass(3_000);
    assert.equal(reads, 20);
    for (const { reader, first } of answers) {
      assert.equal((await first).done, false);
      await reader.cancel();
    }
    host.timeMs += 60_000;
    await host.yieldTurn();
  }));

Deno.test("too many live answers are refused with 503, until others end", () =>
  withFeedServer(async (world) => {
    // What others take leaves room for one.
    const others = limits.liveAnswersBytesPerInstanceMax - 1.5 * LIVE_ANSWER_BYTES;
    const owner = world.tenants.test.instanceId;
    assert.ok(liveCount.enter(owner, others));
    try {
      const last = await live(world, "");
      for (const query of ["?live=sse", "?live=long-poll&from=now"]) {
        const response = await world.get(query);
        assert.equal(response.status, 503);
        const { error, error_type } = await response.json();
        assert.deepEqual([error_type, /live answers/.test(error)], ["unavailable", true]);
      }
      await last.cancel();
      await untilNobody(world);
      await (await live(world, "")).cancel();
    } finally {
      liveCount.leave(owner, others);
    }
  }));

Deno.test("a live answer and a long poll with long headers find no room where short ones do", () =>
  withFeedServer(async (world) => {
    const { instanceId: owner } = world.tenants.test;
    const others = limits.liveAnswersBytesPerInstanceMax - 2 * LIVE_ANSWER_BYTES;
    assert.ok(liveCount.enter(owner, others));
    try {
      for (const query of ["?live=sse", "?live=long-poll&from=now&wait=1"]) {
        const refused = await world.get(query, { headers: { "x-long": "a".repeat(60_000) } });
        assert.equal(refused.status, 503);
        assert.match((await refused.json()).error, /256 MiB of one instance/);
        const answered = await world.get(query, { headers: { "x-long": "a".repeat(6_000) } });
        assert.equal(answered.status, 200);
        await answered.body?.cancel();
      }
      await untilNobody(world);
    } finally {
      liveCount.leave(owner, others);
    }
  }));

/** Waits until nobody follows. */
async function untilNobody({ service }: FeedServer): Promise<void> {
  const untilMs = performance.now() + 5_000;
  while (service.feed.countFollowers() > 0) {
    assert.ok(performance.now() < untilMs, `${service.feed.countFollowers()} follow`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
