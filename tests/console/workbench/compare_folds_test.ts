/** The first length at which two handlers differ, beside a search that compares whole states. */

import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { compareFolds, editHandlers } from "../../../console/src/workbench/compare_folds.ts";
import { compileHandlers, type Handlers } from "../../../console/src/shell/stream_fold.ts";
import type { StoredEvent } from "../../../src/domain/event.ts";
import { newFoldBudget } from "../../../src/domain/handler/budget.ts";
import { fold } from "../../../src/domain/handler/fold.ts";

const TYPE = {
  events: {
    was_added: { handler: { increment: { target: "sum", by: "$.data.by" } } },
    was_listed: { handler: { append: { target: "list", value: "$.data" } } },
    was_reset: { handler: { set: { target: "sum", value: 0 } } },
  },
};
const HANDLERS = compileHandlers(TYPE)!;

/** Other handlers of `was_added`; some differ for some events only, or give the same states. */
const EDITS = [
  TYPE.events.was_added.handler,
  [{ increment: { target: "sum", by: "$.data.by" } }, { remove_at: { target: "none", key: "x" } }],
  { increment: { target: "sum", by: 1 } },
  { increment: { target: "total", by: "$.data.by" } },
  { set: { target: "list", value: [] } },
  { if: { gt: ["$.data.by", 2] }, then: { set: { target: "large", value: true } } },
  [],
];

function eventOf(type: string, by: number): StoredEvent {
  const metadata = { actor: { type: "user", id: "global" }, timestamp: 1_767_225_600 };
  return { key: "counter:main", type, data: { by }, metadata } as StoredEvent;
}

function edited(text: string): Handlers {
  const handlers = editHandlers(HANDLERS, "was_added", text);
  assert.ok(handlers.ok, text);
  return handlers.handlers;
}

function runToEnd<Result>(work: Generator<unknown, Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

function stateOf(handlers: Handlers, events: readonly StoredEvent[]): unknown {
  const folded = fold(handlers, {}, events, newFoldBudget());
  return folded.ok ? folded.value : undefined;
}

Deno.test("compareFolds() finds the first length at which the states differ", () => {
  const kinds = fc.constantFrom(...Object.keys(TYPE.events));
  const events = fc.array(fc.tuple(kinds, fc.integer({ min: 0, max: 4 })), { maxLength: 24 });
  fc.assert(
    fc.property(events, fc.constantFrom(...EDITS), (list, edit) => {
      const stored = list.map(([type, by]) => eventOf(type, by));
      const other = edited(JSON.stringify(edit));
      const lengths = Array.from({ length: stored.length + 1 }, (_, length) => length);
      const expected = lengths.find((length) => {
        const some = stored.slice(0, length);
        return !isDeepStrictEqual(stateOf(HANDLERS, some), stateOf(other, some));
      });
      const found = runToEnd(compareFolds(HANDLERS, other, stored, "was_added"));
      assert.equal(found.firstDifference, expected);
      assert.deepEqual(found.edited.stateAt(stored.length), stateOf(other, stored));
    }),
    { numRuns: 300 },
  );
});

Deno.test("compareFolds() gives all states before it looks where they part", () => {
  const events = [1, 2, 3].map((by) => eventOf("was_added", by));
  const work = compareFolds(
    HANDLERS,
    edited('{"set": {"target": "s", "value": 1}}'),
    events,
    "was_added",
  );
  const given: unknown[] = [];
  for (;;) {
    const { done, value } = work.next();
    if (done) break;
    if (value === undefined) continue;
    given.push(value.deployed.stateAt(3), value.edited.stateAt(3), "firstDifference" in value);
  }
  assert.deepEqual(given, [{ sum: 6 }, { s: 1 }, false]);
});

Deno.test("compareFolds() compares nothing where the handler is the deployed one", () => {
  const events = [1, 2, 3].map((by) => eventOf("was_added", by));
  const same = runToEnd(compareFolds(HANDLERS, HANDLERS, events, "was_added"));
  assert.equal(same.edited, same.deployed);
  assert.equal(same.firstDifference, undefined);
  assert.deepEqual(same.edited.stateAt(3), { sum: 6 });
});

Deno.test("editHandlers() tells what is wrong, and where", () => {
  const cut = editHandlers(HANDLERS, "was_added", "[{");
  assert.equal(cut.ok, false);
  assert.equal(!cut.ok && cut.faults[0]!.path, "");
  const unknown = editHandlers(HANDLERS, "was_added", '[{"sett": {"target": "a"}}]');
  assert.equal(!unknown.ok && unknown.faults[0]!.path, "handler[0].sett");
});

Deno.test("editHandlers() names a number that would become another one, and takes all others", () => {
  const large = '[\n  {"set": {"target": "n", "value": 12345678901234567890}}\n]';
  const refused = editHandlers(HANDLERS, "was_added", large);
  const [fault] = refused.ok ? [] : refused.faults;
  assert.match(fault!.message, /^Line 2: .*the nearest is 12345678901234567000/);
  for (const number of ["1.0", "1e2", "-0.10", "9007199254740992"]) {
    edited(`{"set": {"target": "n", "value": ${number}}}`);
  }
});
