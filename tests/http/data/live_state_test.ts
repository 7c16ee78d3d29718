/** Live states, over sockets. See docs/reference/reading.md, "Live reads". */

import assert from "node:assert/strict";
import { erase } from "../../support/erasure_fixtures.ts";
import { orderWrite, uuid, valueOf } from "../../support/service_fixture.ts";
import { type FeedServer, readFrames, withFeedServer } from "../feed/feed_server.ts";

/** The order to which {@link FeedServer.note} writes texts of one character. */
const ORDER = `/order/${uuid(1)}`;
const NDJSON = { accept: "application/x-ndjson" };

async function live(world: FeedServer, query = "", headers?: Record<string, string>) {
  const response = await world.read(`${ORDER}?live=sse${query}`, { headers });
  assert.equal(response.status, 200);
  return readFrames(response);
}

/** The body of a plain read. */
async function stateOf(world: FeedServer, path = ORDER) {
  return await (await world.read(path)).json();
}

Deno.test("a live state is the body of a plain read, and comes anew with each change", () =>
  withFeedServer(async (world) => {
    await world.note("a");
    const response = await world.read(`${ORDER}?live=sse`);
    assert.equal(response.headers.get("cache-control"), "no-store");
    const frames = readFrames(response);
    assert.deepEqual(await frames.take(1), [{
      type: "state",
      id: "1",
      data: await stateOf(world),
    }]);
    for (const id of ["2", "3"]) {
      await world.note("other", "b");
      assert.deepEqual(await frames.take(1), [{ type: "state", id, data: await stateOf(world) }]);
    }
    await frames.cancel();
    const lines = await live(world, "", NDJSON);
    assert.deepEqual(await lines.take(1), [{ type: "state", data: await stateOf(world) }]);
    await lines.cancel();
  }));

Deno.test("an aggregate or a singleton without events is waited for", () =>
  withFeedServer(async (world) => {
    const frames = await live(world);
    await world.note("a");
    assert.deepEqual((await frames.take(1)).map(({ id }) => id), ["1"]);
    await frames.cancel();
    const waited = await world.read("/inventory/main?live=long-poll&wait=1");
    assert.equal(waited.status, 204);
  }));

Deno.test("only a longer stream than after_length is sent, and Last-Event-ID wins over it", () =>
  withFeedServer(async (world) => {
    await world.note("a", "b");
    const all = [
      await live(world, "&after_length=2"),
      await live(world, "", { "last-event-id": "2" }),
    ];
    const behind = await live(world, "&after_length=9", { "last-event-id": "1" });
    assert.deepEqual((await behind.take(1)).map(({ id }) => id), ["2"]);
    await behind.cancel();
    await world.note("c");
    for (const frames of all) {
      assert.deepEqual((await frames.take(1)).map(({ id }) => id), ["3"]);
      await frames.cancel();
    }
  }));

Deno.test("who is slow gets the newest state, and none of those before it", () =>
  withFeedServer(async (world) => {
    const frames = await live(world);
    const events = Array.from({ length: 40 }, () => ({ type: "was_noted", data: { text: "x" } }));
    for (let round = 0; round < 5; round++) {
      valueOf(
        await world.service.data.writeEvents(world.tenants.test, orderWrite(uuid(1), events)),
      );
    }
    const lengths: number[] = [];
    while (lengths.at(-1) !== 200) lengths.push(Number((await frames.take(1))[0]!.id));
    assert.ok(lengths.length <= 5, lengths.join());
    assert.deepEqual(lengths, [...new Set(lengths)].sort((a, b) => a - b));
    await frames.cancel();
  }));

Deno.test("an erasure is a change of the state, though the stream is no longer than before", () =>
  withFeedServer(async (world) => {
    await world.note("a");
    const frames = await live(world);
    await frames.take(1);
    await erase(world, `order:${uuid(1)}`);
    const [state] = await frames.take(1);
    assert.deepEqual([state!.id, state!.data], ["1", await stateOf(world)]);
    await frames.cancel();
  }));

Deno.test("who was away while a stream was erased gets its state anew", () =>
  withFeedServer(async (world) => {
    await world.note("a");
    await erase(world, `order:${uuid(1)}`);
    for (const last of [{ query: "&after_length=1" }, { headers: { "last-event-id": "1" } }]) {
      const frames = await live(world, last.query, last.headers);
      const [state] = await frames.take(1);
      assert.deepEqual([state!.id, state!.data], ["1", await stateOf(world)]);
      await frames.cancel();
    }
    const frames = await live(world, "&after_length=2");
    await world.note("b", "c");
    assert.equal((await frames.take(1))[0]!.id, "3", "who waits for more events gets no other");
    await frames.cancel();
  }));

Deno.test("a state of megabytes comes whole, in a frame of its own", () =>
  withFeedServer(async (world) => {
    const sku = "TEA-1";
    const events = Array.from({ length: 40 }, () => ({
      type: "was_placed",
      data: { customer: "\u{1f375}".repeat(20_000) },
    }));
    const write = orderWrite(uuid(1), [...events, { type: "was_noted", data: { text: sku } }]);
    valueOf(await world.service.data.writeEvents(world.tenants.test, write));
    for (const headers of [{}, NDJSON]) {
      const frames = await live(world, "", headers);
      assert.deepEqual((await frames.take(1))[0]!.data, await stateOf(world));
      await frames.cancel();
    }
  }));

Deno.test("a long poll answers with the state, or 204 without a body after its wait", () =>
  withFeedServer(async (world) => {
    const waiting = world.read(`${ORDER}?live=long-poll&after_length=1`);
    await world.note("a", "b");
    const response = await waiting;
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.deepEqual(await response.json(), await stateOf(world));
    const nothing = await world.read(`${ORDER}?live=long-poll&after_length=2&wait=1`);
    assert.deepEqual([nothing.status, await nothing.text()], [204, ""]);
    assert.ok(nothing.headers.get("x-request-id"));
  }));

Deno.test("what cannot be followed is refused with its own status", () =>
  withFeedServer(async (world) => {
    for (const live of ["sse", "long-poll"]) {
      const cases = [
        [`${ORDER}?live=${live}&at=1`, 400, "at"],
        [`${ORDER}?live=${live}&after_length=-1`, 400, "after_length"],
        [`/nobody/${uuid(1)}?live=${live}`, 404, undefined],
        [`/order/short?live=${live}`, 422, "key"],
      ] as const;
      for (const [path, status, place] of cases) {
        const response = await world.read(path);
        assert.equal(response.status, status, path);
        assert.equal((await response.json()).path, place, path);
      }
    }
    const without = await world.read(`${ORDER}?after_length=1`);
    assert.deepEqual([without.status, (await without.json()).path], [400, "after_length"]);
    const odd = await world.read(`${ORDER}?live=sse`, { headers: { "last-event-id": "x" } });
    assert.equal(odd.status, 400);
    await odd.body?.cancel();
  }));
