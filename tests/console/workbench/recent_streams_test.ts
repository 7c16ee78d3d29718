/** The streams that have had an event last, from pages of a feed. */

import assert from "node:assert/strict";
import { readRecentStreams } from "../../../console/src/workbench/recent_streams.ts";

interface Page {
  readonly keys: readonly string[];
  readonly erased?: readonly string[];
}

/** A feed of these pages; notes what it was asked. */
function feedOf(pages: readonly Page[], asked: unknown[] = []) {
  const $feedPage = (options: { from?: string; types?: readonly string[] } = {}) => {
    asked.push(options.from, options.types);
    const at = options.from === "start" ? 0 : Number(options.from);
    return Promise.resolve({
      ok: true,
      data: pages[at]!.keys.map((key) => ({ event: { key } })),
      erased: pages[at]!.erased?.map((key) => ({ key })),
      next: String(at + 1),
      up_to_date: at === pages.length - 1,
    });
  };
  return { $feedPage } as unknown as Parameters<typeof readRecentStreams>[0];
}

const WANTED = { type: "order", event: "was_paid", count: 3 };
const { signal } = new AbortController();

Deno.test("readRecentStreams() gives the last ones by their last event, newest first", async () => {
  const asked: unknown[] = [];
  const feed = feedOf([
    { keys: ["order:a", "order:b", "order:c", "order:d:1"] },
    { keys: ["order:a", "order:b"], erased: ["order:c"] },
  ], asked);
  assert.deepEqual(await readRecentStreams(feed, WANTED, signal), {
    ok: true,
    ids: ["b", "a", "d:1"],
    events: 6,
    isCut: false,
  });
  assert.deepEqual(asked, ["start", ["order.was_paid"], "1", ["order.was_paid"]]);
  const two = await readRecentStreams(feed, { ...WANTED, count: 2 }, signal);
  assert.deepEqual(two.ok && two.ids, ["b", "a"]);
});

Deno.test("readRecentStreams() ends after ten pages, and says that there is more", async () => {
  const asked: unknown[] = [];
  const feed = feedOf(Array.from({ length: 20 }, (_, at) => ({ keys: [`order:${at}`] })), asked);
  const found = await readRecentStreams(feed, WANTED, signal);
  assert.deepEqual(found.ok && found, {
    ok: true,
    ids: ["9", "8", "7"],
    events: 10,
    isCut: true,
  });
  assert.equal(asked.length, 20);
});

Deno.test("readRecentStreams() gives the refusal of the server", async () => {
  const refusal = { ok: false, error: "no", error_type: "unavailable", status: 503 };
  const feed = { $feedPage: () => Promise.resolve(refusal) };
  assert.equal(await readRecentStreams(feed as never, WANTED, signal), refusal);
});
