/** How many requests are admitted, by `src/domain/limits/load.ts`: a server in simulated time. */

import assert from "node:assert/strict";
import {
  CREDIT_MAX,
  earnRefusal,
  enter,
  HELD_MS_MAX,
  HELD_MS_MIN,
  leave,
  type LoadBound,
  newLoadBound,
  newShedPace,
  type ShedPace,
  tellRefusal,
  UNDER_WAY_MAX,
  UNDER_WAY_MIN,
  UNDER_WAY_START,
} from "../../../src/domain/limits/load.ts";

interface Served {
  readonly accepted: number;
  readonly shed: number;
  /** Milliseconds of the accepted requests, ascending. */
  readonly latencies: readonly number[];
}

/** A server that answers `capacity` requests a second, one after another, for `seconds`. */
function serve(bound: LoadBound, fromMs: number, seconds: number, load: {
  readonly arriving: number;
  readonly capacity: number;
  /** What each request takes besides its turn, such as waiting for a disk. */
  readonly waitMs?: number;
}): Served {
  const { arriving, capacity, waitMs = 0 } = load;
  const queue: number[] = [];
  const waiting: { enteredMs: number; readyMs: number }[] = [];
  const latencies: number[] = [];
  let [due, room, shed] = [0, 0, 0];
  for (let nowMs = fromMs; nowMs < fromMs + seconds * 1_000; nowMs++) {
    for (due += arriving / 1_000; due >= 1; due--) {
      if (enter(bound)) queue.push(nowMs);
      else shed++;
    }
    room = Math.min(room + capacity / 1_000, capacity / 1_000 + 1);
    for (; room >= 1 && queue.length > 0; room--) {
      waiting.push({ enteredMs: queue.shift()!, readyMs: nowMs + waitMs });
    }
    while (waiting.length > 0 && waiting[0]!.readyMs <= nowMs) {
      const { enteredMs } = waiting.shift()!;
      leave(bound, enteredMs, nowMs);
      latencies.push(nowMs - enteredMs);
    }
  }
  // The rest is answered but not measured.
  for (const enteredMs of [...queue, ...waiting.map((one) => one.enteredMs)]) {
    leave(bound, enteredMs, fromMs + seconds * 1_000);
  }
  latencies.sort((a, b) => a - b);
  return { accepted: latencies.length, shed, latencies };
}

for (const capacity of [700, 2_000, 4_000, 10_000]) {
  for (const factor of [1.5, 3, 20]) {
    Deno.test(`a server of ${capacity}/s at ${factor} times that goes on at its rate, in time`, () => {
      const bound = newLoadBound(0);
      const load = { arriving: factor * capacity, capacity, waitMs: 5 };
      serve(bound, 0, 3, load);
      const { accepted, shed, latencies } = serve(bound, 3_000, 10, load);
      assert.ok(accepted >= 0.95 * 10 * capacity, `${accepted} accepted`);
      assert.ok(shed > 0);
      const p99 = latencies[Math.floor(0.99 * latencies.length)]!;
      // Answers should take at most half a second; most of that is for work before and after
      // the gate.
      assert.ok(p99 < 200, `p99 ${p99} ms`);
    });
  }
}

Deno.test("a server that keeps up sheds nothing, whatever comes at once", () => {
  const bound = newLoadBound(0);
  const { shed } = serve(bound, 0, 10, { arriving: 3_900, capacity: 4_000, waitMs: 20 });
  assert.equal(shed, 0);
  for (let number = 0; number < UNDER_WAY_START; number++) assert.ok(enter(bound));
});

Deno.test("after an overload the bound opens again", () => {
  const bound = newLoadBound(0);
  serve(bound, 0, 5, { arriving: 9_000, capacity: 700 });
  const closed = bound.max;
  assert.ok(closed < 400, `${closed}`);
  serve(bound, 5_000, 5, { arriving: 20_000, capacity: 10_000 });
  assert.ok(bound.max > 2 * closed, `${bound.max}`);
});

Deno.test("the bound stays within its bounds", () => {
  const bound = newLoadBound(0);
  serve(bound, 0, 10, { arriving: 5_000, capacity: 20 });
  assert.equal(bound.max, UNDER_WAY_MIN);
  serve(bound, 10_000, 30, { arriving: 200_000, capacity: 100_000 });
  assert.ok(bound.max <= UNDER_WAY_MAX);
});

Deno.test("a load that does not fill it leaves the bound alone, however slow it is", () => {
  const bound = newLoadBound(0);
  for (let round = 0; round < 100; round++) {
    for (let number = 0; number < 50; number++) assert.ok(enter(bound));
    for (let number = 0; number < 50; number++) leave(bound, round * 5_000, (round + 1) * 5_000);
  }
  assert.equal(bound.max, UNDER_WAY_START);
  assert.equal(bound.underWay, 0);
});

Deno.test("a few that took minutes do not close the door to many that are quick", () => {
  const bound = newLoadBound(120_000);
  for (let number = 0; number < 900; number++) enter(bound);
  for (let number = 0; number < 10; number++) leave(bound, 0, 120_050);
  for (let number = 0; number < 890; number++) leave(bound, 120_069, 120_099);
  enter(bound);
  leave(bound, 120_070, 120_100);
  assert.ok(bound.max > UNDER_WAY_START, `${bound.max}`);
});

Deno.test("those that wait for their clients take nobody's place", () => {
  const bound = newLoadBound(0);
  for (let number = 0; number < UNDER_WAY_START; number++) assert.ok(enter(bound));
  assert.equal(enter(bound), false);
  assert.equal(enter(bound, 1), true);
  assert.equal(enter(bound, 1), false);
});

/** When refusals are sent, by `src/domain/limits/load.ts`: clients in simulated time. */
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
