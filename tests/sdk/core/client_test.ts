/** The client against a real server: what is written and read through it, and what is refused. */

import assert from "node:assert/strict";
import { type Client, createClient } from "@daybook/client";
import { operate, type Shop, type ShopServer, withShop } from "../shop_server.ts";

const TOTALS = {
  name: "order_totals",
  for_each: "order",
  sources: { order: "$key" },
  select: { customer: "$.order.customer", total: { path: "$.order.total", type: "number" } },
};

/** Runs `body` again until it passes, for ten seconds. */
async function soon(body: () => Promise<void>): Promise<void> {
  const endMs = performance.now() + 10_000;
  for (;;) {
    try {
      return await body();
    } catch (error) {
      if (performance.now() > endMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

type Step = (db: Client<Shop>, shop: ShopServer) => Promise<void>;

const STEPS: Readonly<Record<string, Step>> = {
  async "an event type is a method; the state is what its handlers make of the data"(db) {
    const order = db.order("0RDER0001");
    assert.equal(order.$key, "order:0RDER0001");
    assert.deepEqual(await order.was_placed({ customer: "Ada", total: 12.5 }), {
      ok: true,
      stream_id: "000000000000",
    });
    await order.write("was_noted", { text: "ring twice" }).orThrow();
    const { data, metadata } = await order.get().orThrow();
    assert.deepEqual(data, {
      customer: "Ada",
      total: 12.5,
      status: "placed",
      lines: [],
      notes: ["ring twice"],
    });
    assert.equal(metadata.length, 2);
    assert.deepEqual(await order.length(), { ok: true, length: 2 });
  },

  async "an earlier state is read as of a length"(db) {
    const order = db.order("0RDER0001");
    const { data, metadata } = await order.get({ at_length: 1 }).orThrow();
    assert.deepEqual([data.notes, metadata.length], [undefined, 1]);
    assert.deepEqual((await order.get({ at_length: 0 }).orThrow()).data, {});
    const beyond = await order.get({ at_length: 3 });
    assert.equal(!beyond.ok && beyond.status, 422);
  },

  async "a batch is stored as a whole, or not at all"(db) {
    const order = db.order("0RDER0002");
    const written = await order.batch([
      { type: "was_placed", data: { customer: "Bob" } },
      { type: "was_paid", data: { amount: 3 } },
    ]);
    assert.deepEqual(written, {
      ok: true,
      stream_ids: ["000000000000", "000000000001"],
      count: 2,
    });
    const refused = await order.batch([
      { type: "was_noted", data: { text: "a" } },
      { type: "was_paid", data: { amount: -3 } },
    ]);
    assert.ok(!refused.ok && refused.error_type === "schema_validation");
    assert.equal(refused.event_index, 1);
    assert.ok(refused.details.length > 0);
    assert.deepEqual(await order.length(), { ok: true, length: 2 });
  },

  async "an atomic write joins the events of each aggregate, and guards them"(db) {
    const [one, two] = [db.order("AAAAAAAA1"), db.order("AAAAAAAA2")];
    const written = await db.$atomic([
      one.was_placed.event({ customer: "Ada" }, { previous_length: 0 }),
      two.was_placed.event({ customer: "Bob" }),
      one.was_viewed.event(),
      {
        aggregate_type: "customer",
        id: "AAAAAAAA3",
        events: [{ type: "was_registered", data: { name: "Ada" } }],
      },
    ]).orThrow();
    assert.deepEqual(written, {
      ok: true,
      written: 4,
      stream_ids: {
        "order:AAAAAAAA1": ["000000000000", "000000000001"],
        "order:AAAAAAAA2": ["000000000000"],
        "customer:AAAAAAAA3": ["000000000000"],
      },
    });
    const conflict = await db.$atomic([
      two.was_viewed.event(),
      one.was_viewed.event({}, { previous_length: 0 }),
    ]);
    assert.ok(!conflict.ok && conflict.error_type === "occ_conflict");
    assert.deepEqual([conflict.key, conflict.current_length], ["order:AAAAAAAA1", 2]);
    assert.deepEqual(await two.length(), { ok: true, length: 1 });
    const unclear = await db.$atomic([
      one.was_viewed.event({}, { previous_length: 2 }),
      one.was_viewed.event({}, { previous_length: 3 }),
    ]);
    assert.ok(!unclear.ok && unclear.error_type === "bad_request");
  },

  async "a guard that does not hold is a conflict with the length that there is"(db) {
    const order = db.order("0RDER0001");
    const conflict = await order.was_viewed({}, { previous_length: 7 });
    assert.ok(!conflict.ok && conflict.error_type === "occ_conflict");
    assert.deepEqual([conflict.current_length, conflict.expected_length], [2, 7]);
    assert.equal(conflict.status, 409);
  },

  async "a write that is repeated under its key is stored once"(db) {
    const order = db.order("0RDER0003");
    const write = () => order.was_viewed({}, { idempotencyKey: "look once" }).orThrow();
    assert.deepEqual(await write(), await write());
    assert.deepEqual(await order.length(), { ok: true, length: 1 });
    const other = await order.was_viewed({ by: "Bob" }, { idempotencyKey: "look once" });
    assert.equal(!other.ok && other.error_type, "idempotency_mismatch");
  },

  async "events() goes through every page, forwards and backwards, as far as it is asked"(db) {
    const stock = db.inventory("main");
    const events = Array.from({ length: 7 }, (_, n) => (
      { type: "was_stocked", data: { by: n + 1 } } as const
    ));
    await stock.batch(events).orThrow();
    const amounts = async (direction?: "forwards" | "backwards") => {
      const found: unknown[] = [];
      for await (const { event } of stock.events({ count: 3, direction })) {
        if (event.type === "was_stocked") found.push(event.data.by);
      }
      return found;
    };
    assert.deepEqual(await amounts(), [1, 2, 3, 4, 5, 6, 7]);
    assert.deepEqual(await amounts("backwards"), [7, 6, 5, 4, 3, 2, 1]);
    const page = await stock.eventsPage({ count: 2, raw: true }).orThrow();
    assert.deepEqual(
      page.data.map(({ raw }) => JSON.parse(raw).data),
      [{ by: 1 }, { by: 2 }],
    );
    assert.equal(page.truncated, true);
    for await (const { id } of stock.events({ count: 1 })) {
      assert.equal(id, "000000000000");
      break;
    }
  },

  async "list() gives every id, or every state"(db) {
    const ids: string[] = [];
    for await (const id of db.order.list({ limit: 2 })) ids.push(id);
    assert.deepEqual(ids, ["0RDER0001", "0RDER0002", "0RDER0003", "AAAAAAAA1", "AAAAAAAA2"]);
    const begun: string[] = [];
    for await (const id of db.order.list({ prefix: "AAAAAAAA", limit: 1 })) begun.push(id);
    assert.deepEqual(begun, ["AAAAAAAA1", "AAAAAAAA2"]);
    const customers = await db.customer.listPage({ resolve: true }).orThrow();
    assert.deepEqual(customers.data.map(({ id, data }) => [id, data]), [
      ["AAAAAAAA3", { name: "Ada" }],
    ]);
  },

  async "what is not there is not_found"(db) {
    const missing = await db.order("N0THERE01").get();
    assert.ok(!missing.ok && missing.error_type === "not_found");
    assert.equal(missing.status, 404);
    const untyped = db as unknown as Client;
    const unknown = await untyped.ship!("main").was_launched!({});
    assert.equal(!unknown.ok && unknown.error_type, "not_found");
    const near = await db.order.near({ lat: 0, lng: 0 });
    assert.equal(!near.ok && near.error_type, "not_found");
  },

  async "projections are read by row, as a list, as CSV and with SQL"(db, { server }) {
    await operate(server, "projections", { environment: "test", projection: TOTALS });
    interface Total {
      readonly customer: string;
      readonly total: number | null;
    }
    // A query waits for what was written before it, once the projection is built.
    const sql = "SELECT customer, total FROM order_totals WHERE customer = :customer AND total > 0";
    await soon(async () => {
      const found = await db.$sql<Total>(sql, { customer: "Ada" }).orThrow();
      assert.deepEqual(found.rows, [{ customer: "Ada", total: 12.5 }]);
      assert.deepEqual(found.columns, ["customer", "total"]);
    });
    const row = await db.$projections.row<Total>("order_totals", "0RDER0001").orThrow();
    assert.deepEqual([row.data, row.metadata.position], [{ customer: "Ada", total: 12.5 }, 2]);
    const keys: string[] = [];
    for await (const { metadata } of db.$projections.rows("order_totals", { limit: 2 })) {
      keys.push(metadata.key);
    }
    assert.equal(keys.length, 5);
    const csv = await db.$projections.csv("order_totals", { columns: ["total"] }).orThrow();
    const text = await new Response(csv.stream).text();
    assert.match(text, /^key,total\r\n0RDER0001,12\.5\r\n/);
    const missing = await db.$projections.csv("nowhere");
    assert.equal(!missing.ok && missing.error_type, "not_found");
  },

  async "the lists of an environment are there"(db) {
    for (const list of [db.$sagas, db.$scheduled, db.$errors, db.$listeners]) {
      const { data, truncated } = await list.listPage({ limit: 3 }).orThrow();
      assert.deepEqual([data, truncated], [[], false]);
    }
    for await (const saga of db.$sagas.list({ state: "failed" })) assert.fail(saga.saga_id);
    const answers = await Promise.all([
      db.$sagas.get("saga_1"),
      db.$scheduled.get("sch_1"),
      db.$scheduled.cancel("sch_1"),
      db.$errors.get("err_1"),
      db.$listeners.deliveriesPage("billing"),
    ]);
    for (const answer of answers) assert.equal(!answer.ok && answer.error_type, "not_found");
  },

  async "$types counts aggregates and events"(db) {
    const expected = [["customer", 1, 1], ["inventory", 1, 7], ["order", 5, 8]];
    // The counts follow the log, which the answer of a write does not wait for.
    await soon(async () => {
      const { data } = await db.$types.listPage().orThrow();
      assert.deepEqual(data.map((each) => [each.type, each.aggregates, each.events]), expected);
    });
  },

  async "what an event has set off is told by its number or its id"(db) {
    const order = db.order("0RDER0001");
    const { data, complete } = await order.effects(0).orThrow();
    const { key, stream_id, event_type, depth, implied } = data[0]!;
    assert.deepEqual([key, stream_id, event_type], [order.$key, "000000000000", "was_placed"]);
    assert.deepEqual([depth, implied, complete], [0, [], true]);
    assert.deepEqual((await order.effects("000000000000", { depth: 8 }).orThrow()).data, data);
    const missing = await order.effects(99);
    assert.equal(!missing.ok && missing.error_type, "not_found");
  },

  async "evidence is fetched as the server has it"(db) {
    const signing = await db.$audit.signingKey({ all: true }).orThrow();
    assert.match(signing.public_key, /^[0-9a-f]{64}$/);
    assert.equal(signing.keys?.length, 1);
    assert.deepEqual((await db.$audit.anchorsPage().orThrow()).data, []);
    const bundle = await db.order("0RDER0001").attestation(0);
    assert.equal(!bundle.ok && bundle.error_type, "anchor_not_found");
    const anchor = await db.$audit.anchor("latest");
    assert.equal(!anchor.ok && anchor.error_type, "anchor_not_found");
  },

  async "a key that only reads writes nothing, and is told so"(db, { options, readKey }) {
    const reader = createClient<Shop>({ ...options, key: readKey });
    assert.equal((await reader.order("0RDER0001").get()).ok, true);
    const refused = await reader.order("0RDER0001").was_viewed();
    assert.ok(!refused.ok && refused.error_type === "forbidden");
    assert.match(refused.hint!, /scope/);
    const stranger = await createClient<Shop>({ ...options, key: `${readKey}x` }).order("main")
      .get();
    assert.equal(!stranger.ok && stranger.error_type, "unauthorized");
    assert.deepEqual(await db.order("0RDER0001").length(), { ok: true, length: 2 });
  },

  async "$request makes any call of the API"(db) {
    const found = await db.$request<{ ok: true; name: string }>({ path: "/" }).orThrow();
    assert.match(found.name, /^Daybook/);
  },

  async "a type that this server does not know is not_found, a path is unsupported"(db) {
    const answer = await db.$request({ path: "/_health/_nothing/_here" });
    assert.equal(!answer.ok && answer.error_type, "unsupported");
  },
};

Deno.test("the client against a real server", async (t) => {
  await withShop(async (shop) => {
    const db = createClient<Shop>(shop.options);
    for (const [name, step] of Object.entries(STEPS)) await t.step(name, () => step(db, shop));
  });
});
