/**
 * Reactions with several processes on one store: each effect happens exactly once. This holds
 * whether leases keep the processes apart or not. On both kinds of engine.
 */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import type { Tenant } from "../../../src/domain/tenant.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import type { Engine } from "../../../src/kv/engine.ts";
import { createService } from "../../../src/features/service.ts";
import { NODE_STORES } from "../../support/node_stores.ts";
import {
  eventsOf,
  reactiveSpec,
  setOff,
  specWithoutLedger,
  write,
} from "../../support/reactive_spec.ts";
import { uuid, valueOf } from "../../support/service_fixture.ts";
import { deafEngine, type Node, type TwoNodes, withTwoNodes } from "../../support/two_nodes.ts";

async function deployReactive({ a, b, tenants: { test }, pass }: TwoNodes): Promise<Tenant> {
  const request = { spec: reactiveSpec, force: true, dryRun: false };
  valueOf(await a.service.specs.deploySpec(test, request));
  // B's remembered spec is now too old to be used.
  pass(5_000);
  await b.host.yieldTurn();
  return test;
}

/** The node's service, on an engine that fails after this many transactions. */
function dying({ engine, host, access }: Node) {
  const life = { commitsLeft: 0 };
  const service = createService(
    wrapEngine(engine, {
      async transact(body) {
        if (life.commitsLeft-- <= 0) throw new Error("dead");
        return await engine.transact(body);
      },
    }),
    host,
    access,
    { isDirect: false },
  );
  return { life, service };
}

for (const { name, open } of NODE_STORES) {
  Deno.test(`${name}: nodes that take the same entries and timers at once: each effect once`, async () => {
    await withTwoNodes(open, async (nodes) => {
      const test = await deployReactive(nodes);
      const { a, b, pass } = nodes;
      const { life, service } = dying(a);
      const ids = Array.from({ length: 20 }, (_, n) => uuid(n));
      for (const id of ids) {
        for (const type of ["was_placed", "was_delayed"]) {
          // The commit of the write itself.
          life.commitsLeft = 1;
          await write(service, test, setOff(id, type));
        }
      }
      await service.close();
      // They do not know of each other: no leases keep them apart.
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

  for (const queue of ["implied", "scheduled"]) {
    Deno.test(`${name}: a node that has not heard of a deploy gives no ${queue} event of it up`, async () => {
      await withTwoNodes(open, async (nodes) => {
        const { a, b, tenants: { test }, pass } = nodes;
        const old = { spec: specWithoutLedger(), force: true, dryRun: false };
        valueOf(await a.service.specs.deploySpec(test, old));
        pass(5_000);
        // B remembers a spec without ledgers and reminders, and hears of no deploy from now on.
        const deaf = createService(b.engine, b.host, b.access);
        for (let turn = 0; turn < 5; turn++) await b.host.yieldTurn();
        valueOf(await deaf.data.readLength(test, "order", uuid(1)));
        const next = { spec: hastySpec(), force: true, dryRun: false };
        valueOf(await a.service.specs.deploySpec(test, next));
        const { life, service } = dying(a);
        life.commitsLeft = 1;
        await write(service, test, setOff(uuid(1), "was_placed"));
        await service.close();
        await write(a.service, test, setOff(uuid(2), "was_delayed"));
        // Soon enough that B still trusts what it remembers.
        pass(1_000);
        for (let round = 0; round < 3; round++) {
          if (queue === "implied") await deaf.background.drainOutbox(100);
          await deaf.background.drainTimers(1_600);
          await deaf.background.drainOutbox(100);
        }
        for (const n of [1, 2]) {
          assert.equal((await eventsOf(a.service, test, "ledger", uuid(n))).length, 1);
        }
        assert.deepEqual(valueOf(await a.service.data.listErrors(test, {})).data, []);
        await deaf.close();
      }, { wrapB: deafEngine });
    });
  }
}

/** The scheduled event is written to a ledger after one second. */
function hastySpec(): JsonObject {
  const spec = structuredClone(reactiveSpec);
  // deno-lint-ignore no-explicit-any
  const [{ schedule }] = (spec.aggregate_types as any).order.events.was_delayed.implications;
  schedule.delay = "1s";
  schedule.emit = { aggregate_type: "ledger", id: "$.id", event_type: "was_noted", data: {} };
  return spec;
}

/** What node A does while B is faster: A's transaction after the write comes too late. */
const RACES: readonly {
  readonly what: string;
  readonly type: string;
  readonly fails: boolean;
  readonly errors: number;
}[] = [
  { what: "fails here", type: "was_placed", fails: true, errors: 0 },
  { what: "is given up here", type: "was_counted", fails: false, errors: 1 },
];

for (const { name, open } of NODE_STORES) {
  for (const { what, type, fails, errors } of RACES) {
    Deno.test(`${name}: what ${what} and is done elsewhere meanwhile is done once`, async () => {
      await withTwoNodes(open, async (nodes) => {
        const test = await deployReactive(nodes);
        const { a, b, pass } = nodes;
        const elsewhere = createService(b.engine, b.host, b.access);
        let transactions = 0;
        const late: Engine = wrapEngine(a.engine, {
          async transact(body) {
            if (++transactions === 2) {
              pass(1_000);
              assert.ok(await elsewhere.background.drainOutbox(100) > 0);
              if (fails) throw new Error("a bug");
            }
            return await a.engine.transact(body);
          },
        });
        const service = createService(late, a.host, a.access, { isDirect: false });
        await write(service, test, setOff(uuid(1), type, { count: "many" }));
        // The reply did not wait for the reaction, because the clock moved on.
        await service.close();
        assert.ok(transactions > 2);
        pass(600_000);
        assert.equal(await elsewhere.background.drainOutbox(100), 0);
        assert.equal((await eventsOf(b.service, test, "ledger", uuid(1))).length, 1);
        const { data } = valueOf(await b.service.data.listErrors(test, {}));
        assert.equal(data.length, errors);
        await elsewhere.close();
      });
    });
  }
}
