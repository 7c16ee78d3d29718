/** Short work of many owners: a slice of it in each turn, and owners take turns. */

import assert from "node:assert/strict";
import { gateOf, openOwnerGate } from "../../../src/domain/fairness/owner_gate.ts";

/** A gate whose turns end when the test says so, and work that moves its clock. */
function openTestGate() {
  const ends: (() => void)[] = [];
  const nextTurn = () => new Promise<void>((resolve) => ends.push(resolve));
  const turns = {
    nowMs: 0,
    monotonicMs: () => turns.nowMs,
    yieldTurn: nextTurn,
    yieldBriefly: nextTurn,
  };
  const gate = openOwnerGate(turns);
  const begun: string[] = [];
  async function work(owner: string, milliseconds: number): Promise<void> {
    const turnComes = gate.enter(owner);
    if (turnComes !== undefined) await turnComes;
    begun.push(owner);
    turns.nowMs += milliseconds;
  }
  async function endTurn(): Promise<void> {
    for (const end of ends.splice(0)) end();
    await settle();
  }
  return { gate, begun, work, endTurn };
}

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

Deno.test("who is alone does not wait, in any turn", async () => {
  const { gate, endTurn } = openTestGate();
  for (let turn = 0; turn < 3; turn++) {
    assert.equal(gate.enter("a"), undefined);
    await endTurn();
  }
});

Deno.test("a turn has what fits into a piece, however many come at once", async () => {
  const { begun, work, endTurn } = openTestGate();
  for (let n = 0; n < 10; n++) void work("a", 1.5);
  await settle();
  const byTurn = [begun.length];
  while (begun.length < 10) {
    const before = begun.length;
    await endTurn();
    byTurn.push(begun.length - before);
  }
  assert.deepEqual(byTurn, [3, 3, 3, 1]);
});

Deno.test("a turn ends with what it may send, however quickly that is done", async () => {
  const { gate, endTurn } = openTestGate();
  const byTurn = [0];
  async function send(bytes: number): Promise<void> {
    await gate.enter("a");
    gate.spend(bytes);
    byTurn[byTurn.length - 1]!++;
  }
  for (let n = 0; n < 5; n++) {
    void send(400_000);
    await settle();
  }
  for (let turn = 0; turn < 3; turn++) {
    byTurn.push(0);
    await endTurn();
  }
  assert.deepEqual(byTurn, [3, 2, 0, 0]);
});

Deno.test("owners take turns, however much of one of them waits", async () => {
  const { begun, work, endTurn } = openTestGate();
  for (let n = 0; n < 20; n++) void work("many", 5);
  void work("one", 5);
  for (let turn = 0; turn < 3; turn++) await endTurn();
  assert.ok(begun.includes("one"), `${begun}`);
});

Deno.test("nobody passes those who wait, and afterwards nobody waits again", async () => {
  const { gate, begun, work, endTurn } = openTestGate();
  for (const owner of ["long", "next", "last"]) void work(owner, 5);
  await endTurn();
  void work("late", 0);
  assert.deepEqual(begun, ["long", "next"]);
  for (let turn = 0; turn < 4; turn++) await endTurn();
  assert.deepEqual(begun, ["long", "next", "last", "late"]);
  assert.equal(gate.enter("a"), undefined);
});

Deno.test("a service has one gate", () => {
  const turns = {
    monotonicMs: () => 0,
    yieldTurn: () => Promise.resolve(),
    yieldBriefly: () => Promise.resolve(),
  };
  const [one, other] = [{}, {}];
  assert.equal(gateOf(one, turns), gateOf(one, turns));
  assert.notEqual(gateOf(one, turns), gateOf(other, turns));
});
