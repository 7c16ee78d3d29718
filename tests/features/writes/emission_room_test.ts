/** Events of the service share room and time before their commit. */

import assert from "node:assert/strict";
import { type EmissionRoom, openEmissionRoom } from "../../../src/features/writes/emission_room.ts";

/** Turns that a test ends, and a clock that it sets. */
function openTurns() {
  let ends: (() => void)[] = [];
  return {
    nowMs: 0,
    monotonicMs() {
      return this.nowMs;
    },
    yieldTurn: () => new Promise<void>((resolve) => ends.push(resolve)),
    async endTurn() {
      for (const end of ends.splice(0)) end();
      await settle();
    },
    drop() {
      ends = [];
    },
  };
}

function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Makes visits of a given size, and records their names when they are prepared. */
function visitor(room: EmissionRoom, names: string[]) {
  return (tenant: number, name: string, bytes: number, takesMs?: () => void) => {
    let leave = () => {};
    const stays = new Promise<void>((resolve) => leave = resolve);
    const done = room.enter(tenant, {
      prepare() {
        names.push(name);
        takesMs?.();
        return name;
      },
      sizeOf: () => bytes,
      use: async (prepared) => {
        await stays;
        return prepared;
      },
    });
    return { done, leave };
  };
}

Deno.test("what comes while there is room is prepared at once", async () => {
  const names: string[] = [];
  const turns = openTurns();
  const visit = visitor(openEmissionRoom(turns, 1_000_000), names);
  const one = visit(1, "one", 10);
  assert.deepEqual(names, ["one"]);
  one.leave();
  assert.equal(await one.done, "one");
});

Deno.test("what is beyond the bytes of its environment waits until something has left", async () => {
  const names: string[] = [];
  const visit = visitor(openEmissionRoom(openTurns(), 1_000_000), names);
  const one = visit(1, "one", 500_000);
  const two = visit(1, "two", 10);
  const other = visit(2, "other", 10);
  assert.deepEqual(names, ["one", "other"]);
  one.leave();
  await one.done;
  assert.deepEqual(names, ["one", "other", "two"]);
  for (const { leave } of [two, other]) leave();
  await Promise.all([two.done, other.done]);
});

Deno.test("after two milliseconds in a turn the rest waits for the next turn", async () => {
  const names: string[] = [];
  const turns = openTurns();
  const visit = visitor(openEmissionRoom(turns, 1_000_000), names);
  const slow = () => void (turns.nowMs += 1.5);
  for (const name of ["a", "b", "c", "d"]) visit(1, name, 1, slow).leave();
  assert.deepEqual(names, ["a", "b"]);
  await turns.endTurn();
  assert.deepEqual(names, ["a", "b", "c", "d"]);
});

Deno.test("environments take turns where several wait", async () => {
  const names: string[] = [];
  const turns = openTurns();
  const visit = visitor(openEmissionRoom(turns, 1_000_000), names);
  visit(1, "first", 1, () => void (turns.nowMs += 5)).leave();
  for (const name of ["a1", "a2", "a3"]) visit(1, name, 1).leave();
  for (const name of ["b1", "b2"]) visit(2, name, 1).leave();
  await turns.endTurn();
  assert.deepEqual(names, ["first", "a1", "b1", "a2", "b2", "a3"]);
});

Deno.test("a preparation that fails gives its room back, and its error goes to its caller", async () => {
  const room = openEmissionRoom(openTurns(), 100_000);
  const fails = () => {
    throw new Error("no");
  };
  const failing = room.enter(1, { prepare: fails, sizeOf: () => 0, use: () => Promise.resolve() });
  await assert.rejects(failing, /no/);
  const asked = room.enter(1, {
    prepare: () => Promise.reject(new Error("later")),
    sizeOf: () => 0,
    use: () => Promise.resolve(),
  });
  await assert.rejects(asked, /later/);
  const names: string[] = [];
  const one = visitor(room, names)(1, "one", 1);
  assert.deepEqual(names, ["one"]);
  one.leave();
  await one.done;
});
