/** Large work: one by one, with rests, and owners take turns. */

import assert from "node:assert/strict";
import { endsWithin, openSpacing, type Origin } from "../../../src/kv/transaction/turns.ts";

/** What the test says that the store is away with. */
const AWAY = new Error("away");

function open() {
  return openSpacing((error) => error === AWAY);
}

function of(owner?: number, restMs = 0): Origin {
  return { owner, restsFor: () => restMs };
}

Deno.test("work runs one by one, and owners take turns", async () => {
  const spacing = open();
  const ran: string[] = [];
  let running = 0;
  const run = (owner: number | undefined, name: string) =>
    spacing.run(of(owner), async () => {
      assert.equal(++running, 1, "one at a time");
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      ran.push(name);
    });
  await Promise.all([
    ...["a1", "a2", "a3", "a4"].map((name) => run(1, name)),
    run(2, "b1"),
    run(undefined, "nobody's"),
    run(2, "b2"),
  ]);
  assert.deepEqual(ran, ["a1", "a2", "b1", "nobody's", "a3", "b2", "a4"]);
});

Deno.test("nothing begins after work for as long as it says at its end", async () => {
  const spacing = open();
  let restMs = 0;
  const first = spacing.run({ restsFor: () => restMs }, () => Promise.resolve(void (restMs = 50)));
  let endedMs = 0;
  void first.then(() => endedMs = performance.now());
  await spacing.run(of(2), () => Promise.resolve());
  assert.ok(performance.now() - endedMs >= 49);
});

Deno.test("a body that takes long holds up others for half a second", async () => {
  const spacing = open();
  const { promise, resolve } = Promise.withResolvers<void>();
  const long = spacing.run(of(1), (hold) => hold(() => promise));
  const beganMs = performance.now();
  assert.equal(await spacing.run(of(2), () => Promise.resolve("done")), "done");
  assert.ok(performance.now() - beganMs >= 499);
  resolve();
  await long;
  assert.equal(await spacing.run(of(1), () => Promise.resolve("done")), "done");
});

Deno.test("work that fails does not stop what waits", async () => {
  const spacing = open();
  const failed = spacing.run(of(1), () => Promise.reject(new Error("no")));
  const next = spacing.run(of(1), () => Promise.resolve("done"));
  await assert.rejects(failed, { message: "no" });
  assert.equal(await next, "done");
});

Deno.test("a store that is away is found once, not by each that waits", async () => {
  const spacing = open();
  const outcomes = await Promise.allSettled([
    spacing.run(of(1), () => Promise.reject(AWAY)),
    spacing.run(of(2), () => Promise.resolve("done")),
    spacing.run(of(1), () => Promise.resolve("done")),
  ]);
  assert.deepEqual(outcomes, Array(3).fill({ status: "rejected", reason: AWAY }));
  assert.equal(await spacing.run(of(1), () => Promise.resolve("back")), "back");
});

Deno.test("what waits at the close is refused, and so is what comes later", async () => {
  const spacing = open();
  const { promise, resolve } = Promise.withResolvers<string>();
  const [running, waiting] = [spacing.run(of(1), () => promise), spacing.run(of(1), () => promise)];
  spacing.close(new Error("closed"));
  await assert.rejects(waiting, { message: "closed" });
  await assert.rejects(spacing.run(of(2), () => promise), { message: "closed" });
  resolve("ended");
  assert.equal(await running, "ended");
  await assert.rejects(spacing.run(of(2), () => promise), { message: "closed" });
});

Deno.test("endsWithin() tells what is fulfilled in time from what is not", async () => {
  const never = Promise.withResolvers<void>().promise;
  assert.equal(await endsWithin(Promise.resolve(), 1_000), true);
  assert.equal(await endsWithin(never, 1), false);
  const beganMs = performance.now();
  assert.equal(await endsWithin(Promise.reject(new Error("no")), 20), false);
  assert.ok(performance.now() - beganMs >= 19, "a failure is no reason to hurry");
});
