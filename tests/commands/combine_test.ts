/** Concurrent writes to one stream share a transaction, each with its own answer. */

import assert from "node:assert/strict";
import type { Engine } from "../../src/kv/engine.ts";
import {
  ACTOR,
  firstIndexes,
  noteWrite,
  uuid,
  valueOf,
  withService,
} from "../support/service_fixture.ts";

/** Counts the transactions that pass through. */
function counting(): { wrap: (engine: Engine) => Engine; count: number } {
  const counter = {
    count: 0,
    wrap: (engine: Engine): Engine => ({
      transact(body) {
        counter.count++;
        return engine.transact(body);
      },
      snapshot: (body) => engine.snapshot(body),
      watch: (key) => engine.watch(key),
      close: () => engine.close(),
    }),
  };
  return counter;
}

Deno.test("two hundred writes at once to one stream take a few transactions", async () => {
  const counter = counting();
  await withService(async ({ service, tenants: { test } }) => {
    counter.count = 0;
    const writes = Array.from({ length: 200 }, (_, n) => noteWrite(uuid(1), `n${n}`));
    const outcomes = await Promise.all(writes.map((w) => service.data.writeEvents(test, w)));
    assert.equal(new Set(outcomes.flatMap((outcome) => firstIndexes(valueOf(outcome)))).size, 200);
    assert.ok(counter.count <= 3, `${counter.count} transactions`);
  }, { wrap: counter.wrap });
});

Deno.test("a refused write among combined ones leaves no trace and hinders nobody", async () => {
  await withService(async ({ service, tenants: { test } }) => {
    const outcomes = await Promise.all(Array.from({ length: 50 }, (_, n) => {
      const guard = n % 2 === 0 ? {} : { previous_length: 1_000 };
      const metadata = { actor: ACTOR, ...guard };
      return service.data.writeEvents(test, noteWrite(uuid(1), `n${n}`, { metadata }));
    }));
    assert.equal(outcomes.filter(({ ok }) => ok).length, 25);
    assert.equal(valueOf(await service.data.readLength(test, "order", uuid(1))), 25);
  });
});

Deno.test("writes that wait behind a failed transaction are done all the same", async () => {
  let failures = 1;
  const wrap = (engine: Engine): Engine => ({
    ...engine,
    transact: (body) =>
      failuresAreOn && failures-- > 0 ? Promise.reject(new Error("lost")) : engine.transact(body),
    snapshot: (body) => engine.snapshot(body),
    watch: (key) => engine.watch(key),
    close: () => engine.close(),
  });
  let failuresAreOn = false;
  await withService(async ({ service, tenants: { test } }) => {
    failuresAreOn = true;
    const writes = Array.from(
      { length: 5 },
      (_, n) => service.data.writeEvents(test, noteWrite(uuid(1), `n${n}`)),
    );
    const settled = await Promise.allSettled(writes);
    assert.deepEqual(settled.map(({ status }) => status), [
      "rejected",
      ...Array(4).fill("fulfilled"),
    ]);
    assert.equal(valueOf(await service.data.readLength(test, "order", uuid(1))), 4);
  }, { wrap });
});
