/** Long work in slices: when a slice ends, and that another one begins. */

import assert from "node:assert/strict";
import {
  openGate,
  openPieces,
  openTurnQuota,
  runInPieces,
  type Steps,
  waitForSharedTurn,
  waitForTurn,
} from "../../../src/domain/fairness/pieces.ts";

/** A clock that the test moves, and a count of the yielded turns. */
function newTurns() {
  const turns = {
    nowMs: 0,
    given: 0,
    monotonicMs: () => turns.nowMs,
    yieldTurn: () => {
      turns.given++;
      return Promise.resolve();
    },
  };
  return turns;
}

Deno.test("rest() gives nothing to wait for while the piece is shorter than it may be", () => {
  const turns = newTurns();
  const pieces = openPieces(turns, 4);
  turns.nowMs = 3.9;
  assert.equal(pieces.rest(), undefined);
  assert.equal(turns.given, 0);
});

Deno.test("rest() gives the thread to others when the piece has run its time, and begins a new one", async () => {
  const turns = newTurns();
  const pieces = openPieces(turns, 4);
  turns.nowMs = 4;
  await pieces.rest();
  assert.equal(turns.given, 1);
  turns.nowMs = 7;
  assert.equal(pieces.rest(), undefined);
  turns.nowMs = 8;
  await pieces.rest();
  assert.equal(turns.given, 2);
});

/** Runs parts side by side that share slices. Each has steps of so many milliseconds. */
async function runParts(parts: number, steps: number, msEach: number) {
  const turns = newTurns();
  const pieces = openPieces(turns, 4);
  /** How long each turn has worked. */
  const worked: number[] = [0];
  await Promise.all(Array.from({ length: parts }, async () => {
    for (let step = 0; step < steps; step++) {
      const rest = pieces.rest();
      if (rest !== undefined) await rest;
      turns.nowMs += msEach;
      worked[turns.given] = (worked[turns.given] ?? 0) + msEach;
    }
  }));
  return worked;
}

Deno.test("parts that share slices go on in one turn, for as long as its slice lasts", async () => {
  const worked = await runParts(16, 10, 0.5);
  assert.deepEqual(worked, Array(20).fill(4));
});

Deno.test("a part that uses up the slice leaves the others to the next turns", async () => {
  assert.deepEqual(await runParts(8, 3, 4), Array(24).fill(4));
});

function* countTo(turns: { nowMs: number }, count: number, msEach: number): Steps<number> {
  for (let done = 0; done < count; done++) {
    turns.nowMs += msEach;
    yield;
  }
  return count;
}

Deno.test("runInPieces() answers at once what fits into one piece", () => {
  const turns = newTurns();
  assert.equal(runInPieces(countTo(turns, 3, 1), turns), 3);
  assert.equal(turns.given, 0);
});

Deno.test("runInPieces() gives the thread away after each piece, and goes on to the end", async () => {
  const turns = newTurns();
  const result = runInPieces(countTo(turns, 10, 2), turns);
  assert(result instanceof Promise);
  assert.equal(await result, 10);
  assert.equal(turns.given, 4);
});

/** Turns that are macrotasks, as real ones are. */
function newLoopTurns() {
  const turns = newTurns();
  const nextTurn = () => new Promise<void>((resolve) => setTimeout(resolve));
  return Object.assign(turns, { yieldTurn: () => (turns.given++, nextTurn()) });
}

/** Who shares a turn, of so many who then work for so many milliseconds, after some steps. */
async function sharedTurnsOf(count: number, msEach: number, steps = 0): Promise<number[][]> {
  const turns = newLoopTurns();
  const order: number[][] = [];
  await Promise.all(Array.from({ length: count }, async (_, number) => {
    await waitForSharedTurn(turns, "a");
    (order[turns.given - 1] ??= []).push(number);
    for (let step = 0; step < steps; step++) await undefined;
    turns.nowMs += msEach;
  }));
  return order;
}

Deno.test("waitForTurn() lets one of many go on in each turn, in the order in which they came", async () => {
  const turns = newTurns();
  const ends: (() => void)[] = [];
  const held = {
    ...turns,
    yieldTurn: () => new Promise<void>((resolve) => ends.push(resolve)),
  };
  const order: string[] = [];
  const waiting = ["a", "b", "c"].map((name) => waitForTurn(held).then(() => order.push(name)));
  const settle = () => new Promise((resolve) => setTimeout(resolve));
  await settle();
  assert.equal(ends.length, 1);
  ends[0]!();
  await settle();
  assert.deepEqual([order, ends.length], [["a"], 2]);
  ends[1]!();
  await settle();
  ends[2]!();
  await Promise.all(waiting);
  assert.deepEqual(order, ["a", "b", "c"]);
});

Deno.test("those who share turns go on together, for half a slice and eight at most", async () => {
  assert.deepEqual(await sharedTurnsOf(3, 4), [[0], [1], [2]]);
  assert.deepEqual(await sharedTurnsOf(5, 1), [[0, 1], [2, 3], [4]]);
  assert.deepEqual(await sharedTurnsOf(5, 1.5, 10), [[0, 1], [2, 3], [4]]);
  const [first, second] = await sharedTurnsOf(12, 0);
  assert.deepEqual([first!.length, second!.length], [8, 4]);
});

Deno.test("those who share turns wait as one, and their owners take turns", async () => {
  const turns = newLoopTurns();
  const order: string[] = [];
  const come = async (name: string, wait: Promise<void>) => {
    await wait;
    order.push(name);
    turns.nowMs += 1;
  };
  const shared = [..."aaab"].map((name) => come(name, waitForSharedTurn(turns, name)));
  const alone = [..."xy"].map((name) => come(name, waitForTurn(turns, false, name)));
  await Promise.all([...shared, ...alone]);
  assert.equal(order.join(""), "abxyaa");
});

Deno.test("every other turn is for work that has had only one slice", async () => {
  const ends: (() => void)[] = [];
  const turns = {
    monotonicMs: () => 0,
    yieldTurn: () => new Promise<void>((resolve) => ends.push(resolve)),
  };
  const order: string[] = [];
  const come = (name: string, isFirst: boolean) =>
    waitForTurn(turns, isFirst).then(() => order.push(name));
  const waiting = [..."abc"].map((name) => come(name, false));
  waiting.push(...[..."xyz"].map((name) => come(name, true)));
  while (order.length < 6) {
    ends.shift()!();
    await new Promise((resolve) => setTimeout(resolve));
  }
  await Promise.all(waiting);
  assert.equal(order.join(""), "xaybzc");
});

Deno.test("owners of further slices take turns, however many slices one of them has waiting", async () => {
  const turns = newTurns();
  const order: string[] = [];
  const come = (owner: string) => waitForTurn(turns, false, owner).then(() => order.push(owner));
  await Promise.all([..."aaaaaaabbc"].map(come));
  assert.equal(order.join(""), "abcabaaaaa");
});

Deno.test("the first slice is short while others wait for theirs", async () => {
  const ends: (() => void)[] = [];
  const turns = {
    nowMs: 0,
    monotonicMs: () => turns.nowMs,
    yieldTurn: () => new Promise<void>((resolve) => ends.push(resolve)),
  };
  const long = openPieces(turns, 4);
  turns.nowMs = 4;
  const next = long.rest();
  const other = openPieces(turns, 4);
  turns.nowMs = 4.4;
  assert.equal(other.rest(), undefined);
  turns.nowMs = 4.5;
  const others = other.rest();
  assert.ok(others instanceof Promise);
  for (const turn of [next, others]) {
    ends.shift()!();
    await turn;
  }
  await Promise.resolve();
  const alone = openPieces(turns, 4);
  turns.nowMs = 8.4;
  assert.equal(alone.rest(), undefined);
});

/** Takes `count` steps of three milliseconds and notes each. */
function* threeMs(turns: { nowMs: number }, count: number, notes: string[]): Steps<string> {
  for (let step = 1; step <= count; step++) {
    turns.nowMs += 3;
    notes.push(`step ${step}`);
    yield;
  }
  return "done";
}

Deno.test("runInPieces() asks before the second piece, once, and waits for the answer", async () => {
  const turns = newTurns();
  const notes: string[] = [];
  const enter = () => {
    notes.push("asks");
    return Promise.resolve().then(() => void notes.push("enters"));
  };
  assert.equal(await runInPieces(threeMs(turns, 6, notes), turns, enter), "done");
  assert.deepEqual(notes.filter((note) => !note.startsWith("step")), ["asks", "enters"]);
  assert.ok(notes.indexOf("enters") < notes.indexOf("step 4"), "before it goes on");
});

Deno.test("runInPieces() asks nobody for what fits into the first piece", () => {
  const turns = newTurns();
  const enter = () => assert.fail("it asked");
  assert.equal(runInPieces(threeMs(turns, 1, []), turns, enter), "done");
});

Deno.test("what may not enter ends there", async () => {
  const turns = newTurns();
  const notes: string[] = [];
  const enter = () => Promise.reject(new Error("closed"));
  await assert.rejects(async () => await runInPieces(threeMs(turns, 9, notes), turns, enter), {
    message: "closed",
  });
  assert.ok(notes.length < 9);
});

/** A gate whose turns a test ends, and work of given durations behind it. */
function openTestGate() {
  let ends: (() => void)[] = [];
  const turns = {
    nowMs: 0,
    monotonicMs: () => turns.nowMs,
    yieldTurn: () => new Promise<void>((resolve) => ends.push(resolve)),
    yieldBriefly: settle,
  };
  const gate = openGate(turns);
  const begun: string[] = [];
  async function work(name: string, milliseconds: number): Promise<void> {
    const turnComes = gate.enter();
    if (turnComes !== undefined) await turnComes;
    begun.push(name);
    turns.nowMs += milliseconds;
  }
  async function endTurn(): Promise<void> {
    const ended = ends;
    ends = [];
    for (const end of ended) end();
    for (let times = 0; times < 20; times++) await settle();
  }
  return { begun, work, endTurn };
}

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

Deno.test("a gate lets begin in a turn what fits into a piece, and the rest in the next ones", async () => {
  const { begun, work, endTurn } = openTestGate();
  for (const name of ["a", "b", "c", "d", "e"]) void work(name, 3);
  assert.deepEqual(begun, ["a", "b"]);
  await endTurn();
  assert.deepEqual(begun, ["a", "b", "c", "d"]);
  await endTurn();
  assert.deepEqual(begun, ["a", "b", "c", "d", "e"]);
});

Deno.test("nobody passes those who wait at a gate", async () => {
  const { begun, work, endTurn } = openTestGate();
  for (const name of ["long", "first", "second"]) void work(name, 5);
  await endTurn();
  void work("late", 0);
  assert.deepEqual(begun, ["long", "first"]);
  await endTurn();
  await endTurn();
  assert.deepEqual(begun, ["long", "first", "second", "late"]);
});

Deno.test("a gate is open again after a turn in which nobody came", async () => {
  const { begun, work, endTurn } = openTestGate();
  void work("a", 9);
  await endTurn();
  await endTurn();
  void work("b", 9);
  assert.deepEqual(begun, ["a", "b"]);
});

/** Turns that pass when the test says so. */
function openTurns() {
  let end: (() => void) | undefined;
  let asked = 0;
  return {
    asked: () => asked,
    next: () => {
      asked++;
      return new Promise<void>((resolve) => void (end = resolve));
    },
    async pass() {
      end!();
      for (let times = 0; times < 5; times++) await Promise.resolve();
    },
  };
}

Deno.test("as many steps begin in one turn as the quota has, the others in turns of their own", async () => {
  const turns = openTurns();
  const quota = openTurnQuota(2, turns.next);
  const order: number[] = [];
  const enter = (step: number) => {
    const turn = quota.enter();
    if (turn === undefined) order.push(step);
    else void turn.then(() => order.push(step));
  };
  for (let step = 1; step <= 5; step++) enter(step);
  assert.deepEqual(order, [1, 2]);
  await turns.pass();
  assert.deepEqual(order, [1, 2, 3, 4]);
  enter(6);
  await turns.pass();
  assert.deepEqual(order, [1, 2, 3, 4, 5, 6]);
});

Deno.test("a turn in which fewer waited has room for those who come in it", async () => {
  const turns = openTurns();
  const quota = openTurnQuota(2, turns.next);
  for (let step = 0; step < 3; step++) void quota.enter();
  await turns.pass();
  assert.equal(quota.enter(), undefined);
  assert.ok(quota.enter() instanceof Promise);
});

Deno.test("a quota that nobody needs asks for no further turns", async () => {
  const turns = openTurns();
  const quota = openTurnQuota(2, turns.next);
  assert.equal(quota.enter(), undefined);
  await turns.pass();
  assert.equal(turns.asked(), 1);
  assert.equal(quota.enter(), undefined);
  assert.equal(turns.asked(), 2);
});
