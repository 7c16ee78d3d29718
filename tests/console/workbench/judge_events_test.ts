/** The guards of the workbench: which of the newest events they would refuse. */

import assert from "node:assert/strict";
import {
  JUDGED_MAX,
  judgeEvents,
  readGuards,
} from "../../../console/src/workbench/judge_events.ts";
import { compileHandlers } from "../../../console/src/shell/stream_fold.ts";
import { runAtOnce } from "../../../src/domain/fairness/pieces.ts";

const SEAT = {
  events: {
    was_added: { handler: { increment: { target: "left" } } },
    was_taken: { handler: { decrement: { target: "left" } } },
  },
};
const SPEC = { aggregate_types: { seat: SEAT } };
const TEXT = JSON.stringify([{ require: { gt: ["@.left", 0] }, message: "None is left" }]);

function eventsOf(types: readonly string[]) {
  const metadata = { actor: { type: "user", id: "global" }, timestamp: 1 };
  return types.map((type) => ({ key: "seat:global", type, data: {}, metadata }));
}

function judge(types: readonly string[]) {
  const read = readGuards(TEXT, SPEC);
  assert.ok(read.ok, JSON.stringify(read));
  return runAtOnce(judgeEvents(compileHandlers(SEAT)!, read.guards, eventsOf(types), "was_taken"));
}

Deno.test("judgeEvents() judges each event on the state before it", () => {
  const failed = [{ index: 2, guard: 0, message: "None is left" }];
  assert.deepEqual(judge(["was_added", "was_taken", "was_taken"]), { judged: 2, failed });
  assert.deepEqual(judge(["was_added", "was_taken"]), { judged: 1, failed: [] });
});

Deno.test("judgeEvents() judges the newest events, on the states of the whole stream", () => {
  const old = Array.from({ length: JUDGED_MAX }, () => "was_added");
  const found = judge(["was_taken", ...old, "was_taken"]);
  assert.deepEqual(found, { judged: 1, failed: [] });
});

Deno.test("readGuards() gives the faults that a deploy would give", () => {
  for (const text of ["{", "{}", '[{"require": {"gr": [1, 2]}, "message": "No"}]']) {
    assert.equal(readGuards(text, SPEC).ok, false, text);
  }
});
