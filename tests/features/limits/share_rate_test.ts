/**
 * Several processes share one rate limit, in simulated time: how far their total is off. It is
 * compared with what one process would admit, whatever the clocks say and however the load is
 * spread. Across nodes the total must stay within 5% of the limit. See
 * docs/reference/limits.md.
 */

import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import {
  createRequestAdmission,
  type RequestAdmission,
} from "../../../src/features/limits/admit_request.ts";
import { openSharedCounter } from "../../../src/features/limits/share_rate.ts";
import type { Instance, Tier } from "../../../src/domain/access/access.ts";
import { newCounters } from "../../../src/domain/measures/counters.ts";
import { RATES_PER_MINUTE, type RateVerdict } from "../../../src/domain/limits/plan.ts";
import type { Host } from "../../../src/host.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { type FakeHost, fakeHost } from "../../support/fake_host.ts";
import { NODE_STORES } from "../../support/node_stores.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const TICK_MS = 200;
const MINUTE_MS = 60_000;
const MINUTES = 4;
const EPOCH_MS = Date.UTC(2026, 0, 1);

function instance(tier: Tier): Instance {
  return { id: "one", slug: "one", tier, created_at: "2026-01-01T00:00:00.000Z" };
}

/** One process: its wall clock may be wrong and jump; its monotonic clock starts anywhere. */
interface Process {
  readonly admission: RequestAdmission;
  wallSkewMs: number;
}

interface World {
  nowMs: number;
  transactions: number;
}

function startProcess(world: World, engine: Engine, name: string, wallSkewMs: number): Process {
  const startedMs = world.nowMs - name.length * 1_234.5;
  const process = { wallSkewMs };
  const host: Host = {
    ...fakeHost(name),
    nowMs: () => EPOCH_MS + world.nowMs + process.wallSkewMs,
    monotonicMs: () => world.nowMs - startedMs,
    // Nobody has to wait for the store here.
    startTimer: () => () => {},
  };
  const counted: Engine = wrapEngine(engine, {
    transact: (body) => (world.transactions++, engine.transact(body)),
  });
  const sharing = { engine: counted, host, counters: newCounters(), owner: name };
  const admission = createRequestAdmission(
    host,
    (id, kind) => openSharedCounter(sharing, id, kind),
  );
  return Object.assign(process, { admission });
}

interface Scenario {
  readonly what: string;
  readonly tier: Exclude<Tier, "unlimited">;
  /** How far the wall clock of each process is off. */
  readonly skewsMs: readonly number[];
  /** Requests of a process in a tick, as a share of what the limit allows per tick. */
  readonly demand: (process: number, nowMs: number) => number;
  /** What happens before a tick. */
  readonly events?: (processes: Process[], world: World, engine: Engine) => void;
}

interface Result {
  /** When each request was admitted, and when each was asked. */
  readonly admitted: readonly number[];
  readonly asked: readonly number[];
  readonly transactions: number;
}

async function simulate(scenario: Scenario, engines: readonly Engine[]): Promise<Result> {
  const { tier, skewsMs, demand, events } = scenario;
  const world: World = { nowMs: 0, transactions: 0 };
  const engineOf = (index: number) => engines[index % engines.length]!;
  const processes = skewsMs.map((skewMs, index) =>
    startProcess(world, engineOf(index), `node ${index}`, skewMs)
  );
  const perTick = RATES_PER_MINUTE[tier].write * TICK_MS / MINUTE_MS;
  const owed = skewsMs.map(() => 0);
  const [admitted, asked] = [new Array<number>(), new Array<number>()];
  for (; world.nowMs < MINUTES * MINUTE_MS; world.nowMs += TICK_MS) {
    events?.(processes, world, engineOf(0));
    await Promise.all(processes.map(async ({ admission }, index) => {
      owed[index]! += demand(index, world.nowMs) * perTick;
      const count = Math.floor(owed[index]!);
      owed[index]! -= count;
      const verdicts = Array.from(
        { length: count },
        () => admission.admit(instance(tier), "write"),
      );
      for (const { isAdmitted } of await Promise.all(verdicts)) {
        asked.push(world.nowMs);
        if (isAdmitted) admitted.push(world.nowMs);
      }
    }));
    // Requests to the store made meanwhile land within the tick.
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
  return { admitted, asked, transactions: world.transactions };
}

/** The most admissions within any minute. */
function mostInMinute(times: readonly number[]): number {
  let most = 0;
  for (let first = 0, last = 0; last < times.length; last++) {
    while (times[last]! - times[first]! > MINUTE_MS) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}

/** How many one process with an exact window would have admitted. */
function exactly(asked: readonly number[], limit: number): number {
  const admitted: number[] = [];
  for (const time of asked) {
    const earlier = admitted[admitted.length - limit];
    if (earlier === undefined || time - earlier > MINUTE_MS) admitted.push(time);
  }
  return admitted.length;
}

const HOUR_MS = 3_600_000;
const SCENARIOS: readonly Scenario[] = [
  { what: "two with three times the load", tier: "free", skewsMs: [0, 0], demand: () => 1.5 },
  {
    what: "three whose clocks are hours apart",
    tier: "free",
    skewsMs: [0, 10_000, -5 * HOUR_MS],
    demand: () => 1,
  },
  {
    what: "load that goes from one to the other every 20 seconds",
    tier: "free",
    skewsMs: [0, -3_000, 3_000],
    demand: (process, nowMs) => Math.floor(nowMs / 20_000) % 3 === process ? 2 : 0,
  },
  {
    what: "a burst at all of them every 40 seconds",
    tier: "hobby",
    skewsMs: [0, 30_000],
    demand: (_, nowMs) => nowMs % 40_000 === 0 ? 500 : 0.1,
  },
  {
    what: "clocks that leap",
    tier: "free",
    skewsMs: [0, 0],
    demand: () => 1.2,
    events: ([a, b], { nowMs }) => {
      if (nowMs === 50_000) a!.wallSkewMs = 2 * HOUR_MS;
      if (nowMs === 110_000) b!.wallSkewMs = -3 * HOUR_MS;
      if (nowMs === 150_000) a!.wallSkewMs = -24 * HOUR_MS;
    },
  },
  {
    what: "processes that die and come again, with clocks ahead and behind",
    tier: "free",
    skewsMs: [0, 0],
    demand: () => 1.5,
    events: (processes, world, engine) => {
      if (world.nowMs % 45_000 !== 30_000) return;
      const name = `node of ${world.nowMs}`;
      const skewMs = world.nowMs % 2 === 0 ? 50_000 : -50_000;
      processes[world.nowMs % 90_000 === 30_000 ? 0 : 1] = startProcess(
        world,
        engine,
        name,
        skewMs,
      );
    },
  },
  {
    what: "six with a light and uneven load beyond the limit",
    tier: "hobby",
    skewsMs: [0, 1, 2, 3, 4, 5],
    demand: (process) => process === 0 ? 1 : 0.1,
  },
];

for (const { name, open } of NODE_STORES) {
  for (const scenario of SCENARIOS) {
    Deno.test(`${name}: ${scenario.what} admit together what one would, within 5%`, async () => {
      const { engines, dispose } = await open();
      try {
        const limit = RATES_PER_MINUTE[scenario.tier].write;
        const { admitted, asked, transactions } = await simulate(scenario, engines);
        const most = mostInMinute(admitted);
        assert.ok(most <= 1.05 * limit, `${most} within a minute, ${limit} allowed`);
        const expected = exactly(asked, limit);
        const off = admitted.length / expected - 1;
        assert.ok(Math.abs(off) <= 0.05, `${admitted.length} instead of ${expected}`);
        const perMinute = transactions / MINUTES / scenario.skewsMs.length;
        assert.ok(perMinute <= 250, `${perMinute} transactions a minute and process`);
      } finally {
        await dispose();
      }
    });
  }

  Deno.test(`${name}: below the limit nobody is refused, however many share it`, async () => {
    const { engines, dispose } = await open();
    try {
      const skewsMs = [0, 0, 0];
      const demand = (process: number) => [0.6, 0.3, 0.02][process]!;
      const scenario = { what: "", tier: "free", skewsMs, demand } as const;
      const { admitted, asked } = await simulate(scenario, engines);
      assert.equal(admitted.length, asked.length);
      assert.ok(asked.length > 2_000);
    } finally {
      await dispose();
    }
  });
}

/** One process, a store that a test breaks, a clock set by hand. */
async function withOne(
  body: (one: {
    host: FakeHost;
    store: { transact: "works" | "fails" | "hangs" };
    asked: () => number;
    admit: (tier?: Tier) => RateVerdict | Promise<RateVerdict>;
  }) => Promise<void>,
): Promise<void> {
  await withTemporaryEngine(async (inner) => {
    const host = fakeHost();
    const store: { transact: "works" | "fails" | "hangs" } = { transact: "works" };
    let asked = 0;
    const engine: Engine = wrapEngine(inner, {
      transact(body) {
        asked++;
        if (store.transact === "hangs") return new Promise(() => {});
        if (store.transact === "fails" && asked < 50) return Promise.reject(new Error("away"));
        if (store.transact === "fails") throw new Error("it is asked for ever");
        return inner.transact(body);
      },
    });
    const sharing = { engine, host, counters: newCounters(), owner: "one" };
    const open = (id: string, kind: "read" | "write") => openSharedCounter(sharing, id, kind);
    const admission = createRequestAdmission(host, open);
    const admit = (tier: Tier = "free") => admission.admit(instance(tier), "write");
    await body({ host, store, asked: () => asked, admit });
  });
}

Deno.test("most requests are admitted without a word to the store, also after minutes of silence", async () => {
  await withOne(async ({ admit, asked, host }) => {
    assert.deepEqual(await admit(), {
      isAdmitted: true,
      limit: 600,
      remaining: 599,
      retryAfterMs: 0,
    });
    for (let time = 0; time < 6; time++) {
      assert.ok(!(admit() instanceof Promise), "has to wait");
      host.timeMs += 5_000;
    }
    assert.equal(asked(), 1);
    host.timeMs += 600_000;
    assert.equal((await admit()).remaining, 599);
  });
});

Deno.test("a store that fails or does not answer stops nobody, and is asked once a second", async () => {
  for (const how of ["fails", "hangs"] as const) {
    await withOne(async ({ admit, asked, host, store }) => {
      store.transact = how;
      const waiting = [admit(), admit()];
      if (how === "hangs") host.timeMs += 250;
      for (const verdict of waiting) assert.equal((await verdict).isAdmitted, true);
      assert.ok(!(admit() instanceof Promise), "waits again");
      if (how === "hangs") return;
      for (let time = 0; time < 100; time++) assert.equal((await admit()).isAdmitted, true);
      assert.equal(asked(), 1);
      store.transact = "works";
      host.timeMs += 1_000;
      assert.equal((await admit()).remaining, 599);
    });
  }
});

Deno.test("under another tier nothing is used that was taken under the one before", async () => {
  await withOne(async ({ admit }) => {
    const all = await Promise.all(Array.from({ length: 700 }, () => admit("scale")));
    assert.equal(all.filter(({ isAdmitted }) => isAdmitted).length, 700);
    const refused = await admit("free");
    assert.deepEqual([refused.isAdmitted, refused.limit], [false, 600]);
    assert.equal((await admit("hobby")).isAdmitted, true);
  });
});

Deno.test("what is refused says when there is room again, and then there is", async () => {
  await withOne(async ({ admit, host }) => {
    const all = await Promise.all(Array.from({ length: 650 }, () => admit()));
    assert.equal(all.filter(({ isAdmitted }) => isAdmitted).length, 600);
    const { isAdmitted, retryAfterMs } = await admit();
    assert.deepEqual([isAdmitted, retryAfterMs], [false, 60_500]);
    host.timeMs += retryAfterMs - 1;
    assert.equal((await admit()).isAdmitted, false);
    host.timeMs += 1;
    assert.equal((await admit()).isAdmitted, true);
  });
});
