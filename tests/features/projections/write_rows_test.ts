/** A row that was computed too early is not written, whoever was faster. */

import assert from "node:assert/strict";
import { makeRowRecord } from "../../../src/features/projections/row_error.ts";
import { openPieces } from "../../../src/domain/fairness/pieces.ts";
import { type WriteMoment, writeRows } from "../../../src/features/projections/write_rows.ts";
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

const ORDER = uuid(1);
const [ADA, BOB] = [uuid(11), uuid(12)];

interface Slow extends ServiceFixture {
  readonly streams: ShopStreams;
  write(type: string, id: string, event: ShopEvent): Promise<void>;
  /** Computes the order's row as another process would now, without writing it. */
  compute(): Promise<ComputedRow | FailedRow>;
  /** Writes the row; returns whether that was refused. */
  put(row: ComputedRow | FailedRow): Promise<boolean>;
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
    await body({
      ...fixture,
      streams,
      write: (type, id, event) =>
        writeShop(service, test, { streams, stream: [type, id], event, nowMs: host.timeMs }),
      compute() {
        const pieces = openPieces(host);
        const options = { tenant: test.number, spec, synchronous: false, pieces };
        return openRowBatch(reader, options).compute(kept!.projection, ORDER);
      },
      async put(row) {
        const moment: WriteMoment = {
          nowMs: host.timeMs,
          random: 0,
          makeRecord: (...made) => makeRowRecord(host, ...made),
        };
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
