/** States read within the caller's own read equal those of a separate read. */

import assert from "node:assert/strict";
import { newCounters } from "../../../src/domain/measures/counters.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import type { CompiledAggregateType } from "../../../src/domain/spec/compiled.ts";
import { streamKey } from "../../../src/domain/identifier.ts";
import { openSpecCache } from "../../../src/features/base/current_spec.ts";
import {
  type AggregateReader,
  createAggregateReader,
} from "../../../src/features/states/read_aggregate.ts";
import { readHead } from "../../../src/store/streams/streams.ts";
import type { StreamHead } from "../../../src/store/streams/stream_head.ts";
import { openSmallReader } from "../../../src/features/states/read_small.ts";
import { openStateCache } from "../../../src/features/states/state_cache.ts";
import { erase } from "../../support/erasure_fixtures.ts";
import { noRunners } from "../../support/no_modules.ts";
import { type ServiceFixture, uuid, withService } from "../../support/service_fixture.ts";
import { writeShop } from "../../support/shop_projections.ts";
import { shopSpec } from "../../support/projection_shop.ts";

const ORDER = streamKey("order", uuid(1));
/** More than is folded in one go. */
const LONG = "x".repeat(70_000);

interface SmallRead {
  readonly head: StreamHead;
  /** Null without events. */
  readonly state: JsonObject | null;
}

interface Reading extends ServiceFixture {
  readonly reader: AggregateReader;
  readonly type: CompiledAggregateType;
  /** How states were obtained since the last call. */
  counts(): Record<string, number>;
  place(lines: readonly string[]): Promise<void>;
  add(line: string): Promise<void>;
  small(remembers?: boolean): Promise<SmallRead | undefined>;
  /** Folded from the events alone. */
  folded(): Promise<JsonObject | null>;
}

async function withReader(body: (reading: Reading) => Promise<void>): Promise<void> {
  await withService(async (fixture) => {
    const { service, engine, host, tenants: { test } } = fixture;
    const specs = openSpecCache(engine, host);
    const counters = newCounters();
    const cache = openStateCache();
    const keep = () => {};
    const reader = createAggregateReader({
      engine,
      host,
      specs,
      cache,
      onSnapshotDue: keep,
      runners: noRunners,
      counters,
    });
    const type = (await specs.current(test.number)).aggregateTypes.get("order")!;
    const write = (event: string, data: JsonObject) =>
      writeShop(service, test, {
        streams: new Map(),
        stream: ["order", uuid(1)],
        event: { type: event, data },
        nowMs: host.timeMs,
      });
    await body({
      ...fixture,
      reader,
      type,
      counts() {
        const seen = [...counters.stateReads].filter(([, count]) => count > 0);
        for (const [how] of seen) counters.stateReads.set(how, 0);
        return Object.fromEntries(seen);
      },
      place: (lines) => write("was_placed", { lines: [...lines] }),
      add: (line) => write("had_line_added", { line }),
      small: (remembers = true) =>
        engine.snapshot(async (tx) => {
          const head = await readHead(tx, test.number, ORDER);
          if (head.length === 0) return { head, state: null };
          const request = { stream: ORDER, type, remembers };
          const fold = await reader.readSmallAt(tx, test.number, request, { head });
          const made = fold?.();
          return made && { head, state: made.state };
        }),
      async folded() {
        const options = { synchronous: true, bytesMax: Infinity };
        const read = await reader.readFolded(test.number, ORDER, type, options);
        assert.ok(read.ok);
        return read.value.head.length === 0 ? null : JSON.parse(read.value.stateJson);
      },
    });
    await specs.close();
  }, { spec: shopSpec() });
}

Deno.test("readSmallAt() gives the head and the state, from the events and then from memory", async () => {
  await withReader(async ({ small, place, add, folded, counts }) => {
    assert.deepEqual((await small())?.state, null);
    await place(["a"]);
    assert.deepEqual((await small())?.state, { lines: ["a"] });
    assert.deepEqual(counts(), { events: 1 });
    assert.deepEqual((await small())?.state, { lines: ["a"] });
    assert.deepEqual(counts(), { memory: 1 });
    await add("b");
    const read = await small();
    assert.deepEqual(read?.state, { lines: ["a", "b"] });
    assert.equal(read?.head.length, 2);
    assert.deepEqual(counts(), { memory: 1 });
    assert.deepEqual(read?.state, await folded());
  });
});

Deno.test("readSmallAt() keeps nothing in memory where it is told so", async () => {
  await withReader(async ({ small, place, counts }) => {
    await place(["a"]);
    for (let read = 0; read < 2; read++) {
      assert.deepEqual((await small(false))?.state, { lines: ["a"] });
    }
    assert.deepEqual(counts(), { events: 2 });
  });
});

Deno.test("readSmallAt() leaves what takes long to others, and goes on from what they remember", async () => {
  await withReader(async ({ small, place, add, reader, type, tenants: { test } }) => {
    await place(["a"]);
    await add(LONG);
    assert.equal(await small(), undefined, "many bytes of events");
    await place(["b"]);
    const options = { synchronous: false, bytesMax: Infinity };
    assert.ok((await reader.readFolded(test.number, ORDER, type, options)).ok);
    await add("c");
    assert.deepEqual((await small())?.state, { lines: ["b", "c"] });
    await add(LONG.slice(0, 40_000));
    assert.ok(await small() !== undefined);
    await add(LONG.slice(0, 40_000));
    assert.ok(await small() !== undefined, "a state of 40,000 characters");
    await add("d");
    assert.equal(await small(), undefined, "a state of 80,000 characters");
  });
});

Deno.test("readSmallAt() gives nothing if folding takes much longer than its work should", async () => {
  await withReader(async ({ place, add, engine, type, tenants: { test } }) => {
    await place(["a"]);
    await add("b");
    let stepMs = 0;
    let nowMs = 0;
    const clock = { monotonicMs: () => nowMs += stepMs };
    const { readSmallAt } = openSmallReader(openStateCache(), newCounters(), clock);
    const made = () =>
      engine.snapshot(async (tx) => {
        const head = await readHead(tx, test.number, ORDER);
        const request = { stream: ORDER, type, remembers: false };
        return (await readSmallAt(tx, test.number, request, { head }))?.();
      });
    assert.deepEqual((await made())?.state, { lines: ["a", "b"] });
    stepMs = 50;
    assert.equal(await made(), undefined);
  });
});

Deno.test("readSmallAt() gives nothing of a stream as it was before it was rewritten", async () => {
  await withReader(async (reading) => {
    const { small, place } = reading;
    await place(["a"]);
    assert.deepEqual((await small())?.state, { lines: ["a"] });
    await erase(reading, ORDER);
    const read = await small();
    assert.deepEqual([read?.state, read?.head.length, read?.head.generation], [{}, 1, 1]);
  });
});
