/** Pages that are read in turns: some at a time, and of many environments. */

import assert from "node:assert/strict";
import { openPageTurns } from "../../../src/features/feed/page_turns.ts";

const TENANT = 1;

/** A clock that only moves when a test moves it, and turns that it counts. */
function countedTurns() {
  const clock = { nowMs: 0, turns: 0 };
  const nextTurn = () =>
    new Promise<void>((resolve) => setTimeout(() => resolve(void clock.turns++), 0));
  const host = { monotonicMs: () => clock.nowMs, yieldBriefly: nextTurn, yieldTurn: nextTurn };
  return { clock, host };
}

for (const tenants of [[TENANT], [1, 2, 3, 4, 5]]) {
  Deno.test(`many pages of ${tenants.length} environments begin one slice in a turn`, async () => {
    const { clock, host } = countedTurns();
    const begun = new Map<number, number>();
    const running = new Map<number, number>();
    let most = 0;
    async function read(tenant: number): Promise<void> {
      begun.set(clock.turns, (begun.get(clock.turns) ?? 0) + 1);
      running.set(tenant, (running.get(tenant) ?? 0) + 1);
      most = Math.max(most, running.get(tenant)!);
      clock.nowMs += 5;
      for (let n = 0; n < 10; n++) await host.yieldTurn();
      running.set(tenant, running.get(tenant)! - 1);
    }
    const pages = openPageTurns(host, false);
    const all = Array.from({ length: 40 }, (_, n) => tenants[n % tenants.length]!);
    await Promise.all(all.map((tenant) => pages.run(tenant, () => read(tenant))));
    assert.equal(Math.max(...begun.values()), 1);
    assert.ok(most <= 4, `${most} at a time`);
  });
}

Deno.test("pages that take no time are read in one turn, and one that fails is no hindrance", async () => {
  const { clock, host } = countedTurns();
  const pages = openPageTurns(host, false);
  const reads = Array.from(
    { length: 40 },
    (_, n) =>
      pages.run(TENANT, () => n === 7 ? Promise.reject(new Error("away")) : Promise.resolve(n)),
  );
  const read = await Promise.allSettled(reads);
  assert.equal(read.filter(({ status }) => status === "fulfilled").length, 39);
  assert.equal(clock.turns, 0);
});
