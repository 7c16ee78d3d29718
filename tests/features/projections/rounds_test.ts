/** Projections of one environment hold up no others: what is too much is done in parts. */

import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/domain/json.ts";
import { openRounds } from "../../../src/features/projections/rounds.ts";
import type { Refresh } from "../../../src/features/projections/refresh_rows.ts";
import {
  type Bytes,
  type Engine,
  EngineLimitExceeded,
  EngineUnavailable,
  type KeyRange,
  type RangeOptions,
  type Transaction,
} from "../../../src/kv/engine.ts";
import { unpack } from "../../../src/kv/tuple.ts";
import { kind } from "../../../src/store/key_kinds.ts";
import { keys } from "../../../src/store/keys.ts";
import {
  listRowsOfSource,
  readProjectionRowKeys,
} from "../../../src/store/projections/projection_rows.ts";
import { waitForProjections } from "../../../src/features/projections/wait_for_projections.ts";
import { type FakeHost, fakeHost } from "../../support/fake_host.ts";
import { type ServiceFixture, uuid, valueOf, withService } from "../../support/service_fixture.ts";
import { settleProjections } from "../../support/settle_projections.ts";
import { ORDERS_SEEN, storedRows, writeShop } from "../../support/shop_projections.ts";
import { shopSpec } from "../../support/projection_shop.ts";

/** The rows that a transaction writes, by environment and key; a test may refuse them. */
type OnRow = (row: { tenant: number; key: string; text: string; count: number }) => void;

/** Tells `watch.onRow` of each row that is written. */
function watchRows(engine: Engine, watch: { onRow: OnRow }): Engine {
  const transact: Engine["transact"] = (body, options) =>
    engine.transact((tx) => {
      let count = 0;
      const set = (key: Bytes, value: Bytes) => {
        const [tenant, what, , , row] = unpack(key);
        if (what === kind.projectionRow) {
          const text = new TextDecoder().decode(value);
          watch.onRow({ tenant: Number(tenant), key: String(row), text, count: ++count });
        }
        tx.set(key, value);
      };
      return body(withMethods(tx, { set }));
    }, options);
  return withMethods(engine, { transact });
}

function withMethods<T extends object>(of: T, methods: Partial<T>): T {
  return new Proxy(of, {
    get(target, name) {
      const value = Reflect.get(methods, name) ?? Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

interface Watched extends ServiceFixture {
  readonly watch: { onRow: OnRow };
  place(environment: "test" | "staging", count: number, customer?: string): Promise<void>;
}

async function withWatch(
  body: (watched: Watched) => Promise<void>,
  definition: JsonObject = ORDERS_SEEN,
): Promise<void> {
  const watch: { onRow: OnRow } = { onRow: () => {} };
  const wrap = (engine: Engine) => watchRows(engine, watch);
  await withService(async (fixture) => {
    const { service, tenants, host } = fixture;
    for (const tenant of [tenants.test, tenants.staging]) {
      valueOf(await service.projections.deploy(tenant, definition));
    }
    await settleProjections(service);
    const place: Watched["place"] = async (environment, count, customer = uuid(500)) => {
      for (let n = 1; n <= count; n++) {
        await writeShop(service, tenants[environment], {
          streams: new Map(),
          stream: ["order", uuid(n)],
          event: { type: "was_placed", data: { customer } },
          nowMs: host.timeMs,
        });
      }
    };
    await body({ ...fixture, watch, place });
  }, { spec: shopSpec(), wrap });
}

Deno.test("rows that do not fit into one transaction are written in several", async () => {
  await withWatch(async ({ service, engine, tenants, watch, place }) => {
    await place("test", 20);
    watch.onRow = ({ count }) => {
      if (count > 3) throw new EngineLimitExceeded("too much");
    };
    await service.projections.keepProjections(100);
    assert.equal((await storedRows(engine, tenants.test)).length, 20);
  });
});

Deno.test("a row that does not fit into the store alone gets an error, and holds up no other", async () => {
  await withWatch(async ({ service, engine, tenants, watch, place }) => {
    await place("test", 5);
    watch.onRow = ({ key, text }) => {
      if (key === uuid(2) && !text.includes('"error"')) throw new EngineLimitExceeded("too much");
    };
    await service.projections.keepProjections(100);
    const rows = await storedRows(engine, tenants.test);
    const errors = rows.map(({ error }) => error?.message);
    const message = "The row does not fit into the store: too much";
    assert.deepEqual(errors, [undefined, message, undefined, undefined, undefined]);
  });
});

Deno.test("an environment whose projections fail holds up no other, and is tried again later", async () => {
  await withWatch(async ({ service, engine, host, tenants, watch, place }) => {
    const [first, second] = tenants.test.number < tenants.staging.number
      ? ["test", "staging"] as const
      : ["staging", "test"] as const;
    await place(first, 1);
    await place(second, 1);
    let failures = 0;
    watch.onRow = ({ tenant }) => {
      if (tenant !== tenants[first].number) return;
      failures++;
      throw new Error("broken");
    };
    for (let round = 0; round < 3; round++) await service.projections.keepProjections(100);
    assert.equal((await storedRows(engine, tenants[second])).length, 1);
    assert.equal(failures, 1, "it waits before it is tried again");
    watch.onRow = () => {};
    const before = host.monotonicMs;
    host.monotonicMs = () => before() + 1_000;
    await service.projections.keepProjections(100);
    assert.equal((await storedRows(engine, tenants[first])).length, 1);
  });
});

Deno.test("rows with many sources count these, so that a transaction never has too many", async () => {
  const definition = {
    name: "many",
    for_each: "order",
    sources: {
      order: "$key",
      customers: { type: "customer", id: "$.order.customers", mode: "array" },
    },
    select: { count: { $count: "$.customers" } },
  };
  await withWatch(async ({ service, engine, tenants, watch, host }) => {
    const customers = Array.from({ length: 900 }, (_, n) => uuid(10_000 + n));
    for (let n = 1; n <= 16; n++) {
      const event = { type: "was_placed", data: { customers } };
      const stream = ["order", uuid(n)] as const;
      const write = { streams: new Map(), stream, event, nowMs: host.timeMs };
      await writeShop(service, tenants.test, write);
    }
    let together = 0;
    watch.onRow = ({ count }) => together = Math.max(together, count);
    await service.projections.keepProjections(100);
    assert.equal((await storedRows(engine, tenants.test, "many")).length, 16);
    // Each row takes about 500 KB of the 4 MiB.
    assert.ok(together > 1 && together < 12, `${together} rows in one transaction`);
  }, definition);
});

Deno.test("an environment whose rows take long goes on in the next round, and repeats nothing", async () => {
  await withWatch(async ({ service, engine, host, tenants, watch, place }) => {
    await place("test", 80);
    await place("staging", 80);
    const written = new Map<string, number>();
    watch.onRow = ({ tenant, key }) => {
      const name = `${tenant}/${key}`;
      written.set(name, (written.get(name) ?? 0) + 1);
    };
    let nowMs = host.monotonicMs();
    host.monotonicMs = () => nowMs += 15;
    assert.ok(await service.projections.keepProjections(100) > 0);
    for (const tenant of [tenants.test, tenants.staging]) {
      const { length } = await storedRows(engine, tenant);
      assert.ok(length > 0 && length < 80, `${length} rows after one round`);
    }
    for (let round = 0; round < 20; round++) await service.projections.keepProjections(100);
    assert.deepEqual(new Set(written.values()), new Set([1]));
    assert.equal(written.size, 160);
  });
});

Deno.test("changes that many projections may show are taken on in smaller numbers", async () => {
  await withWatch(async ({ service, tenants, host }) => {
    for (let n = 1; n < 15; n++) {
      const document = { ...ORDERS_SEEN, name: `orders_seen_${n}` };
      valueOf(await service.projections.deploy(tenants.test, document));
    }
    await settleProjections(service);
    for (let n = 0; n < 100; n++) {
      await writeShop(service, tenants.test, {
        streams: new Map(),
        stream: ["customer", uuid(n)],
        event: { type: "was_registered", data: { name: "Ada" } },
        nowMs: host.timeMs,
      });
    }
    assert.equal(await service.projections.keepProjections(100), 25);
    await settleProjections(service);
  });
});

Deno.test("the keys of rows are read without the rows", async () => {
  const asked: (RangeOptions | undefined)[] = [];
  const tx: Pick<Transaction, "getRange"> = {
    getRange(_range, options) {
      asked.push(options);
      return Promise.resolve([]);
    },
  };
  const place = { tenant: 1, number: 1, version: 1 };
  await readProjectionRowKeys(tx, place, { limit: 10 });
  await listRowsOfSource(tx, place, `order:${uuid(1)}` as never, { limit: 10 });
  assert.deepEqual(asked.map((options) => options?.keysOnly), [true, true]);
});

Deno.test("openRounds() goes on with a refresh that was not done, under its name alone", async () => {
  const rounds = openRounds(fakeHost());
  let begun = 0;
  let steps = 0;
  const begin = () => {
    begun++;
    const refresh: Refresh = { goOn: () => Promise.resolve(++steps % 3 === 0 ? true : undefined) };
    return Promise.resolve(refresh);
  };
  const run = () => rounds.refresh("1", 0, begin);
  assert.deepEqual([await run(), await run(), await run()], ["open", "open", "done"]);
  assert.equal(begun, 1);
  await run();
  rounds.dropOthers((name) => name !== "1");
  await run();
  assert.equal(begun, 3);
});

Deno.test("openRounds() waits longer after each failure, and passes on that the store is away", async () => {
  const host = fakeHost();
  let nowMs = 0;
  host.monotonicMs = () => nowMs;
  const rounds = openRounds(host);
  const tries: number[] = [];
  const fail = () => {
    tries.push(nowMs);
    return Promise.reject(new Error("broken"));
  };
  for (; nowMs < 4_000; nowMs += 50) assert.equal(await rounds.guard("1", fail), 0);
  assert.deepEqual(tries, [0, 250, 750, 1_750, 3_750]);
  const away = () => Promise.reject(new EngineUnavailable("away"));
  await assert.rejects(rounds.guard("2", away), EngineUnavailable);
});

/**
 * Moves the clock while the work waits for it. Its looks at the store take none of this time,
 * however much real time they take.
 */
async function whileTimePasses<T>(host: FakeHost, stepMs: number, work: Promise<T>): Promise<T> {
  let isOver = false;
  void work.finally(() => isOver = true);
  while (!isOver) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    // The other waits of a service are longer than those between looks.
    if (host.timersMs.some((ms) => ms <= 100)) host.timeMs += stepMs;
  }
  return await work;
}

Deno.test("who waits for some projections reads no other definition, and each only once", async () => {
  const read: string[] = [];
  const watchReads = (engine: Engine, number: number): Engine => {
    const snapshot: Engine["snapshot"] = (body, options) =>
      engine.snapshot((tx) => {
        const get = (key: Bytes) => {
          for (const name of ["orders_seen", "others"]) {
            if (key.toHex() === keys.projection(number, name).toHex()) read.push(name);
          }
          return tx.get(key);
        };
        const getRange = (range: KeyRange, asked?: RangeOptions) => {
          const isOfDefinitions = range.begin.toHex() === keys.projections(number).begin.toHex();
          if (isOfDefinitions && !asked?.keysOnly) read.push("all");
          return tx.getRange(range, asked);
        };
        return body(withMethods(tx, { get, getRange }));
      }, options);
    return withMethods(engine, { snapshot });
  };
  await withWatch(async ({ service, engine, host, tenants: { test }, place }) => {
    valueOf(await service.projections.deploy(test, { ...ORDERS_SEEN, name: "others" }));
    await place("test", 501);
    await settleProjections(service);
    const customer = { type: "was_registered", data: { name: "Ada" } };
    const stream = ["customer", uuid(500)] as const;
    const write = { streams: new Map(), stream, event: customer, nowMs: host.timeMs };
    await writeShop(service, test, write);
    await service.projections.keepProjections(100);
    const waiting = waitForProjections(watchReads(engine, test.number), host, {
      tenant: test.number,
      waitMs: 1_000,
      names: ["orders_seen"],
    });
    assert.equal((await whileTimePasses(host, 100, waiting)).commits, 1);
    assert.deepEqual(read, ["orders_seen"]);
  });
});

Deno.test("the check before a switch goes on in the next round, and compares each row once", async () => {
  await withWatch(async ({ service, host, tenants: { test }, place }) => {
    await place("test", 40);
    await settleProjections(service);
    const select = { who: "$.order.customer" };
    valueOf(await service.projections.deploy(test, { ...ORDERS_SEEN, select }));
    let nowMs = host.monotonicMs();
    host.monotonicMs = () => nowMs += 600;
    let rounds = 0;
    let checking = 0;
    for (; rounds < 200; rounds++) {
      const [status] = valueOf(await service.projections.list(test)).data;
      if (status?.version === 2) break;
      if (status?.building?.rows === 40) checking++;
      await service.projections.buildProjections();
    }
    assert.ok(rounds < 200, "the new version is read");
    const line = host.lines.findLast(({ message }) => message.includes("is read from now on"));
    // The ids differ only in their ends, so the sample has the first rows alone.
    assert.equal(line?.fields.checked, 4);
    assert.ok(checking >= 4, `${checking} rounds`);
  });
});

Deno.test("those who wait for the projections of one environment share their looks at them", async () => {
  await withWatch(async ({ service, engine, host, tenants: { test }, place }) => {
    let snapshots = 0;
    const snapshot: Engine["snapshot"] = (body, options) => {
      snapshots++;
      return engine.snapshot(body, options);
    };
    const counted = withMethods(engine, { snapshot });
    async function looksOf(waiters: number): Promise<number> {
      snapshots = 0;
      const wait = { tenant: test.number, waitMs: 1_000 };
      const waiting = Array.from(
        { length: waiters },
        () => waitForProjections(counted, host, wait),
      );
      for (const { commits } of await whileTimePasses(host, 3, Promise.all(waiting))) {
        assert.equal(commits, 1);
      }
      // Each reads the end of the log, and at last the lag.
      return snapshots - 2 * waiters;
    }
    await place("test", 1);
    const alone = await looksOf(1);
    const together = await looksOf(50);
    assert.ok(alone > 10, `${alone} looks`);
    assert.ok(together < 4 * alone, `${together} looks of 50, ${alone} of one`);
    await settleProjections(service);
    const last = await waitForProjections(counted, host, { tenant: test.number, waitMs: 1_000 });
    assert.equal(last.commits, 0);
  });
});
