/** What `deno task bench:peers` computes and prints; that the peers run is seen by running it. */

import assert from "node:assert/strict";
import {
  type Entry,
  type Figures,
  isMeasured,
  readFigures,
  withEntry,
  writeFigures,
} from "../../scripts/peers/figures.ts";
import { type Find, GOALS, judge } from "../../scripts/peers/goals.ts";
import type { Peer, RunningPeer } from "../../scripts/peers/catalog.ts";
import { formatChart } from "../../scripts/peers/chart.ts";
import { fill } from "../../scripts/peers/load_works.ts";
import {
  findIn,
  formatFigures,
  formatGoals,
  formatPeers,
  notesOf,
  type PeerResult,
  resultsOf,
} from "../../scripts/peers/report.ts";
import { type Done, runWorks } from "../../scripts/peers/runner.ts";
import { SIZES } from "../../scripts/peers/sizes.ts";
import { requestBuilder } from "../../scripts/bench/requests.ts";
import { openZipf } from "../../scripts/peers/zipf.ts";

const DRAWS = 200_000;

Deno.test("openZipf() draws each of few streams as often as the law says, within a tenth", () => {
  const [count, skew] = [5, 0.99];
  let state = 1;
  const random = () => (state = state * 48_271 % 2_147_483_647) / 2_147_483_647;
  const draw = openZipf(count, skew, random);
  const drawn = new Array<number>(count).fill(0);
  for (let number = 0; number < DRAWS; number++) drawn[draw()]!++;
  assert.equal(drawn.reduce((sum, each) => sum + each), DRAWS);
  const weights = drawn.map((_, index) => (index + 1) ** -skew);
  const sum = weights.reduce((all, each) => all + each);
  // The first two are exact; the method only comes near the others.
  for (const index of [0, 1]) {
    const expected = DRAWS * weights[index]! / sum;
    assert.ok(Math.abs(drawn[index]! - expected) < expected / 50, `${index}: ${drawn[index]}`);
  }
  assert.deepEqual(drawn, drawn.toSorted((a, b) => b - a));
});

Deno.test("openZipf() stays within its streams at both ends of what is drawn", () => {
  for (const drawn of [0, 1e-12, 0.5, 1 - 2 ** -53]) {
    const stream = openZipf(1_000, 0.99, () => drawn)();
    assert.ok(Number.isInteger(stream) && stream >= 0 && stream < 1_000, `${drawn}: ${stream}`);
  }
});

function resultOf(kind: Peer["kind"], name: string, rate: number, bytes?: number): PeerResult {
  const measured = [{ work: "append", value: rate, unit: "req/s" }];
  if (bytes !== undefined) measured.push({ work: "disk", value: bytes, unit: "bytes" });
  const skipped = bytes === undefined ? [{ work: "disk", reason: "keeps nothing" }] : [];
  return { name, kind, version: "1", remark: "of the test", measured, skipped };
}

const RESULTS = [
  resultOf("durable", "slow", 50, 100),
  resultOf("ours", "daybook", 300, 250),
  resultOf("durable", "fast", 150),
  resultOf("not durable", "careless", 900, 1),
];

Deno.test("formatPeers() has a line for each work and the ratio to the best of the durable peers", () => {
  assert.deepEqual(formatPeers(RESULTS).split("\n"), [
    "| work | unit | slow | daybook | fast | careless | ours to their best |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    "| append | req/s | 50.0 | 300.0 | 150.0 | 900.0 | 2.00x |",
    "| disk | bytes | 100.0 | 250.0 |  | 1.00 | **0.40x** |",
  ]);
});

Deno.test("notesOf() tells of each peer what it is and what is left out, with why", () => {
  assert.deepEqual(notesOf(RESULTS).split("\n"), [
    "- **slow** (1): of the test",
    "- **daybook** (1): of the test",
    "- **fast** (1): of the test",
    "  - disk: keeps nothing",
    "- **careless** (1): of the test",
  ]);
});

Deno.test("goals compare with the best of the event stores, and know what is more and what is less", () => {
  const figures: Record<string, number> = {
    "daybook/append, 64 connections": 6_000,
    "message-db/append, 64 connections": 1_500,
    "message-db/append over 256 types, 64": 2_000,
    "emmett sqlite/append, 64 connections": 500,
    "redis streams/append, 64 connections": 10_000,
    "daybook/batches of 10000, 2": 100_000,
    "daybook/disk for an event of 256 bytes": 1_024,
  };
  const find: Find = (peer, work) => figures[`${peer}/${work}`];
  const reached = GOALS.map((goal) => goal.reached(find));
  assert.deepEqual(reached.slice(0, 6), [3, undefined, 0.6, undefined, 4, 100_000]);
  assert.equal(reached.at(-1), 4);
  assert.deepEqual(
    formatGoals(GOALS, find).split("\n").filter((line) => !line.includes("not measured")).slice(2)
      .map((line) => line.split("|").slice(2, 6).map((cell) => cell.trim())),
    [
      ["3.00x", "4x", "2x", "floor"],
      ["0.60x", "1.2x", "0.7x", "BELOW THE FLOOR"],
      ["4.00x", "20x", "8x", "BELOW THE FLOOR"],
      ["100,000 events/s", "150,000 events/s", "80,000 events/s", "floor"],
      ["4.00 x of 256", "at most 2 x of 256", "at most 3 x of 256", "BELOW THE FLOOR"],
    ],
  );
});

Deno.test("judge() counts the line itself as reached, in both directions", () => {
  const more = { ...GOALS[0]!, goal: 4, floor: 2 };
  const less = { ...more, goal: 2, floor: 4, isAtMost: true };
  assert.deepEqual([4, 2, 1.99].map((each) => judge(more, each)), [
    "goal",
    "floor",
    "BELOW THE FLOOR",
  ]);
  assert.deepEqual([2, 4, 4.01].map((each) => judge(less, each)), [
    "goal",
    "floor",
    "BELOW THE FLOOR",
  ]);
});

function entryOf(peer: string, work: string, rest: Partial<Entry> = {}): Entry {
  const outcomes = [{ work: `${work}, 1`, value: 10, unit: "req/s" }];
  const run = { sizes: "small", startedAt: "2026-01-02T03:04:05Z", seconds: 1, load: 0.5 };
  return { peer, work, ...run, commit: "abc", outcomes, ...rest };
}

const EMPTY: Figures = {
  machine: ["a machine"],
  versions: { deno: "Deno 2" },
  sync: { p50: 0.1, p99: 0.2 },
  entries: [],
};

Deno.test("withEntry() puts a figure that is taken again in the place of the old one", () => {
  const first = withEntry(EMPTY, entryOf("daybook", "append"));
  const both = withEntry(first, entryOf("daybook", "zipf"));
  const again = withEntry(both, entryOf("daybook", "append", { commit: "def" }));
  const told = again.entries.map(({ work, commit }) => [work, commit]).sort();
  assert.deepEqual(told, [["append", "def"], ["zipf", "abc"]]);
});

Deno.test("isMeasured() is false for what failed", () => {
  const failed = entryOf("daybook", "append", { outcomes: [], failure: "no room" });
  assert.equal(isMeasured(withEntry(EMPTY, failed), "daybook", "append"), false);
  assert.equal(
    isMeasured(withEntry(EMPTY, entryOf("daybook", "append")), "daybook", "append"),
    true,
  );
});

Deno.test("the file of figures reads as it was written, and is nothing where it is not", async () => {
  const folder = await Deno.makeTempDir();
  const figures = withEntry(EMPTY, entryOf("daybook", "append"));
  assert.equal(await readFigures(`${folder}/peers.json`), undefined);
  await writeFigures(`${folder}/peers.json`, figures);
  assert.deepEqual(await readFigures(`${folder}/peers.json`), figures);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("resultsOf() follows the list of peers and works, whatever was measured first", () => {
  const failed = entryOf("redis streams", "append", { outcomes: [], failure: "no room" });
  const entries = [failed, entryOf("daybook", "listing"), entryOf("daybook", "append")];
  const results = resultsOf(entries.reduce(withEntry, EMPTY));
  assert.deepEqual(results.map(({ name }) => name), ["daybook", "redis streams"]);
  assert.deepEqual(results[0]!.measured.map(({ work }) => work), ["append, 1", "listing, 1"]);
  assert.deepEqual(results[1]!.skipped, [{ work: "append", reason: "FAILED: no room" }]);
  assert.equal(findIn(results)("daybook", "listing, 1"), 10);
});

Deno.test("formatFigures() says when, where, with what and of which commit", () => {
  const text = formatFigures(withEntry(EMPTY, entryOf("daybook", "append")));
  assert.match(text, /^- Measured 2026-01-02T03:04 UTC, small sizes, of abc\.\n- a machine\n/);
  assert.match(text, /fdatasync of 4 KiB: p50 0\.100 ms, p99 0\.200 ms/);
});

Deno.test("formatChart() has a bar for each store, the fastest first, as long as it is fast", () => {
  const rates = { "daybook": 400, "emmett sqlite": 200, "nats jetstream": 800, "no-op": 9_000 };
  const figures = Object.entries(rates).map(([peer, value]) =>
    entryOf(peer, "append", {
      outcomes: [{ work: "append, 64 connections", value, unit: "req/s" }],
    })
  ).reduce(withEntry, EMPTY);
  const chart = formatChart(figures);
  const names = [...chart.matchAll(/text-anchor="end"[^>]*>([^<]+)</g)].map(([, name]) => name);
  assert.deepEqual(names, ["nats jetstream", "daybook", "emmett sqlite"]);
  const widths = [...chart.matchAll(/ width="([\d.]+)" height="20"/g)].map(([, width]) => +width!);
  assert.deepEqual(widths.map((width) => width / widths[0]!), [1, 0.5, 0.25]);
  for (const figure of ["800 (not durable)", "400", "200"]) {
    assert.ok(chart.includes(`>${figure}<`));
  }
  assert.match(chart, /a route that stores nothing answers 9,000 requests per second/);
});

/** A peer that answers as `answer` says; its works are found by their names in the real list. */
async function withPeer<T>(
  answer: (request: Request) => Response | Promise<Response>,
  work: (peer: Peer, running: () => number) => Promise<T>,
): Promise<T> {
  const state = { running: 0 };
  async function start(): Promise<RunningPeer> {
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
    state.running++;
    const target = { port: server.addr.port, serverPid: Deno.pid, requests: requestBuilder("k") };
    return await Promise.resolve({
      target,
      pids: () => [Deno.pid],
      dataBytes: () => Promise.resolve(0),
      async stop() {
        state.running--;
        await server.shutdown();
      },
    });
  }
  const needs = { programs: [], packages: [] };
  const told = { name: "a peer", version: "1", remark: "of the test", kind: "durable" } as const;
  return await work({ ...told, needs, start }, () => state.running);
}

/** Of one store. */
const TWO_WORKS = "hot stream,zipf";

const QUICK = {
  ...SIZES.small,
  seconds: 0.05,
  warmupSeconds: 0.01,
  settleSeconds: 0.01,
  connections: [1],
};

async function runAsked(
  works: string,
  answer: (request: Request) => Response | Promise<Response>,
  minutes: number,
): Promise<Done[]> {
  const folder = await Deno.makeTempDir();
  const done: Done[] = [];
  await withPeer(answer, async (peer, running) => {
    const installed = { cache: folder, program: () => undefined, npm: {}, problems: [] };
    await runWorks({
      peers: [peer],
      place: { installed, folder, wrapper: [] },
      sizes: { ...QUICK, minutes },
      isAsked: (_, { name }) => works.split(",").includes(name),
      onDone: (_peer, _work, each) => Promise.resolve(void done.push(each)),
    });
    assert.equal(running(), 0);
  });
  assert.deepEqual([...Deno.readDirSync(folder)], []);
  await Deno.remove(folder);
  return done;
}

/** A body that nobody reads would end the connection. */
async function created(request: Request): Promise<Response> {
  await request.arrayBuffer();
  return Response.json({ ok: true }, { status: 201 });
}

Deno.test("runWorks() measures works of one store on one server and leaves nothing behind", async () => {
  const done = await runAsked(TWO_WORKS, created, 1);
  assert.deepEqual(done.map(({ failure, outcomes }) => [failure, outcomes.length]), [
    [undefined, 1],
    [undefined, 1],
  ]);
});

Deno.test("runWorks() shows a peer that fails as failed, and goes on with the next work", async () => {
  let asked = 0;
  const answer = async (request: Request) =>
    asked++ === 5 ? new Response("no room", { status: 500 }) : await created(request);
  const done = await runAsked(TWO_WORKS, answer, 1);
  assert.match(done[0]!.failure ?? "", /expected 201: 500/);
  assert.equal(done[1]!.failure, undefined);
});

Deno.test("runWorks() keeps what a work has given before it failed", async () => {
  let events = 0;
  const answer = async (request: Request) => {
    events = (await request.json()).events.length;
    const status = events === 10 ? 201 : 500;
    return Response.json({ ok: true }, { status });
  };
  const [done] = await runAsked("batch", answer, 1);
  assert.equal(events, 1_000);
  assert.deepEqual(done!.outcomes.map(({ work }) => work), ["batches of 10, 2"]);
  assert.match(done!.failure ?? "", /expected 201: 500/);
});

Deno.test("runWorks() begins nothing when its minutes are over", async () => {
  const done = await runAsked(TWO_WORKS, created, -1);
  assert.deepEqual(done.map(({ failure }) => failure), [
    "not begun after -1 minutes",
    "not begun after -1 minutes",
  ]);
});

Deno.test("fill() tells how many events it has written, and nothing when the time was over", async () => {
  let written = 0;
  const answer = async (request: Request) => {
    const { events } = await request.json();
    written += events.length;
    return Response.json({ ok: true }, { status: 201 });
  };
  await withPeer(answer, async (peer) => {
    const running = await peer.start(undefined as never);
    assert.equal(await fill(running, QUICK, { first: 0, count: 3, length: 1_500 }), 6_000);
    assert.equal(written, 6_000);
    assert.equal(
      await fill(running, { ...QUICK, fillSeconds: -1 }, { first: 0, count: 3, length: 1_500 }),
      undefined,
    );
    await running.stop();
  });
});
