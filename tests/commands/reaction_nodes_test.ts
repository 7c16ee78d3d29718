/**
 * What written events set off, where several processes have one store: each effect exactly once,
 * whether leases keep them apart or not. On both kinds of engine.
 */

import assert from "node:assert/strict";
import type { Tenant } from "../../src/domain/tenant.ts";
import type { Engine } from "../../src/kv/engine.ts";
import { FoundationdbEngine } from "../../src/kv/foundationdb_engine.ts";
import { createService, type Service } from "../../src/service.ts";
import { fakeHost } from "../support/fake_host.ts";
import { memoryDatabase } from "../support/memory_foundationdb.ts";
import {
  eventsOf,
  reactiveSpec,
  setOff,
  specWithoutLedger,
  write,
} from "../support/reactive_spec.ts";
import { uuid, valueOf } from "../support/service_fixture.ts";
import { temporaryEngine } from "../support/temporary_engine.ts";
import {
  deafEngine,
  type Node,
  type OpenNodes,
  type TwoNodes,
  withTwoNodes,
} from "../support/two_nodes.ts";

const STORES: readonly { readonly name: string; readonly open: OpenNodes }[] = [
  {
    name: "sqlite",
    async open() {
      const { engine, dispose } = await temporaryEngine();
      return { engines: [engine, engine], dispose };
    },
  },
  {
    name: "foundationdb in memory",
    open() {
      const database = memoryDatabase();
      const engines: [Engine, Engine] = [
        new FoundationdbEngine({ database, host: fakeHost("engine a") }),
        new FoundationdbEngine({ database, host: fakeHost("engine b") }),
      ];
      const dispose = async () => {
        for (const engine of engines) await engine.close();
      };
      return Promise.resolve({ engines, dispose });
    },
  },
];

async function deployReactive({ a, b, tenants: { test }, pass }: TwoNodes): Promise<Tenant> {
  const request = { spec: reactiveSpec, force: true, dryRun: false };
  valueOf(await a.service.specs.deploySpec(test, request));
  // What B remembers is too old to be used.
  pass(5_000);
  await b.host.yieldTurn();
  return test;
}

/** The node's service, on an engine that fails after so many transactions. */
function dying({ engine, host, access }: Node) {
  const life = { commitsLeft: 0 };
  const service = createService(
    {
      async transact(body) {
        if (life.commitsLeft-- <= 0) throw new Error("dead");
        return await engine.transact(body);
      },
      snapshot: (body) => engine.snapshot(body),
      watch: (key) => engine.watch(key),
      close: () => engine.close(),
    },
    host,
    access,
  );
  return { life, service };
}

for (const { name, open } of STORES) {
  Deno.test(`${name}: nodes that take the same entries and timers at once: each effect once`, async () => {
    await withTwoNodes(open, async (nodes) => {
      const test = await deployReactive(nodes);
      const { a, b, pass } = nodes;
      const { life, service } = dying(a);
      const ids = Array.from({ length: 20 }, (_, n) => uuid(n));
      for (const id of ids) {
        for (const type of ["was_placed", "was_delayed"]) {
          // That of the write itself.
          life.commitsLeft = 1;
          await write(service, test, setOff(id, type));
        }
      }
      await service.close();
      // None of them knows of the others: no leases keep them apart.
      const workers = [a, b, a].map(({ engine, host, access }) =>
        createService(engine, host, access)
      );
      assert.equal((await eventsOf(a.service, test, "ledger", ids[0]!)).length, 0);
      for (let round = 0; round < 3; round++) {
        pass(60_000);
        await Promise.all(workers.map(({ background }) => background.drainOutbox(100)));
        await Promise.all(workers.map(({ background }) => background.drainTimers(1_600)));
      }
      for (const id of ids) {
        const types = (await eventsOf(a.service, test, "order", id)).map(({ type }) => type);
        assert.deepEqual(types, ["was_placed", "was_delayed", "was_placed"]);
        assert.equal((await eventsOf(b.service, test, "ledger", id)).length, 2);
      }
      for (const worker of workers) await worker.close();
    });
  });

  Deno.test(`${name}: nodes that share the work by leases do all of it, each effect once`, async () => {
    await withTwoNodes(open, async (nodes) => {
      const test = await deployReactive(nodes);
      const { a, b, pass } = nodes;
      const ids = Array.from({ length: 20 }, (_, n) => uuid(n));
      for (const id of ids) {
        await write(a.service, test, setOff(id, "was_placed"));
        await write(b.service, test, setOff(id, "was_promised"));
        await write(a.service, test, setOff(id, "was_delayed"));
      }
      for (let round = 0; round < 20; round++) {
        pass(10_000);
        await Promise.all([a, b].flatMap(({ service: { background } }) => [
          background.drainOutbox(100),
          background.drainTimers(1_600),
          background.renewShare(),
        ]));
      }
      for (const id of ids) {
        const types = (await eventsOf(a.service, test, "order", id)).map(({ type }) => type);
        assert.deepEqual(types.toSorted(), [
          "was_delayed",
          "was_placed",
          "was_placed",
          "was_promised",
          "was_reminded",
        ]);
        assert.equal((await eventsOf(b.service, test, "ledger", id)).length, 2);
      }
    });
  });

  Deno.test(`${name}: one node cancels what the other fires: one of both happens`, async () => {
    await withTwoNodes(open, async (nodes) => {
      const test = await deployReactive(nodes);
      const { a, b, pass } = nodes;
      const ids = Array.from({ length: 20 }, (_, n) => uuid(n));
      await Promise.all(ids.map((id) => write(a.service, test, setOff(id, "was_promised"))));
      pass(60_000);
      const firing = createService(b.engine, b.host, b.access);
      await Promise.all([
        firing.background.drainTimers(1_600),
        ...ids.map((id) => write(a.service, test, setOff(id, "was_paid"))),
      ]);
      pass(60_000);
      while (await firing.background.drainTimers(1_600) > 0);
      for (const id of ids) {
        const types = (await eventsOf(a.service, test, "order", id)).map(({ type }) => type);
        const outcomes = [
          ["was_promised", "was_paid"],
          ["was_promised", "was_reminded", "was_paid"],
        ];
        assert.ok(outcomes.some((outcome) => `${outcome}` === `${types}`), `${types}`);
      }
      assert.deepEqual(valueOf(await a.service.data.listScheduled(test, {})).data, []);
      await firing.close();
    });
  });

  Deno.test(`${name}: a node that has not heard of a deploy gives no event of it up`, async () => {
    await withTwoNodes(open, async (nodes) => {
      const { a, b, tenants: { test }, pass } = nodes;
      const old = { spec: specWithoutLedger(), force: true, dryRun: false };
      valueOf(await a.service.specs.deploySpec(test, old));
      pass(5_000);
      // B remembers a spec without ledgers, and is deaf from now on.
      const deaf = createService(b.engine, b.host, b.access);
      valueOf(await deaf.data.readLength(test, "order", uuid(1)));
      const next = { spec: reactiveSpec, force: true, dryRun: false };
      valueOf(await a.service.specs.deploySpec(test, next));
      const { life, service } = dying(a);
      life.commitsLeft = 1;
      await write(service, test, setOff(uuid(1), "was_placed"));
      await service.close();
      pass(1_000);
      for (let round = 0; round < 5; round++) await deaf.background.drainOutbox(100);
      await finishOn(deaf, pass);
      assert.equal((await eventsOf(a.service, test, "ledger", uuid(1))).length, 1);
      assert.deepEqual(valueOf(await a.service.data.listErrors(test, {})).data, []);
      await deaf.close();
    }, { wrapB: deafEngine });
  });
}

async function finishOn(service: Service, pass: TwoNodes["pass"]): Promise<void> {
  for (let round = 0; round < 5; round++) {
    pass(2_000);
    await service.background.drainOutbox(100);
  }
}
