/** `GET /_feed` over HTTP: pages, refusals, credentials, long polls. See docs/reference/feed.md. */

import assert from "node:assert/strict";
import { limits } from "../../../src/domain/limits.ts";
import { createApp } from "../../../src/http/app.ts";
import { makeInstance, makeKey, makeTenant } from "../../support/access_fixtures.ts";
import { erase } from "../../support/erasure_fixtures.ts";
import {
  noteWrite,
  orderWrite,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { until } from "../../support/until.ts";
import { type FeedServer, withFeedServer } from "./feed_server.ts";

// deno-lint-ignore no-explicit-any -- a test says what it expects of the body
async function bodyOf(world: FeedServer, query: string): Promise<any> {
  const response = await world.get(query);
  const text = await response.text();
  assert.equal(response.status, 200, text);
  return JSON.parse(text);
}

// deno-lint-ignore no-explicit-any -- as above
async function refusalOf(response: Promise<Response>, about?: string): Promise<any> {
  const { status, body } = await response.then(async (got) => ({
    status: got.status,
    body: await got.json(),
  }));
  assert.equal(body.ok, false, about);
  return { status, ...body };
}

// deno-lint-ignore no-explicit-any -- as above
function textsOf({ data }: any): string[] {
  // deno-lint-ignore no-explicit-any -- as above
  return data.map(({ event, raw }: any) => (event ?? JSON.parse(raw)).data.text);
}

Deno.test("a page may have CloudEvents, each of the event with the same cursor, id and hash", () =>
  withFeedServer(async (world) => {
    const { tenants: { test } } = world;
    await world.note("a", "bb");
    const page = await bodyOf(world, "");
    const { data, ...rest } = await bodyOf(world, "?format=cloudevents");
    assert.deepEqual(rest, { ok: true, next: page.next, up_to_date: true });
    for (const [index, { cursor, id, hash, event }] of page.data.entries()) {
      const { cloudevent, ...entry } = data[index];
      assert.deepEqual(entry, { cursor, id, hash });
      assert.deepEqual(cloudevent, {
        specversion: "1.0",
        id: `${event.key}/${Number(id)}`,
        source: `/instances/${test.instanceId}/test`,
        type: `order.${event.type}`,
        subject: event.key,
        time: new Date(event.metadata.timestamp * 1000).toISOString(),
        datacontenttype: "application/json",
        streamindex: Number(id),
        chainhash: hash,
        actor: `${event.metadata.actor.type}:${event.metadata.actor.id}`,
        data: event.data,
      });
    }
    assert.deepEqual(await bodyOf(world, "?format=daybook"), page);
  }));

Deno.test("a page has the events of the listing, cursors that sort, and where to go on", () =>
  withFeedServer(async (world) => {
    const { service, tenants: { test } } = world;
    await world.note("a", "bb", "c");
    const response = await world.get("");
    assert.equal(response.headers.get("cache-control"), "no-store");
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.equal(response.headers.get("access-control-allow-origin"), "*");
    const page = await response.json();
    assert.deepEqual(Object.keys(page), ["ok", "data", "next", "up_to_date"]);
    assert.deepEqual(textsOf(page), ["a", "bb", "c"]);
    assert.equal(page.up_to_date, true);
    for (const { cursor } of page.data) assert.match(cursor, /^[0-9A-Za-z_-]{1,64}$/);
    // deno-lint-ignore no-explicit-any -- as above
    const cursors: string[] = page.data.map(({ cursor }: any) => cursor);
    assert.deepEqual(cursors, cursors.toSorted());
    assert.equal(new Set(cursors).size, 3);
    const listed = await service.data.readEvents(test, {
      aggregateType: "order",
      id: uuid(1),
      direction: "forwards",
      start: undefined,
      count: 10,
    });
    assert.ok(listed.ok);
    assert.deepEqual(
      // deno-lint-ignore no-explicit-any -- as above
      [page.data[0], page.data[2]].map(({ id, hash, event }: any) => ({ id, hash, event })),
      listed.value.entries.map(({ id, hash, raw }) => ({ id, hash, event: JSON.parse(raw) })),
    );
    const raw = await bodyOf(world, "?raw=true");
    assert.deepEqual(Object.keys(raw.data[0]), ["cursor", "id", "hash", "raw"]);
    assert.equal(raw.data[0].raw, listed.value.entries[0]!.raw);
  }));

Deno.test("pages of any size follow one another, and a cursor is good again later", () =>
  withFeedServer(async (world) => {
    const texts = Array.from({ length: 7 }, (_, number) => `${number}`.repeat(1 + number % 3));
    await world.note(...texts);
    for (const limit of [1, 2, 3, 7, limits.feedPageMax]) {
      const got: string[] = [];
      let from = "start";
      for (;;) {
        const page = await bodyOf(world, `?from=${from}&limit=${limit}`);
        assert.ok(page.data.length <= limit);
        got.push(...textsOf(page));
        from = page.next;
        if (page.up_to_date) break;
      }
      assert.deepEqual(got, texts, `limit ${limit}`);
      assert.deepEqual((await bodyOf(world, `?from=${from}`)).data, []);
    }
    const { data } = await bodyOf(world, "");
    assert.deepEqual(textsOf(await bodyOf(world, `?from=${data[4].cursor}`)), texts.slice(5));
  }));

Deno.test("from=now has nothing, and the cursor behind which the next event is", () =>
  withFeedServer(async (world) => {
    await world.note("old");
    const now = await bodyOf(world, "?from=now");
    assert.deepEqual([now.data, now.up_to_date], [[], true]);
    await world.note("new");
    assert.deepEqual(textsOf(await bodyOf(world, `?from=${now.next}`)), ["new"]);
  }));

Deno.test("types choose events; a page without any has a cursor all the same", () =>
  withFeedServer(async (world) => {
    await world.note("a", "b");
    for (const types of ["order", "order.*", "order.was_noted", "inventory,order.was_noted"]) {
      assert.deepEqual(textsOf(await bodyOf(world, `?types=${types}`)), ["a", "b"], types);
    }
    const none = await bodyOf(world, "?types=order.was_placed");
    assert.deepEqual([none.data, none.up_to_date], [[], true]);
    assert.deepEqual((await bodyOf(world, `?from=${none.next}`)).data, []);
  }));

Deno.test("what is out of range, unknown or malformed is 400 and says where", () =>
  withFeedServer(async (world) => {
    await world.note("a");
    const { next } = await bodyOf(world, "");
    const cases = {
      limit: ["limit=0", "limit=1001", "limit=x", "limit=-1", "limit=1.5", "limit="],
      wait: ["wait=0", "wait=31", "wait=x", "live=long-poll&wait=31"],
      live: ["live=yes", "live=", "live=SSE"],
      raw: ["raw=maybe", "raw=true&format=cloudevents"],
      format: ["format=xml", "format="],
      types: [
        "types=nothing",
        "types=order.nothing",
        "types=",
        "types=order,",
        `types=${Array(limits.feedTypesMax + 1).fill("order")}`,
      ],
      from: ["from=", "from=nowhere", `from=${next}0`, `from=${next.slice(1)}`, "from=0".repeat(2)],
    };
    for (const [path, queries] of Object.entries(cases)) {
      for (const query of queries) {
        const got = await refusalOf(world.get(`?${query}`), query);
        const { status, error_type } = got;
        assert.deepEqual([status, error_type, got.path], [400, "bad_request", path], query);
      }
    }
    for (const query of ["live=sse&types=nothing", "live=sse&from=nowhere", "lives=sse"]) {
      assert.equal((await refusalOf(world.get(`?${query}`))).status, 400, query);
    }
  }));

Deno.test("a cursor of another environment, or of another instance, is 400", () =>
  withFeedServer(async (world) => {
    const { engine, host, server, tenants } = world;
    await world.note("a");
    const others = [tenants.staging, await makeTenant(engine, host, "rival", "staging")];
    for (const tenant of others) {
      const { key } = await makeKey(engine, host, tenant, "read");
      const headers = { authorization: `Bearer ${key}` };
      const own = await fetch(`${server.addresses[1]!.url}/_feed`, { headers });
      const { data, next } = await own.json();
      assert.deepEqual(data, [], "nothing of the other one is there");
      const { next: foreign } = await bodyOf(world, "");
      const swapped = fetch(`${server.addresses[1]!.url}/_feed?from=${foreign}`, { headers });
      assert.equal((await refusalOf(swapped)).status, 400);
      assert.equal((await refusalOf(world.get(`?from=${next}`))).status, 400);
    }
  }));

Deno.test("a read key or a write key opens the feed of its environment, and nothing else does", () =>
  withFeedServer(async (world) => {
    const { engine, host, tenants: { test, staging } } = world;
    await world.note("a");
    const write = await makeKey(engine, host, test, "write");
    const elsewhere = await makeKey(engine, host, staging, "read");
    for (const live of ["", "live=long-poll", "live=sse"]) {
      const response = await world.get(`?${live}`, { key: write.key });
      assert.equal(response.status, 200);
      await response.body!.cancel();
      for (
        const [key, status] of [[null, 401], ["dbk_0_x", 401], [elsewhere.key, 403]] as const
      ) {
        assert.equal((await refusalOf(world.get(`?${live}`, { key }))).status, status, live);
      }
    }
    const inAddress = world.get(`?token=${world.key}`, { key: null });
    assert.ok([400, 401].includes((await refusalOf(inAddress)).status));
    assert.equal((await makeInstance(engine, host, "empty")).slug, "empty");
  }));

Deno.test("a page names erased streams behind the erasure, and their events are markers", () =>
  withFeedServer(async (world) => {
    await world.note("a", "bb");
    const before = await bodyOf(world, "");
    await erase(world, `order:${uuid(1)}`);
    const key = `order:${uuid(1)}`;
    const after = await bodyOf(world, `?from=${before.next}`);
    assert.deepEqual(after.data, []);
    assert.equal(after.erased.length, 1);
    assert.equal(after.erased[0].key, key);
    assert.ok(after.erased[0].cursor > before.next && after.erased[0].cursor <= after.next);
    const again = await bodyOf(world, "");
    assert.deepEqual(
      // deno-lint-ignore no-explicit-any -- as above
      again.data.map(({ cursor, event }: any) => [cursor, event.type]),
      [[before.data[0].cursor, "_was_tombstoned"], [before.data[1].cursor, "was_noted"]],
    );
    assert.deepEqual(again.erased, after.erased);
  }));

Deno.test("a long poll answers at once if something is there, or when it comes", () =>
  withFeedServer(async (world) => {
    await world.note("a");
    const first = await bodyOf(world, "?live=long-poll&wait=30");
    assert.deepEqual(textsOf(first), ["a"]);
    const beganAt = performance.now();
    const later = bodyOf(world, `?live=long-poll&wait=30&from=${first.next}`);
    await untilFollowed(world, 1);
    await world.note("b");
    assert.deepEqual(textsOf(await later), ["b"]);
    assert.ok(performance.now() - beganAt < 10_000);
    assert.equal(world.service.feed.countFollowers(), 0);
  }));

Deno.test("long polls that one commit wakes make their long answers in turns", () =>
  withFeedServer(async (world) => {
    const { service: { feed, data }, tenants: { test } } = world;
    const { next } = await bodyOf(world, "?from=now");
    const polls = Array.from(
      { length: 20 },
      (_, n) => bodyOf(world, `?live=long-poll&wait=30&from=${next}&limit=${n + 2}`),
    );
    await untilFollowed(world, 20);
    const { readPage } = feed;
    let [reads, running, most] = [0, 0, 0];
    async function counted(...given: Parameters<typeof readPage>) {
      reads++;
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 1));
      return await readPage(...given).finally(() => running--);
    }
    Object.assign(feed, { readPage: counted });
    const event = { type: "was_placed", data: { customer: "x".repeat(70_000) } };
    valueOf(await data.writeEvents(test, orderWrite(uuid(1), [event, event])));
    const pages = await Promise.all(polls);
    Object.assign(feed, { readPage });
    assert.deepEqual(new Set(pages.map((page) => page.data.length)), new Set([2]));
    assert.equal(reads, 20, "each page is read when its turn has come");
    assert.ok(most <= 4, `${most} at a time`);
  }));

for (const form of ["", "&raw=true", "&format=cloudevents"]) {
  Deno.test(`long polls that share a page send one body, that of a plain page (${form})`, () =>
    withFeedServer(async (world) => {
      const { service: { feed } } = world;
      const { next } = await bodyOf(world, "?from=now");
      const { readShared } = feed;
      let made = 0;
      const pages = new WeakMap<object, Awaited<ReturnType<typeof readShared>>>();
      /** The same, with hashes that are looked at when an entry is made text. */
      async function counted(...given: Parameters<typeof readShared>) {
        const outcome = await readShared(...given);
        if (!outcome.ok || outcome.value.entries.length === 0) return outcome;
        const known = pages.get(outcome.value);
        if (known !== undefined) return known;
        const entries = outcome.value.entries.map((entry) => ({
          ...entry,
          get hash() {
            made++;
            return entry.hash;
          },
        }));
        const page = { ...outcome, value: { ...outcome.value, entries } };
        pages.set(outcome.value, page);
        return page;
      }
      Object.assign(feed, { readShared: counted });
      const query = `?live=long-poll&wait=30&from=${next}${form}`;
      const polls = Array.from({ length: 20 }, async () => await (await world.get(query)).text());
      await untilFollowed(world, 20);
      await world.note("a".repeat(20));
      const bodies = new Set(await Promise.all(polls));
      Object.assign(feed, { readShared });
      const plain = await (await world.get(`?from=${next}${form}`)).text();
      assert.deepEqual(bodies, new Set([plain]));
      // What makes a CloudEvent may look at it once more.
      assert.ok(made <= 2, `${made} times`);
    }));
}

Deno.test("of long polls that one commit wakes, as many go on in a turn as fit into a piece", () =>
  withService(async ({ service, engine, host, tenants: { test } }) => {
    const { key } = await makeKey(engine, host, test, "read");
    let [nowMs, turn, isWoken] = [0, 0, false];
    const begunMs = host.monotonicMs();
    host.monotonicMs = () => begunMs + nowMs;
    const { yieldTurn } = host;
    host.yieldTurn = () => yieldTurn().then(() => void turn++);
    const byTurn = new Map<number, number>();
    const authenticateKey: typeof service.access.authenticateKey = (...given) => {
      if (isWoken) {
        nowMs += 3;
        byTurn.set(turn, (byTurn.get(turn) ?? 0) + 1);
      }
      return service.access.authenticateKey(...given);
    };
    const slow = { ...service, access: { ...service.access, authenticateKey } };
    const environment = { kind: "listener", environment: "test" } as const;
    const clientAddress = (peer: string) => peer;
    const app = createApp(slow, host, { headerPrefix: "SVC", environment, clientAddress });
    const headers = { authorization: `Bearer ${key}` };
    const polls = Array.from({ length: 20 }, async () => {
      const url = "http://127.0.0.1/_feed?live=long-poll&wait=30&from=now";
      return await (await app.fetch(new Request(url, { headers }), undefined)).json();
    });
    await until(() => service.feed.countFollowers() === 20, "twenty polls that wait");
    for (let look = 0; look < 5; look++) {
      host.timeMs += 60;
      for (let n = 0; n < 20; n++) await yieldTurn();
    }
    isWoken = true;
    valueOf(await service.data.writeEvents(test, noteWrite(uuid(1), "a")));
    host.timeMs += 60;
    const bodies = await Promise.all(polls);
    assert.deepEqual(bodies.map(({ data }) => data.length), Array(20).fill(1));
    assert.ok(Math.max(...byTurn.values()) <= 2, `${[...byTurn.values()]}`);
    // The last look at the log ends.
    host.timeMs += 60;
    await yieldTurn();
  }));

Deno.test("a long poll without anything wanted ends after its wait, further on", () =>
  withFeedServer(async (world) => {
    const { next } = await bodyOf(world, "?from=now");
    const beganAt = performance.now();
    const query = `?live=long-poll&wait=1&types=order.was_placed&from=${next}`;
    const waiting = bodyOf(world, query);
    await untilFollowed(world, 1);
    await world.note("a");
    const page = await waiting;
    assert.ok(performance.now() - beganAt >= 950, "it has waited");
    assert.deepEqual([page.data, page.up_to_date], [[], true]);
    assert.ok(page.next > next, "the cursor is behind what was not wanted");
  }));

Deno.test("a client that ends its long poll leaves nobody behind", () =>
  withFeedServer(async (world) => {
    const gone = new AbortController();
    const poll = world.get("?live=long-poll&wait=30", { signal: gone.signal });
    await untilFollowed(world, 1);
    // The first look at the log wakes everybody.
    await new Promise((resolve) => setTimeout(resolve, 200));
    gone.abort();
    await assert.rejects(poll);
    await untilFollowed(world, 0);
  }));

Deno.test("a stop of the server ends long polls at once, with a page", () =>
  withFeedServer(async (world) => {
    const poll = bodyOf(world, "?live=long-poll&wait=30");
    await untilFollowed(world, 1);
    const beganAt = performance.now();
    await Promise.all([world.server.stop(10_000), poll]);
    assert.deepEqual((await poll).data, []);
    assert.ok(performance.now() - beganAt < 3_000);
  }));

Deno.test("HEAD answers at once, without a body, whatever is asked", () =>
  withFeedServer(async (world) => {
    for (const live of ["no", "long-poll", "sse"]) {
      const { status, body } = await fetch(`${world.url}/_feed?live=${live}`, {
        method: "HEAD",
        headers: { authorization: `Bearer ${world.key}` },
      });
      assert.deepEqual([status, await body?.getReader().read() ?? null], [200, null], live);
    }
  }));

/** Waits until so many follow. */
async function untilFollowed({ service }: FeedServer, count: number): Promise<void> {
  const untilMs = performance.now() + 5_000;
  while (service.feed.countFollowers() !== count) {
    assert.ok(performance.now() < untilMs, `${service.feed.countFollowers()} follow`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
