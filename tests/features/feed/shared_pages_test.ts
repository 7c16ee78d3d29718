/** Shared pages: one read for many readers, and never an older page than a reader may have. */

import assert from "node:assert/strict";
import type { FeedPage } from "../../../src/domain/feed/page.ts";
import { accept, type Outcome } from "../../../src/domain/refusal.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { feedPageName, openSharedPages } from "../../../src/features/feed/shared_pages.ts";

const TENANT = 1;
const SEEN = { changes: 1, place: "place" };
const REQUEST = { from: "start", limit: 10 };
const PAGE = feedPageName(REQUEST);

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
  const shared = openSharedPages<FeedPage>(() => SEEN);
  const { read, count } = reader();
  const pages = await Promise.all([1, 2, 3].map(() => shared.read(TENANT, PAGE, read)));
  assert.equal(count(), 1);
  assert.ok(pages.every((page) => page === pages[0]));
});

Deno.test("a shared page ends where followers were told that the log ends", async () => {
  const untils: (string | undefined)[] = [];
  const read = (until: string | undefined) => {
    untils.push(until);
    return Promise.resolve(accept(pageOf("1")));
  };
  await openSharedPages<FeedPage>(() => SEEN).read(TENANT, PAGE, read);
  await openSharedPages<FeedPage>(() => undefined).read(TENANT, PAGE, read);
  assert.deepEqual(untils, ["place", undefined]);
});

Deno.test("another cursor, limit, filter or environment is another page", async () => {
  const shared = openSharedPages<FeedPage>(() => SEEN);
  const { read, count } = reader();
  for (const change of [{}, { from: "now" }, { limit: 11 }, { types: "order" }]) {
    await shared.read(TENANT, feedPageName({ ...REQUEST, ...change }), read);
  }
  await shared.read(TENANT + 1, PAGE, read);
  assert.equal(count(), 5);
});

Deno.test("after a change a page is read anew, also while the older read is under way", async () => {
  let changes = 1;
  const shared = openSharedPages<FeedPage>(() => ({ ...SEEN, changes }));
  const held = Promise.withResolvers<Outcome<FeedPage>>();
  const before = shared.read(TENANT, PAGE, () => held.promise);
  changes++;
  const { read } = reader();
  assert.equal(await nextOf(shared.read(TENANT, PAGE, read)), "1");
  held.resolve(accept(pageOf("old")));
  assert.equal(await nextOf(before), "old");
  assert.equal(await nextOf(shared.read(TENANT, PAGE, read)), "1");
});

Deno.test("nothing is shared for an environment that nobody follows", async () => {
  const shared = openSharedPages<FeedPage>(() => undefined);
  const { read, count } = reader();
  for (let n = 0; n < 3; n++) await shared.read(TENANT, PAGE, read);
  assert.equal(count(), 3);
});

Deno.test("a read that failed is tried again by the next reader", async () => {
  const shared = openSharedPages<FeedPage>(() => SEEN);
  const failing = shared.read(TENANT, PAGE, () => Promise.reject(new Error("away")));
  await assert.rejects(failing, { message: "away" });
  assert.equal(await nextOf(shared.read(TENANT, PAGE, reader().read)), "1");
});

Deno.test("a large page is shared while it is read, and not held afterwards", async () => {
  const shared = openSharedPages<FeedPage>(() => SEEN);
  const { read, count } = reader(1024 * 1024);
  await Promise.all([1, 2].map(() => shared.read(TENANT, PAGE, read)));
  assert.equal(count(), 1);
  await shared.read(TENANT, PAGE, read);
  assert.equal(count(), 2);
});
