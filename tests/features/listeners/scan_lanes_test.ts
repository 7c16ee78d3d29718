/** Which marked lanes a scan finds, how many at a time, and when it lets others run. */

import assert from "node:assert/strict";
import type { Lane } from "../../../src/domain/listener/delivery.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { QUEUE_SHARDS } from "../../../src/domain/fairness/work_share.ts";
import { LANES_AHEAD, openEndpoints } from "../../../src/features/listeners/delivery_endpoints.ts";
import { type LaneScan, openLaneScanner } from "../../../src/features/listeners/scan_lanes.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { laneShard, markLane, restLane } from "../../../src/store/listeners/deliveries.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";

const SHARDS = Array.from({ length: QUEUE_SHARDS.lane }, (_, shard) => shard);

function lanesOf(listener: string, count: number): Lane[] {
  const stream = (n: number) => streamKey("order", String(n));
  return Array.from({ length: count }, (_, n) => ({ tenant: 1, listener, stream: stream(n) }));
}

function nameOf({ listener, stream }: Lane): string {
  return `${listener} ${stream}`;
}

async function mark(engine: Engine, lanes: readonly Lane[]): Promise<void> {
  await engine.transact(async (tx) => await lanes.forEach((lane) => markLane(tx, lane)));
}

/** Removes their marks, as the work on lanes without deliveries does. */
async function rest(engine: Engine, lanes: readonly Lane[]): Promise<void> {
  await engine.transact(async (tx) => {
    for (const lane of lanes) await restLane(tx, lane, 0);
  });
}

function scannerOf(engine: Engine, host = fakeHost()) {
  const endpoints = openEndpoints(() => "an instance");
  const busy = new Set<string>();
  const isBusy = (lane: Lane) => busy.has(nameOf(lane));
  return { ...openLaneScanner({ engine, host, endpoints, isBusy }), endpoints, busy };
}

function foundIn({ found }: LaneScan): Lane[] {
  return found.flatMap(({ lanes }) => lanes);
}

Deno.test("a scan takes as many lanes of a listener as it has room for, from however many shards", async () => {
  await withTemporaryEngine(async (engine) => {
    const lanes = lanesOf("hook", 400);
    assert.equal(new Set(lanes.map(laneShard)).size, SHARDS.length, "they are in all shards");
    await mark(engine, [...lanes, ...lanesOf("other", 3)]);
    const scan = await scannerOf(engine).scan(SHARDS);
    const found = foundIn(scan);
    const of = (name: string) => found.filter(({ listener }) => listener === name).length;
    assert.deepEqual([of("hook"), of("other")], [LANES_AHEAD, 3]);
    const ofHook = scan.found.filter(({ at }) => at.listener === "hook");
    assert.deepEqual(ofHook.map(({ shard }) => shard).toSorted((a, b) => a - b), SHARDS);
    for (const { shard, lanes: taken, hasMore } of ofHook) {
      const { length } = lanes.filter((lane) => laneShard(lane) === shard);
      assert.equal(hasMore, taken.length < length, `shard ${shard}`);
    }
  });
});

Deno.test("scans find each marked lane once its listener has room, and begin with another shard each", async () => {
  await withTemporaryEngine(async (engine) => {
    const lanes = lanesOf("hook", 400);
    await mark(engine, lanes);
    const { scan } = scannerOf(engine);
    const seen: Lane[] = [];
    const firsts: number[] = [];
    for (let found = foundIn(await scan(SHARDS)); found.length > 0;) {
      firsts.push(laneShard(found[0]!));
      await rest(engine, found);
      seen.push(...found);
      found = foundIn(await scan(SHARDS));
    }
    assert.deepEqual(seen.map(nameOf).sort(), lanes.map(nameOf).sort());
    assert.deepEqual(firsts.slice(0, 3), [0, 1, 2]);
  });
});

Deno.test("a lane that is busy is not found, and takes no room from the others", async () => {
  await withTemporaryEngine(async (engine) => {
    const lanes = lanesOf("hook", 10);
    await mark(engine, lanes);
    const { scan, busy } = scannerOf(engine);
    busy.add(nameOf(lanes[3]!));
    const found = foundIn(await scan(SHARDS));
    assert.deepEqual(found.map(nameOf).sort(), lanes.toSpliced(3, 1).map(nameOf).sort());
  });
});

Deno.test("a listener without room is passed over, and the scan says so", async () => {
  await withTemporaryEngine(async (engine) => {
    await mark(engine, [...lanesOf("full", 5), ...lanesOf("hook", 5)]);
    const { scan, endpoints } = scannerOf(engine);
    const endpoint = endpoints.open(1, "full");
    endpoint.waiting.push(...lanesOf("full", LANES_AHEAD));
    const found = await scan(SHARDS);
    assert.deepEqual([...found.full], [endpoint]);
    assert.deepEqual(new Set(foundIn(found).map(({ listener }) => listener)), new Set(["hook"]));
  });
});

Deno.test("a scan over many listeners reads for some milliseconds, then lets others run", async () => {
  await withTemporaryEngine(async (engine) => {
    const names = Array.from({ length: 100 }, (_, n) => `hook${n}`);
    const lanes = names.flatMap((name) => lanesOf(name, 40));
    await mark(engine, lanes);
    const host = fakeHost();
    let nowMs = 0;
    let yields = 0;
    const reads: number[] = [];
    const snapshot: Engine["snapshot"] = (body, options) => {
      const at = reads.push(0) - 1;
      return engine.snapshot((tx) => {
        const getRange: typeof tx.getRange = (range, asked) => {
          reads[at]!++;
          nowMs += 0.5;
          return tx.getRange(range, asked);
        };
        return body({ get: tx.get.bind(tx), readVersion: tx.readVersion.bind(tx), getRange });
      }, options);
    };
    const counting = wrapEngine(engine, { snapshot });
    const yieldTurn = host.yieldTurn;
    host.monotonicMs = () => nowMs;
    host.yieldTurn = () => (yields++, yieldTurn());
    const { scan } = scannerOf(counting, host);
    let found = 0;
    for (let page = foundIn(await scan(SHARDS)); page.length > 0;) {
      found += page.length;
      await rest(engine, page);
      page = foundIn(await scan(SHARDS));
    }
    assert.equal(found, lanes.length);
    // Four shards, of which each finishes the visit that it is at: two reads.
    assert.ok(Math.max(...reads) <= 8 + 2 * 4, `${Math.max(...reads)} reads at a time`);
    assert.ok(yields > reads.length / 2, "a turn between two of them");
  });
});
