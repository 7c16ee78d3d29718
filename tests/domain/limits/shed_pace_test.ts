/** When refusals are sent, by `src/domain/limits/shed_pace.ts`: clients in simulated time. */

import assert from "node:assert/strict";
import {
  CREDIT_MAX,
  earnRefusal,
  HELD_MS_MAX,
  HELD_MS_MIN,
  newShedPace,
  type ShedPace,
  tellRefusal,
} from "../../../src/domain/limits/shed_pace.ts";

const TICK_MS = 50;

interface Held {
  readonly told: number;
  /** Milliseconds that each client waited. */
  readonly waits: readonly number[];
}

/**
 * Clients that each ask again as soon as they are refused, beside a server with `answered`
 * answers a second. Returns the refusals of `seconds`, after as many seconds of settling.
 */
function holdClients(pace: ShedPace, clients: number, answered: number, seconds: number): Held {
  const held = Array.from({ length: clients }, () => 0);
  const waits: number[] = [];
  for (let nowMs = 0; nowMs < 2_000 * seconds; nowMs += TICK_MS) {
    for (let each = 0; each < answered * TICK_MS / 1_000; each++) earnRefusal(pace);
    while (tellRefusal(pace, nowMs - held[0]!)) {
      const sinceMs = held.shift()!;
      if (nowMs >= 1_000 * seconds) waits.push(nowMs - sinceMs);
      held.push(nowMs);
    }
  }
  return { told: waits.length, waits };
}

for (const answered of [400, 4_000, 40_000]) {
  Deno.test(`beside ${answered} answers a second refusals are an eighth of them, however few clients ask again at once`, () => {
    // Too many clients to refuse all after half a second, and too few for anybody to wait two.
    const clients = answered / 5;
    const { told, waits } = holdClients(newShedPace(), clients, answered, 10);
    assert.ok(told <= 1.01 * 10 * answered / 8, `${told} told`);
    assert.ok(told >= 0.9 * 10 * answered / 8, `${told} told`);
    assert.ok(waits.every((waitMs) => waitMs >= HELD_MS_MIN && waitMs <= HELD_MS_MAX + TICK_MS));
  });
}

Deno.test("where very many clients ask each waits its longest, and no longer", () => {
  const { told, waits } = holdClients(newShedPace(), 8_000, 4_000, 10);
  assert.ok(waits.every((waitMs) => waitMs >= HELD_MS_MIN && waitMs <= HELD_MS_MAX + TICK_MS));
  assert.ok(told >= 10 * 8_000 / ((HELD_MS_MAX + TICK_MS) / 1_000), `${told} told`);
});

Deno.test("a few refusals after a quiet time are told soonest, but never at once", () => {
  const pace = newShedPace();
  assert.equal(tellRefusal(pace, HELD_MS_MIN - 1), false);
  for (let number = 0; number < CREDIT_MAX; number++) assert.ok(tellRefusal(pace, HELD_MS_MIN));
  assert.equal(tellRefusal(pace, HELD_MS_MIN), false, "that was no quiet time");
});

Deno.test("where nothing is answered refusals are told all the same", () => {
  const pace = newShedPace();
  for (let number = 0; number < CREDIT_MAX; number++) tellRefusal(pace, HELD_MS_MIN);
  assert.equal(tellRefusal(pace, HELD_MS_MAX - 1), false);
  for (let number = 0; number < 1_000; number++) assert.ok(tellRefusal(pace, HELD_MS_MAX));
});

Deno.test("a long time of answers is worth no more than a short one", () => {
  const pace = newShedPace();
  for (let number = 0; number < 1_000_000; number++) earnRefusal(pace);
  for (let number = 0; number < CREDIT_MAX; number++) assert.ok(tellRefusal(pace, HELD_MS_MIN));
  assert.equal(tellRefusal(pace, HELD_MS_MIN), false);
});
