/** The upkeep goes on behind anything that the log has of types that no projection reads. */

import assert from "node:assert/strict";
import { streamKey } from "../../../src/domain/identifier.ts";
import { waitForProjections } from "../../../src/features/projections/wait_for_projections.ts";
import { logCommit, type LogEntry } from "../../../src/store/feed/commit_log.ts";
import { readLogCursor, readLogSpan } from "../../../src/store/feed/log_cursor.ts";
import { type ServiceFixture, uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { settleProjections } from "../../support/settle_projections.ts";
import { ORDERS_SEEN, storedRows, writeShop } from "../../support/shop_projections.ts";
import { shopSpec } from "../../support/projection_shop.ts";

/** Logs what an import of a type leaves that no projection reads. */
async function logImport(
  { engine, tenants: { test } }: ServiceFixture,
  { records, streams }: { readonly records: number; readonly streams: number },
): Promise<void> {
  for (let record = 0; record < records; record++) {
    const entries = Array.from({ length: streams }, (_, number): LogEntry => {
      const stream = streamKey("shelf", uuid(record * streams + number));
      return { kind: "appended", stream, first: 0, count: 1 };
    });
    await engine.transact((tx) => Promise.resolve(logCommit(tx, test.number, entries)));
  }
}

for (const [records, streams] of [[190, 200], [12, 4_000]] as const) {
  Deno.test(`rows follow behind ${records} commits of ${streams} streams each that none of them shows`, async () => {
    await withService(async (fixture) => {
      const { service, engine, host, tenants: { test } } = fixture;
      valueOf(await service.projections.deploy(test, ORDERS_SEEN));
      await settleProjections(service);
      await logImport(fixture, { records, streams });
      await writeShop(service, test, {
        streams: new Map(),
        stream: ["order", uuid(1)],
        event: { type: "was_placed", data: { customer: uuid(11) } },
        nowMs: host.timeMs,
      });
      await settleProjections(service);
      assert.equal((await storedRows(engine, test)).length, 1);
      const { commits } = await waitForProjections(engine, host, {
        tenant: test.number,
        waitMs: 0,
      });
      assert.equal(commits, 0);
      const [status] = valueOf(await service.projections.list(test)).data;
      assert.equal(status?.lag, 0);
    }, { spec: shopSpec() });
  });
}

Deno.test("a span says whether the log ends there, or was cut", async () => {
  await withService(async (fixture) => {
    const { engine, tenants: { test } } = fixture;
    await logImport(fixture, { records: 12, streams: 4_000 });
    const search = { types: new Set(["order"]), limit: 10 };
    await engine.snapshot(async (tx) => {
      let at = await readLogCursor(tx, test.number);
      const spans = [];
      for (let isAtEnd = false; !isAtEnd;) {
        const span = await readLogSpan(tx, test.number, at, search);
        ({ end: at, isAtEnd } = span);
        spans.push(span);
      }
      assert.ok(spans.length > 1, `${spans.length} spans`);
      assert.ok(spans.every(({ streams }) => streams.length === 0));
      assert.deepEqual(spans.at(-1), await readLogSpan(tx, test.number, spans.at(-2)!.end, search));
      const all = spans.reduce((sum, { records }) => sum + records, 0);
      assert.equal(all, 12);
      const last = await readLogSpan(tx, test.number, at, search);
      assert.deepEqual(last, { streams: [], end: at, records: 0, isAtEnd: true });
    });
  }, { spec: shopSpec() });
});
