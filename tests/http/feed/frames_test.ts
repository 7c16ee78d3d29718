/** Texts of the feed: what a client parses is what was in the page, in its order. */

import assert from "node:assert/strict";
import { PIECE_MS_MAX } from "../../../src/domain/fairness/pieces.ts";
import type { FeedPage } from "../../../src/domain/feed/page.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import {
  caughtUpFrame,
  feedPageBody,
  heartbeatFrame,
  pageFrames,
  refusedFrame,
  type ShownEvent,
} from "../../../src/http/feed/frames.ts";
import { fakeHost } from "../../support/fake_host.ts";

const KEY = streamKey("order", 'a"b');
const HASH = "0".repeat(64);

function entry(cursor: string, text = "é\n\\") {
  return { cursor, key: KEY, id: "000000000000", hash: HASH, raw: JSON.stringify({ text }) };
}

const PAGE: FeedPage = {
  entries: [entry("02"), entry("04")],
  erased: ["01", "03", "05"].map((cursor) => ({ key: KEY, cursor })),
  next: "05",
  isUpToDate: true,
  isBuilding: false,
};

const host = fakeHost();

async function bodyOf(page: FeedPage, shown: ShownEvent) {
  return JSON.parse((await feedPageBody(page, shown, host)).join(""));
}

Deno.test("a page has its entries, and fields that apply only where they do", async () => {
  const { entries, erased } = PAGE;
  const event = { text: "é\n\\" };
  const head = (cursor: string) => ({ cursor, id: "000000000000", hash: HASH });
  assert.deepEqual(await bodyOf(PAGE, "event"), {
    ok: true,
    data: [{ ...head("02"), event }, { ...head("04"), event }],
    next: "05",
    up_to_date: true,
    erased,
  });
  assert.deepEqual((await bodyOf(PAGE, "raw")).data[0], { ...head("02"), raw: entries[0]!.raw });
  const building = { ...PAGE, entries: [], erased: [], isUpToDate: false, isBuilding: true };
  assert.deepEqual(await bodyOf(building, "event"), {
    ok: true,
    data: [],
    next: "05",
    up_to_date: false,
    building: true,
  });
});

Deno.test("a long page is made of parts that are one text", async () => {
  const entries = Array.from(
    { length: 500 },
    (_, n) => entry(`${n}`.padStart(3, "0"), "x".repeat(n)),
  );
  const page = { ...PAGE, entries, erased: [] };
  assert.ok((await feedPageBody(page, "event", host)).length > 1);
  const { data } = await bodyOf(page, "event");
  assert.deepEqual(
    data.map(({ event }: { event: { text: string } }) => event.text.length),
    entries.map((_, number) => number),
  );
});

Deno.test("a long page leaves the thread between its parts when its time slice is over", async () => {
  // The clock passes by a whole slice at each look, so every part ends one.
  let [nowMs, turnCount] = [0, 0];
  const turns = {
    monotonicMs: () => nowMs += PIECE_MS_MAX,
    yieldTurn: () => Promise.resolve(void turnCount++),
  };
  const entries = Array.from({ length: 40 }, (_, n) => entry(`${n}`, "x".repeat(100_000)));
  await feedPageBody({ ...PAGE, entries, erased: [] }, "event", turns);
  assert.equal(turnCount, 40);
});

Deno.test("frames stand in the order of their cursors, one line for each field", async () => {
  const text = pageFrames(PAGE, "sse", "event");
  const frames = text.split("\n\n");
  assert.equal(frames.pop(), "");
  const lines = frames.map((frame) => frame.split("\n"));
  assert.deepEqual(
    lines.map(([event, id]) => [event, id]),
    ["erased", "event", "erased", "event", "erased"]
      .map((type, number) => [`event: ${type}`, `id: 0${number + 1}`]),
  );
  for (const frame of lines) assert.equal(frame.length, 3);
  const parsed = lines.map(([, , data]) => JSON.parse(data!.replace("data: ", "")));
  assert.deepEqual(parsed[1], (await bodyOf(PAGE, "event")).data[0]);
  assert.deepEqual(parsed[0], PAGE.erased[0]);
});

Deno.test("lines have the same as frames, and a type", async () => {
  const lines = pageFrames(PAGE, "ndjson", "raw").split("\n");
  assert.equal(lines.pop(), "");
  const parsed = lines.map((line) => JSON.parse(line));
  assert.deepEqual(parsed[0], { type: "erased", ...PAGE.erased[0] });
  assert.deepEqual(parsed[1], { type: "event", ...(await bodyOf(PAGE, "raw")).data[0] });
});

Deno.test("the other frames, in both forms", () => {
  assert.equal(caughtUpFrame("1", "sse"), 'event: caught_up\nid: 1\ndata: {"cursor":"1"}\n\n');
  assert.equal(caughtUpFrame("1", "ndjson"), '{"type":"caught_up","cursor":"1"}\n');
  assert.match(heartbeatFrame("sse"), /^:.*\n\n$/);
  assert.equal(heartbeatFrame("ndjson"), '{"type":"heartbeat"}\n');
  const body = { error: "no" };
  assert.equal(refusedFrame(body, "sse"), 'event: refused\ndata: {"ok":false,"error":"no"}\n\n');
  assert.equal(refusedFrame(body, "ndjson"), '{"type":"refused","ok":false,"error":"no"}\n');
});

Deno.test("pages and frames may have CloudEvents in the place of events", async () => {
  const metadata = { actor: { type: "user", id: "global" }, timestamp: 0 };
  const raw = JSON.stringify({ key: "order:global", type: "was_paid", data: { n: 1 }, metadata });
  const page = { ...PAGE, entries: [{ ...entry("02"), id: "000000000007", raw }], erased: [] };
  const shown = { source: "/instances/i/test" };
  const { cursor, id, hash, cloudevent, event } = (await bodyOf(page, shown)).data[0];
  assert.deepEqual([cursor, id, hash, event], ["02", "000000000007", HASH, undefined]);
  assert.deepEqual(cloudevent, {
    specversion: "1.0",
    id: "order:global/7",
    source: "/instances/i/test",
    type: "order.was_paid",
    subject: "order:global",
    time: "1970-01-01T00:00:00.000Z",
    datacontenttype: "application/json",
    streamindex: 7,
    chainhash: HASH,
    actor: "user:global",
    data: { n: 1 },
  });
  const [line] = pageFrames(page, "ndjson", shown).split("\n");
  assert.deepEqual(JSON.parse(line!).cloudevent, cloudevent);
});
