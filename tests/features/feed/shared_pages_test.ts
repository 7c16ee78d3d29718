/** Shared pages: one read for many readers, and never an older page than a reader may have. */

import assert from "node:assert/strict";
import type { FeedPage } from "../../../src/domain/feed/page.ts";
import { accept, type Outcome } from "../../../src/domain/refusal.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { openPageTurns, openSharedPages } from "../../../src/features/feed/feed_service.ts";

const TENANT = 1;
const SEEN = { changes: 1, place: "place" };
const REQUEST = { from: "start", limit: 10 };

function pageOf(next: string, characters = 0): FeedPage {
  const entry = {
    cursor: next,
    key: streamKey("order", "a"),
    id: "0",
    hash: "",
    raw: "x".repeat(characters),
  };
  return { entries: [entry], erased: [], next, isUpToDate: true, isBuilding: false };
}

/** Counts its reads; each page says how many there were. */
function reader(characters = 0) {
  let reads = 0;
  return {
    read: () => Promise.resolve(accept(pageOf(String(++reads), characters))),
    count: () => reads,
  };
}

async function nextOf(outcome: Promise<Outcome<FeedPage>>): Promise<string | undefined> {
  const page = await outcome;
  return page.ok ? page.value.next : undefined;
}

Deno.test("readers of the same page share one read", async () => {
  const shared = openSharedPages(() => SEEN);
  const { read, count } = reader();
  const pages = await Promise.all([1, 2, 3].map(() => shared.read(TENANT, REQUEST, read)));
  assert.equal(count(), 1);
  assert.ok(pages.every((page) => page === pages[0]));
});

Deno.test("a shared page ends where followers were told that the log ends", async () => {
  const untils: (string | undefined)[] = [];
  const read = (until: string | undefined) => {
    untils.push(until);
    return Promise.resolve(accept(pageOf("1")));
  };
  await openSharedPages(() => SEEN).read(TENANT, REQUEST, read);
  await openSharedPages(() => undefined).read(TENANT, REQUEST, read);
  assert.deepEqual(untils, ["place", undefined]);
});

Deno.test("another cursor, limit, filter or environment is another page", async () => {
  const shared = openSharedPages(() => SEEN);
  const { read, count } = reader();
  for (const change of [{}, { from: "now" }, { limit: 11 }, { types: "order" }]) {
    await shared.read(TENANT, { ...REQUEST, ...change }, read);
  }
  await shared.read(TENANT + 1, REQUEST, read);
  assert.equal(count(), 5);
});

Deno.test("after a change a page is read anew, also while the older read is under way", async () => {
  let changes = 1;
  const shared = openSharedPages(() => ({ ...SEEN, changes }));
  const held = Promise.withResolvers<Outcome<FeedPage>>();
  const before = shared.read(TENANT, REQUEST, () => held.promise);
  changes++;
  const { read } = reader();
  assert.equal(await nextOf(shared.read(TENANT, REQUEST, read)), "1");
  held.resolve(accept(pageOf("old")));
  assert.equal(await nextOf(before), "old");
  assert.equal(await nextOf(shared.read(TENANT, REQUEST, read)), "1");
});

Deno.test("nothing is shared for an environment that nobody follows", async () => {
  const shared = openSharedPages(() => undefined);
  const { read, count } = reader();
  for (let n = 0; n < 3; n++) await shared.read(TENANT, REQUEST, read);
  assert.equal(count(), 3);
});

Deno.test("a read that failed is tried again by the next reader", async () => {
  const shared = openSharedPages(() => SEEN);
  const failing = shared.read(TENANT, REQUEST, () => Promise.reject(new Error("away")));
  await assert.rejects(failing, { message: "away" });
  assert.equal(await nextOf(shared.read(TENANT, REQUEST, reader().read)), "1");
});

Deno.test("a large page is shared while it is read, and not held afterwards", async () => {
  const shared = openSharedPages(() => SEEN);
  const { read, count } = reader(1024 * 1024);
  await Promise.all([1, 2].map(() => shared.read(TENANT, REQUEST, read)));
  assert.equal(count(), 1);
  await shared.read(TENANT, REQUEST, read);
  assert.equal(count(), 2);
});

/** A clock that only moves when a test moves it, and turns that it counts. */
function countedTurns() {
  const clock = { nowMs: 0, turns: 0 };
  const nextTurn = () =>
    new Promise<void>((resolve) => setTimeout(() => resolve(void clock.turns++), 0));
  const host = { monotonicMs: () => clock.nowMs, yieldBriefly: nextTurn, yieldTurn: nextTurn };
  return { clock, host };
}

for (const tenants of [[TENANT], [1, 2, 3, 4, 5]]) {
  Deno.test(`many pages of ${tenants.length} environments begin one slice in a turn`, async () => {
    const { clock, host } = countedTurns();
    const begun = new Map<number, number>();
    const running = new Map<number, number>();
    let most = 0;
    async function read(tenant: number): Promise<void> {
      begun.set(clock.turns, (begun.get(clock.turns) ?? 0) + 1);
      running.set(tenant, (running.get(tenant) ?? 0) + 1);
      most = Math.max(most, running.get(tenant)!);
      clock.nowMs += 5;
      for (let n = 0; n < 10; n++) await host.yieldTurn();
      running.set(tenant, running.get(tenant)! - 1);
    }
    const pages = openPageTurns(host, false);
    const all = Array.from({ length: 40 }, (_, n) => tenants[n % tenants.length]!);
    await Promise.all(all.map((tenant) => pages.run(tenant, () => read(tenant))));
    assert.equal(Math.max(...begun.values()), 1);
    assert.ok(most <= 4, `${most} at a time`);
  });
}

Deno.test("pages that take no time are read in one turn, and one that fails is no hindrance", async () => {
  const { clock, host } = countedTurns();
  const pages = openPageTurns(host, false);
  const reads = Array.from(
    { length: 40 },
    (_, n) =>
      pages.run(TENANT, () => n === 7 ? Promise.reject(new Error("away")) : Promise.resolve(n)),
  );
  const read = await Promise.allSettled(reads);
  assert.equal(read.filter(({ status }) => status === "fulfilled").length, 39);
  assert.equal(clock.turns, 0);
});
