/** What a row is computed from is bounded while it is read, not only when all of it is there. */

import assert from "node:assert/strict";
import { openPieces } from "../../../src/domain/fairness/pieces.ts";
import { compileProjection } from "../../../src/domain/projection/compile.ts";
import { openSpecCache } from "../../../src/features/base/current_spec.ts";
import {
  openRowBatch,
  openSmallRowBatch,
  type RowBatchOptions,
} from "../../../src/features/projections/compute_rows.ts";
import type { AggregateReader } from "../../../src/features/states/read_aggregate.ts";
import type { StreamHead } from "../../../src/store/streams/stream_head.ts";
import {
  orderWrite,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";

const WAS_SET = {
  events: { was_set: { schema: true, handler: { set: { target: "", value: "$.data" } } } },
};
const SPEC = {
  aggregate_types: { thing: WAS_SET, part: WAS_SET },
  agent_types: ["user"],
  singletons: [],
};
const COUNTED = {
  name: "things",
  for_each: "thing",
  sources: { thing: "$key", parts: { type: "part", id: "$.thing.parts", mode: "array" } },
  select: { count: { $count: "$.parts" } },
};
const PARTS = Array.from({ length: 300 }, (_, n) => uuid(1_000 + n));
const THING = uuid(1);

interface Computing extends ServiceFixture {
  readonly options: RowBatchOptions;
  readonly projection: ReturnType<typeof valueOfCompiled>;
}

function valueOfCompiled(compiled: ReturnType<typeof compileProjection>) {
  assert.ok(compiled.ok);
  return compiled.projection;
}

async function withParts(body: (computing: Computing) => Promise<void>): Promise<void> {
  await withService(async (fixture) => {
    const { service, engine, host, tenants: { test } } = fixture;
    const specs = openSpecCache(engine, host);
    const spec = await specs.current(test.number);
    for (const [aggregateType, id] of [["thing", THING], ...PARTS.map((id) => ["part", id])]) {
      const events = [{ type: "was_set", data: {} }];
      const targets = [{ aggregateType: aggregateType!, id: id!, events }];
      valueOf(await service.data.writeEvents(test, orderWrite(THING, events, { targets })));
    }
    const options = {
      tenant: test.number,
      spec,
      synchronous: false,
      pieces: openPieces(host),
      host,
    };
    const projection = valueOfCompiled(compileProjection(COUNTED, spec));
    await body({ ...fixture, options, projection });
    await specs.close();
  }, { spec: SPEC });
}

const HEAD: StreamHead = {
  length: 1,
  bytes: 100_000,
  createdAt: 1,
  updatedAt: 1,
  generation: 0,
  epoch: 0,
  tip: undefined,
  peaks: [],
  place: undefined,
};

function isThing(stream: string): boolean {
  return stream.includes(THING);
}

Deno.test("a row of states that are too large together fails before most of them are read", async () => {
  await withParts(async ({ options, projection }) => {
    const large = JSON.stringify("x".repeat(7_000_000));
    let reads = 0;
    let underWay = 0;
    let most = 0;
    const reader = {
      async readFolded(_tenant: number, stream: string) {
        reads++;
        most = Math.max(most, ++underWay);
        await new Promise((resolve) => setTimeout(resolve, 0));
        underWay--;
        const stateJson = isThing(stream) ? JSON.stringify({ parts: PARTS }) : large;
        return { ok: true, value: { head: HEAD, stateJson, bytesRead: 0 } };
      },
    } as unknown as AggregateReader;
    const row = await openRowBatch(reader, options).compute(projection, THING);
    assert.ok("failure" in row);
    assert.match(JSON.stringify(row.failure), /more than 67108864 characters/);
    assert.equal(row.sources.length, PARTS.length, "all are listed, so that a change is news");
    assert.deepEqual([reads, most], [1 + 2 * 8, 8]);
  });
});

Deno.test("a batch of small rows rests before each state that is made, and ends when they are many", async () => {
  await withParts(async ({ engine, options, projection }) => {
    let made = 0;
    let sinceRest = 0;
    let most = 0;
    const pieces = {
      rest() {
        sinceRest = 0;
        return undefined;
      },
    };
    const reader = {
      readSmallAt: (_tx: unknown, _tenant: number, { stream }: { stream: string }) => () => {
        made++;
        most = Math.max(most, ++sinceRest);
        const state = isThing(stream) ? { parts: PARTS } : {};
        return { state, characters: 64 * 1024 };
      },
    } as unknown as AggregateReader;
    await engine.snapshot(async (tx) => {
      const small = { ...options, remembersOwn: true, pieces };
      const batch = openSmallRowBatch(reader, tx, small);
      assert.equal(batch.isFull(), false);
      assert.equal(await batch.compute(projection, THING), undefined, "left to another batch");
      assert.equal(batch.isFull(), true);
    });
    assert.equal(most, 1);
    assert.equal(made, 12 * 1024 / 64 + 1, "twelve megabytes, and the one that is beyond");
  });
});
