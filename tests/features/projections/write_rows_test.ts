/** A row that was computed too early is not written, whoever was faster. */

import assert from "node:assert/strict";
import { makeRowRecord } from "../../../src/features/projections/row_error.ts";
import { openPieces } from "../../../src/domain/fairness/pieces.ts";
import type { KeptProjection } from "../../../src/features/projections/projection_sets.ts";
import { refuseRow } from "../../../src/domain/projection/row.ts";
import { encodeRow, setProjectionRow } from "../../../src/store/projections/projection_rows.ts";
import {
  type RowWork,
  type WriteMoment,
  writeRows,
} from "../../../src/features/projections/write_rows.ts";
import {
  type ComputedRow,
  type FailedRow,
  openRowBatch,
} from "../../../src/features/projections/compute_rows.ts";
import { openSpecCache } from "../../../src/features/base/current_spec.ts";
import { createAggregateReader } from "../../../src/features/states/read_aggregate.ts";
import { openStateCache } from "../../../src/features/states/state_cache.ts";
import { openProjectionSets } from "../../../src/features/projections/projection_sets.ts";
import { noRunners } from "../../support/no_modules.ts";
import { whileParsing } from "../../support/parsed_json.ts";
import { type ServiceFixture, uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { settleProjections } from "../../support/settle_projections.ts";
import {
  holdRows,
  ORDERS_SEEN,
  type ShopStreams,
  storedRows,
  writeShop,
} from "../../support/shop_projections.ts";
import { type ShopEvent, shopSpec } from "../../support/projection_shop.ts";
import { readParsedRow } from "../../support/parsed_rows.ts";

const ORDER = uuid(1);
const [ADA, BOB] = [uuid(11), uuid(12)];

interface Slow extends ServiceFixture {
  readonly streams: ShopStreams;
  write(type: string, id: string, event: ShopEvent): Promise<void>;
  /** Computes the order's row as another process would now, without writing it. */
  compute(): Promise<ComputedRow | FailedRow>;
  /** Writes the row; returns whether that was refused. */
  put(row: ComputedRow | FailedRow): Promise<boolean>;
  readonly kept: KeptProjection;
  readonly moment: WriteMoment;
}

async function withSlowProcess(body: (slow: Slow) => Promise<void>): Promise<void> {
  await withService(async (fixture) => {
    const { service, engine, host, tenants: { test } } = fixture;
    const streams: ShopStreams = new Map();
    valueOf(await service.projections.deploy(test, ORDERS_SEEN));
    await settleProjections(service);
    const specs = openSpecCache(engine, host);
    const keep = () => {};
    const reader = createAggregateReader({
      engine,
      host,
      specs,
      cache: openStateCache(),
      onSnapshotDue: keep,
      runners: noRunners,
    });
    const sets = openProjectionSets(engine, specs, host);
    const { projections: [kept], spec } = await sets.current(test.number);
    const moment: WriteMoment = {
      nowMs: host.timeMs,
      random: 0,
      makeRecord: (...made) => makeRowRecord(host, ...made),
    };
    await body({
      ...fixture,
      streams,
      kept: kept!,
      moment,
      write: (type, id, event) =>
        writeShop(service, test, { streams, stream: [type, id], event, nowMs: host.timeMs }),
      compute() {
        const pieces = openPieces(host);
        const options = { tenant: test.number, spec, synchronous: false, pieces, host };
        return openRowBatch(reader, options).compute(kept!.projection, ORDER);
      },
      async put(row) {
        const work = { kept: kept!, row };
        const pieces = openPieces(host);
        const { moved } = await engine.transact((tx) => writeRows(tx, [work], moment, pieces));
        return moved.length > 0;
      },
    });
    await specs.close();
  }, { spec: shopSpec() });
}

const placed = { type: "was_placed", data: { customer: ADA } };
function named(name: string): ShopEvent {
  return { type: "was_registered", data: { name } };
}

Deno.test("a row that shows less of its own stream than the stored one is refused", async () => {
  await withSlowProcess(async ({ service, write, compute, put, engine, streams, tenants }) => {
    await write("order", ORDER, placed);
    const early = await compute();
    await write("order", ORDER, { type: "was_reassigned", data: { customer: BOB } });
    await settleProjections(service);
    assert.equal(await put(early), true);
    await holdRows(engine, tenants.test, streams);
    assert.equal(await put(await compute()), false);
  });
});

Deno.test("a row that shows less of a source than the stored one is refused", async () => {
  await withSlowProcess(async ({ service, write, compute, put, engine, streams, tenants }) => {
    await write("order", ORDER, placed);
    await write("customer", ADA, named("Ada"));
    await settleProjections(service);
    const early = await compute();
    await write("customer", ADA, named("Ada Lovelace"));
    await settleProjections(service);
    assert.equal(await put(early), true);
    await holdRows(engine, tenants.test, streams);
  });
});

Deno.test("a row is refused whose source has grown before the index told anybody of it", async () => {
  await withSlowProcess(async ({ service, write, compute, put, engine, streams, tenants }) => {
    await write("customer", ADA, named("Ada"));
    await write("order", ORDER, placed);
    const early = await compute();
    await write("customer", ADA, named("Ada Lovelace"));
    // Only the customer's shard is kept up, as if the order's shard were slow: the index does
    // not know yet that the order shows the customer, so the row would never be refreshed.
    assert.equal(await put(early), true);
    assert.deepEqual(await storedRows(engine, tenants.test), []);
    assert.equal(await put(await compute()), false);
    await settleProjections(service);
    await holdRows(engine, tenants.test, streams);
  });
});

function rowOf(n: number, text: string, position: number): ComputedRow {
  const rest = { position, generation: 1, updatedAt: null, sources: [], includes: [] };
  const row = { key: uuid(n), ...rest, dataJson: JSON.stringify({ text }) };
  return { key: row.key, row, encoded: encodeRow(row) };
}

/** Stores rows of 900 KB and returns the works that put short ones in their place. */
async function shrink({ engine, kept }: Slow, count: number): Promise<RowWork[]> {
  const works: RowWork[] = [];
  for (let n = 1; n <= count; n++) {
    const { encoded } = rowOf(n, "x".repeat(900_000), 1);
    await engine.transact((tx) => {
      setProjectionRow(tx, kept.place, undefined, encoded!);
      return Promise.resolve();
    });
    works.push({ kept, row: rowOf(n, "", 2) });
  }
  return works;
}

Deno.test("rows that were large go into several transactions, each of which reads half a MB or one row", async () => {
  await withSlowProcess(async (slow) => {
    const { engine, host, moment } = slow;
    let works: readonly RowWork[] = await shrink(slow, 12);
    const left: number[] = [];
    while (works.length > 0) {
      const { moved, unwritten } = await engine.transact((tx) =>
        writeRows(tx, works, moment, openPieces(host))
      );
      assert.deepEqual(moved, []);
      left.push(unwritten.length);
      works = unwritten;
    }
    assert.deepEqual(left, [11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    const rows = await storedRows(engine, slow.tenants.test);
    assert.deepEqual(rows.map(({ data }) => data), new Array(12).fill({ text: "" }));
  });
});

/** How many long texts are parsed while rows are written. */
async function longParsed(slow: Slow, works: readonly RowWork[]): Promise<number> {
  let count = 0;
  const pieces = openPieces(slow.host);
  await whileParsing((characters) => void (count += Number(characters >= 800_000)), async () => {
    for (let left = works; left.length > 0;) {
      const written = await slow.engine.transact((tx) => writeRows(tx, left, slow.moment, pieces));
      left = written.unwritten;
    }
  });
  return count;
}

Deno.test("the data of a row that is replaced are not parsed, however large they are", async () => {
  await withSlowProcess(async (slow) => {
    const works = await shrink(slow, 4);
    assert.equal(await longParsed(slow, works), 0);
  });
});

Deno.test("a large row that cannot be computed keeps its data, and nobody parses them", async () => {
  await withSlowProcess(async (slow) => {
    const { engine, kept } = slow;
    const message = "It cannot be computed";
    const failure = refuseRow(message);
    const works = (await shrink(slow, 4)).map(({ row: { key } }) => ({
      kept,
      row: { key, failure, sources: [] },
    }));
    assert.equal(await longParsed(slow, works), 0);
    const row = await engine.snapshot((tx) => readParsedRow(tx, kept.place, works[0]!.row.key));
    assert.equal(row!.error!.message, message);
    assert.equal(JSON.stringify(row!.data).length > 900_000, true);
  });
});

Deno.test("a row that is stored as it is computed is neither parsed nor written", async () => {
  await withSlowProcess(async ({ engine, host, kept, moment }) => {
    const row = rowOf(1, "x", 1);
    await engine.transact((tx) => writeRows(tx, [{ kept, row }], moment, openPieces(host)));
    const version = engine.durableVersion();
    await engine.transact((tx) => writeRows(tx, [{ kept, row }], moment, openPieces(host)));
    assert.equal(engine.durableVersion(), version);
  });
});
