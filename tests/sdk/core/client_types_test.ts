/**
 * The types of the client: `deno check` is the test. Each line under a `@ts-expect-error` must not
 * compile, and the assertions of types hold for what does.
 */

import assert from "node:assert/strict";
import {
  type AnyTypes,
  type Client,
  createClient,
  type ErrorType,
  type Refusal,
} from "@daybook/client";
import type { OrderState, Shop } from "../shop_server.ts";
import { answers, scriptedWorld } from "./scripted_world.ts";

/** Compiles only if both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true
  : false;

function holds<_Claim extends true>(): void {}

const world = scriptedWorld([answers(400, { ok: false, error: "x", error_type: "bad_request" })]);
const db: Client<Shop> = createClient<Shop>({ url: "http://shop.test", world });

Deno.test("types: data of another event, and names that are not in the spec, do not compile", async () => {
  const order = db.order("main");
  await order.was_placed({ customer: "Ada", total: 1 });
  await order.was_viewed();
  // @ts-expect-error: `customer` is required
  await order.was_placed({ total: 1 });
  // @ts-expect-error: data is required
  await order.was_placed();
  // @ts-expect-error: a number is wanted
  await order.was_paid({ amount: "3" });
  // @ts-expect-error: no such field
  await order.was_paid({ amount: 3, currency: "EUR" });
  // @ts-expect-error: no such event type
  await (() => order.was_shipped({}));
  // @ts-expect-error: no such aggregate type
  (() => db.parcel("main"));
  // @ts-expect-error: the data is that of another type
  await order.write("was_paid", { text: "a" });
  // @ts-expect-error: the data is that of another type
  await order.batch([{ type: "was_paid", data: { text: "a" } }]);
  // @ts-expect-error: the data is that of another type
  order.was_paid.event({ text: "a" });
  // @ts-expect-error: an event of another aggregate type
  await db.$atomic([{
    aggregate_type: "order",
    id: "main",
    events: [{ type: "was_renamed", data: { name: "A" } }],
  }]);
  // @ts-expect-error: no such actor type
  await order.was_paid({ amount: 3 }, { actor: { type: "robot", id: "main" } });
  // @ts-expect-error: no such target type
  await order.was_paid({ amount: 3 }, { target: { type: "order", id: "main" } });
  // @ts-expect-error: no such option
  await order.was_paid({ amount: 3 }, { previousLength: 3 });
  // @ts-expect-error: an update guards itself
  await order.update(() => undefined, { previous_length: 3 });
  // @ts-expect-error: a decision gives events of its own type
  await order.update(() => ({ type: "was_renamed", data: { name: "Ada" } }));
  assert.ok(world.sent.length > 0);
});

Deno.test("types: answers narrow on ok, and refusals on error_type", async () => {
  const answer = await db.order("main").get();
  // @ts-expect-error: it may be a refusal
  void answer.data;
  if (answer.ok) {
    holds<Same<typeof answer.data, OrderState>>();
    holds<Same<typeof answer.metadata.length, number>>();
  } else {
    holds<Same<typeof answer.error_type, ErrorType>>();
    holds<Same<typeof answer.error, string>>();
    // @ts-expect-error: only conflicts have it
    void answer.current_length;
    if (answer.error_type === "occ_conflict") holds<Same<typeof answer.current_length, number>>();
    if (answer.error_type === "cursor_expired") holds<Same<typeof answer.newest, string>>();
    if (answer.error_type === "schema_validation") {
      holds<Same<typeof answer.details[number]["path"], string>>();
    }
    // @ts-expect-error: there is no such type of refusal
    assert.notEqual(answer.error_type === "no_such", true);
  }
  const value = db.order("main").get().orThrow();
  holds<Same<Awaited<typeof value>["data"], OrderState>>();
  await assert.rejects(value);
  // A switch over every refusal is complete.
  const textOf = (refusal: Refusal<"aborted" | "timed_out">): string => {
    switch (refusal.error_type) {
      case "aborted":
        return "aborted";
      case "timed_out":
        return "late";
    }
  };
  assert.ok(textOf);
});

Deno.test("types: stored events narrow on their type", async () => {
  const read = async () => {
    for await (const { event } of db.order("main").events()) {
      if (event.type === "was_paid") holds<Same<typeof event.data, { readonly amount: number }>>();
      if (event.type === "_was_tombstoned") {
        holds<Same<typeof event.data.original_type, string>>();
      }
      // @ts-expect-error: no event has this type
      assert.notEqual(event.type === "was_renamed", true);
    }
    for await (const entry of db.order("main").events({ raw: true })) {
      holds<Same<typeof entry.raw, string>>();
      // @ts-expect-error: there is the text instead
      void entry.event;
    }
  };
  await assert.rejects(read());
});

Deno.test("types: the feed gives events, and notices to those who ask for them", async () => {
  const feed = async () => {
    for await (const item of db.$feed({ types: ["order", "customer.*", "order.was_paid"] })) {
      holds<Same<typeof item.type, "event">>();
      if (item.event.type === "was_renamed") {
        holds<Same<typeof item.event.data, { readonly name: string }>>();
      }
    }
    for await (const item of db.$feed({ notices: true, raw: true })) {
      if (item.type === "event") holds<Same<typeof item.raw, string>>();
      if (item.type === "erased") holds<Same<typeof item.key, string>>();
    }
    // @ts-expect-error: no such event type
    db.$feed({ types: ["order.was_renamed"] });
  };
  await assert.rejects(feed());
  const follow = async () => {
    for await (const { data, metadata } of db.order("main").live()) {
      holds<Same<typeof data, OrderState>>();
      holds<Same<typeof metadata.length, number>>();
    }
    for await (const item of db.customer("main").tail()) {
      holds<Same<typeof item.type, "event">>();
      // @ts-expect-error: no event of a customer has this type
      assert.notEqual(item.event.type === "was_paid", true);
    }
  };
  await assert.rejects(follow());
});

Deno.test("types: lists give ids or states, SQL and projections the rows that are named", async () => {
  const read = async () => {
    for await (const id of db.order.list()) holds<Same<typeof id, string>>();
    for await (const item of db.order.list({ resolve: true })) {
      if (item.data !== undefined) holds<Same<typeof item.data, OrderState>>();
    }
  };
  await assert.rejects(read());
  const found = await db.$sql<{ readonly total: number }>("SELECT 1 AS total");
  if (found.ok) holds<Same<typeof found.rows, readonly { readonly total: number }[]>>();
});

Deno.test("types: a client without types lets everything through", async () => {
  const loose = createClient({ url: "http://shop.test", world });
  holds<Same<typeof loose, Client<AnyTypes>>>();
  await loose.order!("main").was_placed!({ anything: 1 });
  await loose.order!("main").batch([{ type: "was_placed", data: { anything: 1 } }]);
  const answer = await loose.order!("main").get();
  if (answer.ok) assert.equal(answer.data.anything.at.all, undefined);
  // What belongs to the client and to handles keeps its own type.
  const { $sql } = loose;
  assert.equal(typeof $sql, "function");
});

Deno.test("types: a handle is no promise, and neither is a client", async () => {
  // deno-lint-ignore no-explicit-any -- what `await` looks at
  const [handle, client] = [db.order("main"), db] as any[];
  assert.equal(handle.then, undefined);
  assert.equal(client.then, undefined);
  assert.equal(await handle, handle);
  assert.equal(JSON.stringify(handle), '{"$key":"order:main"}');
});
