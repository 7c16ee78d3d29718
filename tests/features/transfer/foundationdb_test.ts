/**
 * A real cluster: an environment is imported there, and exported again while it is written to.
 */

import assert from "node:assert/strict";
import { encodeEvent, encodeMetadata } from "../../../src/domain/event.ts";
import { splitStreamKey, type StreamKey, streamKey } from "../../../src/domain/identifier.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { indexAggregate, listStreams } from "../../../src/store/streams/aggregates.ts";
import { readInstance, tenantOf } from "../../../src/store/access/instances.ts";
import { openStreams, readHead } from "../../../src/store/streams/streams.ts";
import { fakeHost } from "../../support/fake_host.ts";
import { foundationdbCluster } from "../../support/foundationdb_cluster.ts";
import { ACTOR, uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import { exportText, imported, importText, openService } from "../../support/transfer_fixtures.ts";

const cluster = foundationdbCluster();
const STREAMS = 3_000;
const LONG = uuid(STREAMS);

/** Streams of a few events each, and one of several megabytes. */
async function fill(engine: Engine, tenant: number): Promise<void> {
  const metadata = encodeMetadata({ actor: ACTOR, timestamp: 5 });
  for (let first = 0; first <= STREAMS; first += 500) {
    await engine.transact(async (tx) => {
      for (let number = first; number < first + 500 && number <= STREAMS; number++) {
        const key = streamKey("order", uuid(number));
        const data = JSON.stringify({ text: "x".repeat(number === STREAMS ? 1_000 : 10) });
        const events = Array.from({ length: number === STREAMS ? 4_000 : 3 }, () => {
          return encodeEvent({ key, type: "was_noted", dataJson: data, metadataJson: metadata });
        });
        const stream = (await openStreams(tx, tenant, [key]))[0]!;
        stream.append(events, 5);
        stream.flush(0);
        const { type, id } = splitStreamKey(key);
        indexAggregate(tx, tenant, type, id);
      }
    });
  }
}

async function lengthsOf(engine: Engine, tenant: number, ids: readonly string[]) {
  const heads = await engine.snapshot((tx) =>
    Promise.all(ids.map((id) => readHead(tx, tenant, `order:${id}` as StreamKey)))
  );
  return heads.map(({ length }) => length);
}

Deno.test({
  name: `an environment moves to a real cluster and, while it is written to, back: ${
    cluster.missing ?? "on FoundationDB"
  }`,
  ignore: cluster.missing !== undefined,
  fn: () =>
    withService(async ({ engine, host, tenants }) => {
      await fill(engine, tenants.test.number);
      const file = await exportText(engine, host, tenants.test);
      const { engine: there, dispose } = await cluster.open();
      try {
        const { instanceId } = imported(await importText(there, fakeHost("there"), file));
        const record = await there.snapshot((tx) => readInstance(tx, instanceId));
        const tenant = tenantOf(record!, "test");
        assert.equal(await exportText(there, host, tenant), file, "the same to the byte");
        const { service, close } = openService(there, host, "test");
        const pair = [uuid(0), uuid(STREAMS - 1)];
        const targets = pair.map((id) => ({
          aggregateType: "order",
          id,
          events: [{ type: "was_noted", data: { text: "meanwhile" } }],
        }));
        let isWriting = true;
        const writing = (async () => {
          for (let writes = 0; isWriting; writes++) {
            const request = { form: "atomic", targets, metadata: { actor: ACTOR } } as const;
            valueOf(await service.data.writeEvents(tenant, { ...request, requestId: "r" }));
          }
        })();
        const text = await exportText(there, host, tenant);
        isWriting = false;
        await writing;
        await close();
        await withTemporaryEngine(async (back) => {
          imported(await importText(back, fakeHost("back"), text));
          const home = tenantOf(
            (await back.snapshot((tx) => readInstance(tx, instanceId)))!,
            "test",
          );
          const [first, last, long] = await lengthsOf(back, home.number, [...pair, LONG]);
          assert.deepEqual([first, long], [last, 4_000]);
          const page = { limit: STREAMS + 10 };
          const listed = await back.snapshot((tx) => listStreams(tx, home.number, page));
          assert.equal(listed.length, STREAMS + 1);
        });
      } finally {
        await dispose();
      }
    }),
});
