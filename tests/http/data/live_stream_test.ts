/** Tails of one stream, over sockets. See docs/reference/reading.md, "Live reads". */

import assert from "node:assert/strict";
import { erase } from "../../support/erasure_fixtures.ts";
import { uuid } from "../../support/service_fixture.ts";
import { type FeedServer, type Frame, readFrames, withFeedServer } from "../feed/feed_server.ts";

/** The order to which {@link FeedServer.note} writes texts of one character. */
const ORDER = `/order/${uuid(1)}/events`;
const NDJSON = { accept: "application/x-ndjson" };

async function live(world: FeedServer, query = "", headers?: Record<string, string>) {
  const response = await world.read(`${ORDER}?live=sse${query}`, { headers });
  assert.equal(response.status, 200);
  return readFrames(response);
}

function textOf({ data }: Frame): string {
  return data.event.data.text;
}

Deno.test("a tail has the events of one stream as a listing has them, and then what comes", () =>
  withFeedServer(async (world) => {
    await world.note("a", "other", "b");
    const listed = (await (await world.read(ORDER)).json()).data;
    const frames = await live(world);
    const [a, b, caughtUp] = await frames.take(3);
    assert.deepEqual([a!.data, b!.data], listed);
    assert.deepEqual([a!.id, b!.id], [listed[0].id, listed[1].id]);
    assert.deepEqual(caughtUp, { type: "caught_up", data: { next_start: listed[1].id } });
    await world.note("other", "c");
    const [c, again] = await frames.take(2);
    assert.equal(textOf(c!), "c");
    assert.deepEqual(again!.data, { next_start: c!.id });
    await frames.cancel();
  }));

Deno.test("a tail as lines has the same, and raw texts if they are wanted", () =>
  withFeedServer(async (world) => {
    await world.note("a");
    const [listed] = (await (await world.read(`${ORDER}?raw=true`)).json()).data;
    const frames = await live(world, "&raw=true", NDJSON);
    assert.deepEqual(await frames.take(2), [
      { type: "event", data: listed },
      { type: "caught_up", data: { next_start: listed.id } },
    ]);
    await frames.cancel();
  }));

Deno.test("a stream without events is followed from its first one", () =>
  withFeedServer(async (world) => {
    const frames = await live(world);
    assert.deepEqual(await frames.take(1), [{ type: "caught_up", data: {} }]);
    await world.note("a");
    assert.equal(textOf((await frames.take(1))[0]!), "a");
    await frames.cancel();
  }));

Deno.test("start and Last-Event-ID say behind which event a tail begins; the header wins", () =>
  withFeedServer(async (world) => {
    await world.note("a", "b", "c");
    const ids = (await (await world.read(ORDER)).json()).data.map(({ id }: Frame) => id);
    for (const [number, id] of ids.entries()) {
      const wanted = ["a", "b", "c"].slice(number + 1);
      for (
        const frames of [
          await live(world, `&start=${id}`),
          await live(world, `&start=${ids[2]}`, { "last-event-id": id }),
        ]
      ) {
        const got = await frames.take(wanted.length + 1);
        assert.deepEqual(got.slice(0, -1).map(textOf), wanted);
        await frames.cancel();
      }
    }
  }));

Deno.test("a long stream comes whole and in order, in portions, and caught_up once", () =>
  withFeedServer(async (world) => {
    await world.note(...Array(230).fill("x"));
    const frames = await live(world);
    const got = await frames.take(231);
    const listed = (await (await world.read(ORDER)).json()).data;
    assert.deepEqual(got.slice(0, -1).map(({ id }) => id), listed.map(({ id }: Frame) => id));
    assert.equal(got.at(-1)!.type, "caught_up");
    await frames.cancel();
  }));

Deno.test("who follows a stream that is erased hears of it, and who comes later has the markers", () =>
  withFeedServer(async (world) => {
    const key = `order:${uuid(1)}`;
    await world.note("a");
    const all = [await live(world), await live(world, "", NDJSON)];
    for (const frames of all) await frames.take(2);
    await erase(world, key);
    for (const frames of all) {
      const [erased, caughtUp] = await frames.take(2);
      assert.deepEqual(erased, { type: "erased", data: { key } });
      assert.equal(caughtUp!.type, "caught_up");
      await frames.cancel();
    }
    const later = await live(world);
    const [marker, caughtUp] = await later.take(2);
    assert.equal(marker!.data.event.type, "_was_tombstoned");
    assert.equal(caughtUp!.type, "caught_up");
    await later.cancel();
  }));

Deno.test("a long poll answers at once, when an event comes, or with nothing after its wait", () =>
  withFeedServer(async (world) => {
    await world.note("a");
    const there = await (await world.read(`${ORDER}?live=long-poll`)).json();
    const plain = await (await world.read(ORDER)).json();
    assert.deepEqual(there, plain);
    const behind = `${ORDER}?live=long-poll&start=${plain.data[0].id}`;
    const waiting = world.read(behind);
    await world.note("other", "b");
    const response = await waiting;
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.deepEqual(
      (await response.json()).data.map((data: unknown) => textOf({ data } as Frame)),
      [
        "b",
      ],
    );
    const end = `${ORDER}?live=long-poll&wait=1&start=000000000001`;
    const beganAt = performance.now();
    const nothing = await (await world.read(end)).json();
    assert.deepEqual([nothing.data, nothing.truncated], [[], false]);
    assert.ok(performance.now() - beganAt > 900);
  }));

Deno.test("a tail from behind an event that a restore has taken away is refused, and waits for none", () =>
  withFeedServer(async (world) => {
    await world.note("a", "b");
    const beyond = "000000000002";
    const cases = [
      [`${ORDER}?live=sse&start=${beyond}`, {}, "start"],
      [`${ORDER}?live=long-poll&start=${beyond}`, {}, "start"],
      [`${ORDER}?live=sse`, { "last-event-id": beyond }, "Last-Event-ID"],
      [`/order/${uuid(9)}/events?live=sse&start=000000000000`, {}, "start"],
    ] as const;
    for (const [path, headers, place] of cases) {
      const refused = await world.read(path, { headers });
      const { error, path: named } = await refused.json();
      assert.deepEqual([refused.status, named], [400, place], path);
      assert.match(error, /restored to an earlier moment/, path);
    }
    const listed = await (await world.read(`${ORDER}?start=${beyond}`)).json();
    assert.deepEqual(listed.data, [], "a listing has nothing there");
  }));

Deno.test("what cannot be followed is refused with its own status", () =>
  withFeedServer(async (world) => {
    for (const live of ["sse", "long-poll"]) {
      const cases = [
        [`${ORDER}?live=${live}&direction=backwards`, 400, "direction"],
        [`${ORDER}?live=${live}&start=nothing`, 400, "start"],
        [`/nobody/${uuid(1)}/events?live=${live}`, 404, undefined],
        [`/order/short/events?live=${live}`, 422, "key"],
      ] as const;
      for (const [path, status, place] of cases) {
        const response = await world.read(path);
        const body = await response.json();
        assert.equal(response.status, status, path);
        assert.equal(body.path, place, path);
      }
    }
    assert.equal((await world.read(`${ORDER}?live=yes`)).status, 400);
  }));
