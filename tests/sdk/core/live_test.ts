/**
 * The feed, a tail and a live state on a real server: everything in order and once, while the
 * server is killed and started again, and while a proxy holds streams back.
 */

import assert from "node:assert/strict";
import { type Client, createClient } from "@daybook/client";
import { startServer } from "../../support/server_process.ts";
import { type Shop, startShop, withShop } from "../shop_server.ts";
import { CLIENT_URL } from "./faulty_network.ts";

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** Holds back every answer until it is whole, as some proxies do. */
async function withheld(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const { status, headers } = response;
  const text = await response.text();
  return new Response(status === 204 ? null : text, { status, headers });
}

/** Gives each answer in pieces of one byte and more, as they may arrive. */
async function inPieces(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const pieces = response.body!.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        for (let at = 0, size = 1; at < bytes.length; at += size, size = size % 7 + 1) {
          controller.enqueue(bytes.subarray(at, at + size));
        }
      },
    }),
  );
  return new Response(pieces, response);
}

async function take<Item>(items: AsyncIterable<Item>, count: number): Promise<Item[]> {
  const taken: Item[] = [];
  for await (const item of items) {
    taken.push(item);
    if (taken.length === count) break;
  }
  return taken;
}

const WAYS: Readonly<Record<string, { fetch?: Fetch; silenceMs?: number }>> = {
  "streamed": {},
  "in pieces": { fetch: inPieces },
  "through a proxy that holds streams back": { fetch: withheld, silenceMs: 200 },
};

/** Notes `texts` one by one, each when the reader has had time to catch up. */
async function note(db: Client<Shop>, id: string, texts: readonly string[]): Promise<void> {
  for (const text of texts) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    await db.order(id).was_noted({ text }).orThrow();
  }
}

Deno.test("what is followed on a real server", async (t) => {
  await withShop(async ({ options }) => {
    const writer = createClient<Shop>(options);
    let orders = 0;
    for (const [way, { fetch, silenceMs }] of Object.entries(WAYS)) {
      const db = createClient<Shop>({ ...options, fetch });

      await t.step(`the feed, ${way}: what was there, the end of it, what comes`, async () => {
        const id = `0RDER000${++orders}`;
        await note(writer, id, ["a", "b"]);
        const now = await db.$feedPage({ from: "now" }).orThrow();
        assert.deepEqual(now.data, []);
        const page = await db.$feedPage({ types: ["order.was_noted"], limit: 1_000 }).orThrow();
        assert.equal(page.up_to_date, true);
        const from = page.data.length > 2 ? page.data.at(-3)!.cursor : undefined;
        const feed = db.$feed({ from, types: ["order"], notices: true, silenceMs });
        const read: string[] = [];
        let isCaughtUp = false;
        for await (const item of feed) {
          if (item.type === "caught_up" && !isCaughtUp) {
            isCaughtUp = true;
            assert.deepEqual(read, ["a", "b"]);
            await note(writer, id, ["c"]);
          }
          if (item.type !== "event" || item.event.type !== "was_noted") continue;
          read.push(item.event.data.text);
          if (read.length === 3) break;
        }
        assert.deepEqual(read, ["a", "b", "c"]);
      });

      await t.step(`a tail, ${way}: from the first event, or behind one`, async () => {
        const id = `0RDER000${++orders}`;
        const order = db.order(id);
        const items = take(order.tail({ silenceMs }), 3);
        await note(writer, id, ["a", "b", "c"]);
        const texts = (await items).map(({ event }) =>
          event.type === "was_noted" && event.data.text
        );
        assert.deepEqual(texts, ["a", "b", "c"]);
        const [later] = await take(
          order.tail({ start: (await items)[1]!.id, raw: true, silenceMs }),
          1,
        );
        assert.deepEqual(JSON.parse(later!.raw).data, { text: "c" });
      });

      await t.step(`a live state, ${way}: waited for, then each newer one`, async () => {
        const id = `0RDER000${++orders}`;
        const states = db.order(id).live({ silenceMs });
        const first = states.next();
        await note(writer, id, ["a"]);
        assert.deepEqual((await first).value!.data, { notes: ["a"] });
        await note(writer, id, ["b", "c"]);
        for (let length = 1; length < 3;) {
          const { data, metadata } = (await states.next()).value!;
          assert.ok(metadata.length > length);
          length = metadata.length;
          assert.deepEqual(data, { notes: ["a", "b", "c"].slice(0, length) });
        }
        await states.return!();
      });
    }
  });
});

Deno.test("a feed goes on over kills of its server: every event once, in order", async () => {
  const shop = await startShop();
  let { server } = shop;
  const { dataDir } = server;
  try {
    const db = createClient<Shop>({
      ...shop.options,
      url: CLIENT_URL,
      fetch: (url, init) => fetch(url.replace(CLIENT_URL, server.baseUrls.test), init),
      retries: Infinity,
    });
    const COUNT = 300;
    const write = async () => {
      for (let n = 0; n < COUNT; n++) await db.order("main").was_viewed({ n }).orThrow();
    };
    const kill = async () => {
      for (let kills = 0; kills < 2; kills++) {
        while ((await db.order("main").length().orThrow()).length < (kills + 1) * COUNT / 3) {
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        await server.kill();
        server = await startServer({ dataDir });
      }
    };
    const [items] = await Promise.all([take(db.$feed(), COUNT), write(), kill()]);
    const read = items.map(({ event }) => event.type === "was_viewed" && event.data.n);
    assert.deepEqual(read, Array.from({ length: COUNT }, (_, n) => n));
    const cursors = items.map(({ cursor }) => cursor);
    assert.deepEqual(cursors, cursors.toSorted());
  } finally {
    await server.remove();
    await Deno.remove(dataDir, { recursive: true }).catch(() => {});
  }
});
