/** Which transactions let others go first: those that no client waits for, and only those. */

import assert from "node:assert/strict";
import type { Engine, Transaction } from "../../../src/kv/engine.ts";
import { wrapEngine } from "../../../src/kv/calls.ts";
import { drain, reactiveSpec, setOff, write } from "../../support/reactive_spec.ts";
import { uuid, withService } from "../../support/service_fixture.ts";
import { until } from "../../support/until.ts";

/** A transaction that wrote. */
interface Seen {
  readonly isBackground: boolean;
  /** The keys that it set, as texts. */
  readonly keys: readonly string[];
}

/** Listens to the transactions that write. */
function listening(isShared = false): { seen: Seen[]; wrap: (engine: Engine) => Engine } {
  const listener = {
    seen: [] as Seen[],
    wrap: (engine: Engine): Engine =>
      wrapEngine(engine, {
        ...isShared && { capabilities: { isShared }, durableVersion: () => undefined },
        async transact(body, options) {
          let keys: string[] = [];
          const value = await engine.transact((tx) => {
            keys = [];
            return body(heardBy(keys, tx));
          }, options);
          if (keys.length > 0) listener.seen.push({ isBackground: !!options?.isBackground, keys });
          return value;
        },
      }),
  };
  return listener;
}

function heardBy(keys: string[], tx: Transaction): Transaction {
  return new Proxy(tx, {
    get(target, name) {
      const member = Reflect.get(target, name);
      if (typeof member !== "function") return member;
      return (...call: unknown[]) => {
        if (name === "set") keys.push(new TextDecoder("latin1").decode(call[0] as Uint8Array));
        return member.apply(target, call);
      };
    },
  });
}

Deno.test("what clients write goes first, and shares no transaction with what it sets off", async () => {
  const { seen, wrap } = listening(true);
  await withService(async ({ service, host, tenants: { test } }) => {
    for (let n = 0; n < 100; n++) await write(service, test, setOff(uuid(n), "was_promised"));
    host.timeMs += 60_000;
    seen.length = 0;
    let isOver = false;
    const fired = drain(service).finally(() => isOver = true);
    const clients = Array.from({ length: 8 }, async (_, client) => {
      do await write(service, test, setOff(uuid(0xf000 + client), "was_paid")); while (!isOver);
    });
    await Promise.all([...clients, fired]);
    assert.equal(await fired, 100);
    const touching = (id: string) => seen.filter(({ keys }) => keys.some((k) => k.includes(id)));
    // Of the timers, whose ids end with less than 100, and of the clients.
    const [fires, writes] = [uuid(0).slice(-12, -2), uuid(0xf000).slice(-12, -2)].map(touching);
    assert.ok(fires!.length > 0 && writes!.length > 0);
    assert.ok(fires!.every(({ isBackground }) => isBackground));
    assert.ok(writes!.every(({ isBackground }) => !isBackground));
  }, { wrap, spec: reactiveSpec });
});

Deno.test("environments take turns in what is set off, however much one of them has", async () => {
  const { seen, wrap } = listening(true);
  const gate = Promise.withResolvers<void>();
  let isHeld = false;
  const hold = (engine: Engine): Engine => {
    const inner = wrap(engine);
    return wrapEngine(inner, {
      async transact(body, options) {
        if (isHeld && options?.isBulk) await gate.promise;
        return await inner.transact(body, options);
      },
    });
  };
  const fires = () =>
    seen.filter(({ keys }) => keys.some((key) => key.includes(uuid(0).slice(0, 30))));
  await withService(async ({ service, host, tenants: { test, staging } }) => {
    for (let n = 0; n < 400; n++) await write(service, test, setOff(uuid(n), "was_promised"));
    host.timeMs += 1_000;
    await write(service, staging, setOff(uuid(0xf000), "was_promised"));
    [isHeld, seen.length] = [true, 0];
    // The other one's event is due when the first two groups are under way already.
    for (const ms of [59_000, 1_000]) {
      host.timeMs += ms;
      void service.background.drainTimers(100_000);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    gate.resolve();
    await until(async () => await drain(service) === 0 && fires().length > 5, "the firing of all");
    const other = fires().findIndex(({ keys }) => keys.some((key) => key.includes(uuid(0xf000))));
    assert.ok(other >= 0 && other <= 3, `it was number ${other} of ${fires().length}`);
  }, { wrap: hold, spec: reactiveSpec });
});

Deno.test("what the workers write lets others go first", async () => {
  const { seen, wrap } = listening();
  await withService(async ({ service, host, tenants: { test } }) => {
    await write(service, test, setOff(uuid(1), "was_promised"));
    host.timeMs += 120_000;
    seen.length = 0;
    const { background, audit } = service;
    assert.equal(await drain(service), 1, "a timer fired");
    assert.equal(await audit.makeDueAnchors(1), 1);
    host.timeMs += 40 * 24 * 3_600_000;
    while (await background.sweep(100) > 0);
    assert.ok(seen.length >= 3, "the event, the anchor and the sweep wrote");
    assert.deepEqual(seen.filter(({ isBackground }) => !isBackground), []);
  }, { wrap, spec: reactiveSpec });
});
