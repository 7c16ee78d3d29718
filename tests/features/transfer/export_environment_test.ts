/** Exports beside writers: the file shows one moment, or there is no file. */

import assert from "node:assert/strict";
import { SEGMENT_LIMITS } from "../../../src/features/transfer/read_streams.ts";
import type { StreamKey } from "../../../src/domain/identifier.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { readHead } from "../../../src/store/streams/streams.ts";
import { readInstance, tenantOf } from "../../../src/store/access/instances.ts";
import { copyOfExampleSpec } from "../../support/example_spec.ts";
import { fakeHost } from "../../support/fake_host.ts";
import {
  ACTOR,
  noteWrite,
  type ServiceFixture,
  uuid,
  valueOf,
  withService,
} from "../../support/service_fixture.ts";
import { withTemporaryEngine } from "../../support/temporary_engine.ts";
import {
  besides,
  exportText,
  imported,
  importText,
  openService,
} from "../../support/transfer_fixtures.ts";
import { erase } from "../../support/erasure_fixtures.ts";
import { changeHead } from "../../support/stored_head.ts";

const FIRST = uuid(0);
const LAST = uuid(99);
/** Two heads a transaction, so that a round over ten streams takes several. */
const SMALL = { ...SEGMENT_LIMITS, batch: 2, heads: 2 };

/** Writes one event to the first and one to the last stream of the listing, atomically. */
async function writePair({ service, tenants }: ServiceFixture, text: string, key?: string) {
  const events = [{ type: "was_noted", data: { text } }];
  const targets = [FIRST, LAST].map((id) => ({ aggregateType: "order", id, events }));
  const idempotency = key === undefined ? undefined : { key, bodyHash: "ab".repeat(32) };
  const request = { form: "atomic" as const, targets, metadata: { actor: ACTOR } };
  valueOf(
    await service.data.writeEvents(tenants.test, { ...request, requestId: "r", idempotency }),
  );
}

/** Ten streams; only pairs are written to the first and the last of them. */
async function fill(fixture: ServiceFixture): Promise<void> {
  await writePair(fixture, "before");
  for (let number = 1; number < 9; number++) {
    const write = noteWrite(uuid(number), "before");
    valueOf(await fixture.service.data.writeEvents(fixture.tenants.test, write));
  }
}

/** The lengths of the two streams in a store into which the text is imported. */
async function importedPair(text: string): Promise<number[]> {
  return await withTemporaryEngine(async (engine) => {
    const tenant = await importInto(engine, text);
    return await lengthsOf(engine, tenant);
  });
}

async function importInto(engine: Engine, text: string): Promise<Tenant> {
  const { instanceId } = imported(await importText(engine, fakeHost(), text));
  const record = await engine.snapshot((tx) => readInstance(tx, instanceId));
  return tenantOf(record!, "test");
}

async function lengthsOf(engine: Engine, tenant: Tenant): Promise<number[]> {
  const read = (id: string) =>
    engine.snapshot((tx) => readHead(tx, tenant.number, `order:${id}` as StreamKey));
  return [(await read(FIRST)).length, (await read(LAST)).length];
}

/** More transactions than the first round over ten streams takes. */
const PARTS = 20;

/** When the pair is written, by the number of the part that was just read. */
const SCHEDULES:
  readonly (readonly [name: string, isDue: (part: number, at: number) => boolean])[] = [
    ["after each of the first parts", (part, at) => part <= at],
    ["once, after one part", (part, at) => part === at],
  ];

for (const [name, isDue] of SCHEDULES) {
  Deno.test(`exportEnvironment() never has half of a write over two streams: ${name}`, async () => {
    for (let at = 1; at <= PARTS; at++) {
      await withService(async (fixture) => {
        await fill(fixture);
        const { engine, host, tenants, service } = fixture;
        let part = 0;
        const busy = besides(engine, async () => {
          if (isDue(++part, at)) await writePair(fixture, `meanwhile ${part}`);
          // Writes of others do not matter, but they raise the store's version.
          valueOf(await service.data.writeEvents(tenants.staging, noteWrite(uuid(1), "other")));
        });
        const text = await exportText(busy, host, tenants.test, { limits: SMALL });
        const [first, last] = await importedPair(text);
        assert.equal(first, last);
      });
    }
  });
}

Deno.test("exportEnvironment() of streams that memory holds is one moment under endless writes", async () => {
  await withService(async (fixture) => {
    await fill(fixture);
    const { engine, host, tenants } = fixture;
    let writes = 0;
    const writing = besides(
      engine,
      () => writePair(fixture, `write ${writes}`, `key ${writes++}`),
    );
    const text = await exportText(writing, host, tenants.test);
    assert.ok(writes > 3);
    const [first, last] = await importedPair(text);
    assert.equal(first, last);
  });
});

Deno.test("a keyed write that landed after the moment of the file lands anew after the import", async () => {
  await withService(async (fixture) => {
    await fill(fixture);
    await writePair(fixture, "early", "early");
    const { engine, host, tenants, service } = fixture;
    let snapshots = 0;
    const writing = besides(engine, async () => {
      // Reads the instance, leftover imports and the heads first: what lands now is later than
      // the file.
      if (++snapshots === 3) await writePair(fixture, "late", "late");
    });
    const text = await exportText(writing, host, tenants.test);
    assert.match(text, /"key":"late"/, "its entry is in the file, but not its events");
    await withTemporaryEngine(async (other) => {
      const tenant = await importInto(other, text);
      const opened = openService(other, host, "test");
      const again = { ...fixture, service: opened.service, tenants: { ...tenants, test: tenant } };
      await writePair(again, "early", "early");
      assert.deepEqual(await lengthsOf(other, tenant), [2, 2], "a replay writes nothing");
      await writePair(again, "late", "late");
      assert.deepEqual(await lengthsOf(other, tenant), [3, 3], "it lands once");
      await opened.close();
    });
    assert.deepEqual(valueOf(await service.data.readLength(tenants.test, "order", FIRST)), 3);
  });
});

Deno.test("exportEnvironment() has streams and specs that came up in the middle of it", async () => {
  await withService(async (fixture) => {
    await fill(fixture);
    const { engine, host, tenants, service } = fixture;
    let parts = 0;
    const busy = besides(engine, async () => {
      if (++parts === 5) await service.data.writeEvents(tenants.test, noteWrite(uuid(0xa0), "new"));
      if (parts !== 7) return;
      const spec = copyOfExampleSpec();
      spec.singletons = ["main", "other"];
      valueOf(await service.specs.deploySpec(tenants.test, { spec, force: false, dryRun: false }));
    });
    const text = await exportText(busy, host, tenants.test, { limits: SMALL });
    assert.match(text, /\{"record":"current_spec","version":2\}/);
    await withTemporaryEngine(async (other) => {
      const tenant = await importInto(other, text);
      const opened = openService(other, host, "test");
      const { data, specs } = opened.service;
      assert.equal(valueOf(await data.readLength(tenant, "order", uuid(0xa0))), 1);
      assert.equal(valueOf(await data.readLength(tenant, "order", "other")), 0);
      assert.deepEqual(
        valueOf(await specs.listSpecs(tenant)).data,
        valueOf(await service.specs.listSpecs(tenants.test)).data,
      );
      await opened.close();
    });
  });
});

Deno.test("exportEnvironment() says so when more is written than it can read", async () => {
  await withService(async (fixture) => {
    await fill(fixture);
    const { engine, host, tenants, service } = fixture;
    let streams = 0;
    const busy = besides(engine, async () => {
      for (let number = 0; number < 3; number++) {
        // Each is listed before all others, so the first round ends.
        const id = uuid(100_000 - ++streams).replace("5b3e", "0000");
        const write = noteWrite(id, "more");
        valueOf(await service.data.writeEvents(tenants.test, write));
      }
    });
    await assert.rejects(
      exportText(busy, host, tenants.test, { limits: SMALL }),
      /written to in each of \d+ rounds.*stop its writers/,
    );
  });
});

Deno.test("exportEnvironment() gives up when a stream that it has read is erased, and names it", async () => {
  const stream = `order:${FIRST}` as StreamKey;
  let refused = 0;
  for (let at = 1; at <= PARTS; at++) {
    await withService(async (fixture) => {
      await fill(fixture);
      const { engine, host, tenants } = fixture;
      let part = 0;
      const busy = besides(engine, async () => {
        if (++part === at) await erase(fixture, stream);
      });
      try {
        const text = await exportText(busy, host, tenants.test, { limits: SMALL });
        // Before the first head was read, or after the moment of the file.
        const generation = at <= 2 ? 1 : 0;
        assert.ok(
          text.includes(`{"record":"stream","key":"${stream}","generation":${generation},`),
        );
      } catch (error) {
        assert.match(`${error}`, new RegExp(`${stream} was rewritten during the export`));
        refused++;
      }
    });
  }
  assert.ok(refused >= 9, `${refused} times: four more segments and their events were to be read`);
});

Deno.test("exportEnvironment() takes a stream that came up and was erased meanwhile as its markers", async () => {
  await withService(async (fixture) => {
    await fill(fixture);
    const { engine, host, tenants, service } = fixture;
    // Listed before all others: the first round has passed it.
    const id = FIRST.replace("5b3e", "0000");
    let part = 0;
    const busy = besides(engine, async () => {
      if (++part !== 5) return;
      valueOf(await service.data.writeEvents(tenants.test, noteWrite(id, "secret")));
      await erase(fixture, `order:${id}`);
    });
    const text = await exportText(busy, host, tenants.test, { limits: SMALL });
    assert.ok(!text.includes("secret"));
    await withTemporaryEngine(async (other) => {
      const tenant = await importInto(other, text);
      const stream = `order:${id}` as StreamKey;
      const head = await other.snapshot((tx) => readHead(tx, tenant.number, stream));
      assert.deepEqual([head.length, head.generation], [1, 1]);
    });
  });
});

Deno.test("exportEnvironment() finds a damaged chain and makes no file of it", async () => {
  await withService(async (fixture) => {
    await fill(fixture);
    const { engine, host, tenants } = fixture;
    const stream = `order:${LAST}` as StreamKey;
    const tip = "00".repeat(32);
    await engine.transact((tx) => changeHead(tx, tenants.test.number, stream, { tip }));
    await assert.rejects(
      exportText(engine, host, tenants.test),
      new RegExp(`The store is damaged: event 0 of ${stream}`),
    );
  });
});

Deno.test("exportEnvironment() leaves out entries whose day is over, error records and secrets", async () => {
  await withService(async (fixture) => {
    const { engine, host, tenants, service, access } = fixture;
    await writePair(fixture, "old", "old");
    host.timeMs += 24 * 3_600_000;
    await writePair(fixture, "new", "new");
    const problem = { error_type: "internal", message: "m", context: {}, request_id: "r" };
    const errorId = service.data.recordError(tenants.test, problem);
    const { key } = valueOf(await access.issueApiKey(tenants.test, "a key", "write"));
    const text = await exportText(engine, host, tenants.test);
    const ledger = text.split("\n").filter((line) => line.startsWith('{"record":"ledger"'));
    assert.deepEqual(ledger.map((line) => JSON.parse(line).key), ["new"]);
    assert.ok(!text.includes(errorId));
    assert.ok(!text.includes(key), "an API key's text is in no file");
    assert.ok(!text.includes('"private_key"'), "signing keys only when asked for");
    const withKeys = await exportText(engine, host, tenants.test, { withSigningKeys: true });
    assert.match(withKeys, /"private_key":"[0-9a-f]{64}"/);
  });
});
