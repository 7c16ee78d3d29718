/** Many deadlines on one timer, by a model: each rings at its moment, unless it was taken back. */

import assert from "node:assert/strict";
import fc from "fast-check";
import { createDeadlines } from "../../../sdk/src/core/deadlines.ts";
import { scriptedWorld } from "./scripted_world.ts";

/** A clock that is moved by hand, with the one timer that may be set. */
function handClock() {
  let nowMs = 0;
  let timer: { readonly dueMs: number; readonly run: () => void } | undefined;
  return {
    hasTimer: () => timer !== undefined,
    world: {
      ...scriptedWorld([]),
      now: () => nowMs,
      after(ms: number, run: () => void) {
        assert.equal(timer, undefined, "there are two timers");
        const mine = { dueMs: nowMs + ms, run };
        timer = mine;
        return () => {
          if (timer === mine) timer = undefined;
        };
      },
    },
    moveTo(ms: number) {
      while (timer !== undefined && timer.dueMs <= ms) {
        const { dueMs, run } = timer;
        [timer, nowMs] = [undefined, dueMs];
        run();
      }
      nowMs = ms;
    },
  };
}

const step = fc.oneof(
  fc.record({ kind: fc.constant("set" as const), ms: fc.integer({ min: 0, max: 50 }) }),
  fc.record({ kind: fc.constant("take back" as const), which: fc.nat() }),
  fc.record({ kind: fc.constant("move" as const), ms: fc.integer({ min: 0, max: 40 }) }),
);

Deno.test("createDeadlines() rings each deadline once at its moment, and leaves no timer", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { world, moveTo, hasTimer } = handClock();
      const deadline = createDeadlines(world);
      const set: { dueMs: number; rangMs?: number; isTaken: boolean; takeBack: () => void }[] = [];
      for (const step of steps) {
        if (step.kind === "move") moveTo(world.now() + step.ms);
        if (step.kind === "set") {
          const mine = {
            dueMs: world.now() + step.ms,
            isTaken: false,
            takeBack: deadline(step.ms, () => {
              assert.equal(own().rangMs, undefined);
              own().rangMs = world.now();
            }),
          };
          const own = (): typeof set[number] => mine;
          set.push(mine);
        }
        if (step.kind === "take back" && set.length > 0) {
          const mine = set[step.which % set.length]!;
          mine.isTaken ||= mine.rangMs === undefined;
          mine.takeBack();
        }
        const waiting = set.filter(({ rangMs, isTaken }) => rangMs === undefined && !isTaken);
        assert.equal(hasTimer(), waiting.length > 0);
      }
      moveTo(world.now() + 100);
      assert.equal(hasTimer(), false);
      for (const { dueMs, rangMs, isTaken } of set) {
        assert.equal(rangMs, isTaken ? undefined : dueMs);
      }
    }),
    { numRuns: 1_000 },
  );
});

Deno.test("a deadline that is set while others ring is kept", () => {
  const { world, moveTo } = handClock();
  const deadline = createDeadlines(world);
  const rang: string[] = [];
  deadline(5, () => {
    rang.push("first");
    deadline(2, () => rang.push("third"));
  });
  deadline(5, () => rang.push("second"));
  moveTo(6);
  assert.deepEqual(rang, ["first", "second"]);
  moveTo(7);
  assert.deepEqual(rang, ["first", "second", "third"]);
});
