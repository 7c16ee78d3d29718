/** Whose password is checked next: addresses take turns, and owners do not wait for strangers. */

import { deepEqual, equal } from "node:assert/strict";
import { createLoginGate, type LoginGate } from "../../../src/features/access/login_gate.ts";

/** Asks for a turn for each name, and records who gets one and who is turned away. */
function line(gate: LoginGate) {
  const told: string[] = [];
  function enter(network: string, isKnown = false): void {
    gate.enter(network, isKnown).then((mayGo) => told.push(mayGo ? network : `no ${network}`));
  }
  async function settled(): Promise<string[]> {
    await new Promise((resolve) => setImmediate(resolve));
    return told.splice(0);
  }
  return { enter, settled };
}

Deno.test("two have a turn at once; the next has one when another ends", async () => {
  const gate = createLoginGate();
  const { enter, settled } = line(gate);
  for (const network of ["a", "b", "c"]) enter(network);
  deepEqual(await settled(), ["a", "b"]);
  gate.leave();
  deepEqual(await settled(), ["c"]);
  for (let ends = 0; ends < 2; ends++) gate.leave();
  enter("d");
  deepEqual(await settled(), ["d"]);
});

Deno.test("an address that asks eight times waits for itself, not others for it", async () => {
  const gate = createLoginGate();
  const { enter, settled } = line(gate);
  for (let asks = 0; asks < 10; asks++) enter("many");
  for (const network of ["one", "two"]) enter(network);
  deepEqual(await settled(), ["many", "many"]);
  for (let ends = 0; ends < 4; ends++) gate.leave();
  deepEqual(await settled(), ["many", "one", "two", "many"]);
});

Deno.test("of one address at most eight wait: a ninth is turned away at once", async () => {
  const gate = createLoginGate();
  const { enter, settled } = line(gate);
  for (let asks = 0; asks < 11; asks++) enter("many");
  deepEqual(await settled(), ["many", "many", "no many"]);
});

Deno.test("where 256 wait, who asks first takes the place of the last of the busiest address", async () => {
  const gate = createLoginGate();
  const { enter, settled } = line(gate);
  for (let asks = 0; asks < 2; asks++) enter("running");
  for (let network = 0; network < 32; network++) {
    for (let asks = 0; asks < 8; asks++) enter(`n${network}`);
  }
  await settled();
  enter("new");
  deepEqual(await settled(), ["no n0"]);
});

Deno.test("where 256 addresses wait, strangers are turned away, and owners have a turn soon", async () => {
  const gate = createLoginGate();
  const { enter, settled } = line(gate);
  for (let network = 0; network < 258; network++) enter(`n${network}`);
  await settled();
  enter("stranger");
  enter("owner", true);
  deepEqual(await settled(), ["no stranger"]);
  for (let ends = 0; ends < 2; ends++) gate.leave();
  equal((await settled()).includes("owner"), true);
});

Deno.test("an address waits until fewer than sixty of its logins have failed within a minute", () => {
  const gate = createLoginGate();
  for (let fails = 0; fails < 60; fails++) {
    equal(gate.lockedMs("a", 1_000), 0);
    gate.countFailed("a", 1_000);
  }
  const waitMs = gate.lockedMs("a", 1_000);
  equal(waitMs > 59_000 && waitMs <= 65_000, true);
  equal(gate.lockedMs("b", 1_000), 0);
  equal(gate.lockedMs("a", 1_000 + waitMs), 0);
});
