/** The slices of transactions: all of them together have one in each turn. */

import assert from "node:assert/strict";
import { openTransactionPieces } from "../../../src/domain/fairness/transaction_pieces.ts";
import { runWithin } from "../../../src/domain/fairness/pieces.ts";

/** A clock that the work moves, and the time worked in each turn. */
function newTurns() {
  const turns = {
    nowMs: 0,
    worked: [0],
    monotonicMs: () => turns.nowMs,
    async yieldTurn() {
      // A turn ends after everything that is ready has run.
      await new Promise((resolve) => setTimeout(resolve));
      turns.worked.push(0);
    },
    work(ms: number) {
      turns.nowMs += ms;
      turns.worked[turns.worked.length - 1]! += ms;
    },
  };
  return turns;
}

type TestTurns = ReturnType<typeof newTurns>;

/** A transaction of so many steps. Each step waits for the store, then works. */
async function transact(turns: TestTurns, owner: number, steps: number, msEach = 1): Promise<void> {
  const pieces = openTransactionPieces(turns, owner);
  for (let step = 0; step < steps; step++) {
    const rest = pieces.rest();
    if (rest !== undefined) await rest;
    await undefined;
    turns.work(msEach);
  }
}

Deno.test("a transaction that fits into one slice waits for nothing", async () => {
  const turns = newTurns();
  await transact(turns, 1, 4);
  assert.deepEqual(turns.worked, [4]);
});

Deno.test("a transaction begins a slice of its own after an earlier one is over", async () => {
  const turns = newTurns();
  await transact(turns, 1, 4);
  turns.nowMs += 100;
  await transact(turns, 1, 4);
  assert.equal(turns.worked.length, 1);
});

Deno.test("eighty transactions at once work one slice in each turn, not one slice each", async () => {
  const turns = newTurns();
  await Promise.all(Array.from({ length: 80 }, (_, i) => transact(turns, i, 8)));
  assert.equal(turns.worked.reduce((sum, ms) => sum + ms), 640);
  // All of them have begun in the first turn, each with the step that it had asked for.
  assert(turns.worked.slice(1).every((ms) => ms <= 5), `${turns.worked}`);
});

Deno.test("transactions that begin while others wait share the slice under way", async () => {
  const turns = newTurns();
  const long = transact(turns, 1, 40);
  const later: Promise<void>[] = [];
  while (turns.worked.length < 4) await new Promise((resolve) => setTimeout(resolve));
  for (let i = 0; i < 50; i++) later.push(transact(turns, i, 4));
  await Promise.all([long, ...later]);
  assert(turns.worked.slice(5).every((ms) => ms <= 5), `${turns.worked}`);
});

Deno.test("owners take turns, however many transactions one of them has", async () => {
  const turns = newTurns();
  const order: string[] = [];
  const run = (owner: number, name: string) =>
    transact(turns, owner, 10, 4).then(() => order.push(name));
  const many = Array.from({ length: 20 }, (_, i) => run(1, `many${i}`));
  await Promise.all([...many, run(2, "one")]);
  assert.equal(order[0], "one");
});

Deno.test("steps run within the slices of their transaction", async () => {
  const turns = newTurns();
  function* steps() {
    for (let step = 0; step < 12; step++) {
      turns.work(1);
      yield;
    }
    return "done";
  }
  assert.equal(await runWithin(openTransactionPieces(turns, 1), steps()), "done");
  assert.deepEqual(turns.worked.filter((ms) => ms > 0), [4, 4, 4]);
});
