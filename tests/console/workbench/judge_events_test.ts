/** The guards of the workbench: which of the newest events they would refuse. */

import assert from "node:assert/strict";
import {
  findOthers,
  JUDGED_MAX,
  judgeEvents,
  readGuards,
} from "../../../console/src/workbench/judge_events.ts";
import { compileHandlers } from "../../../console/src/shell/stream_fold.ts";
import type { StoredEvent } from "../../../src/domain/event.ts";
import { openPastStates } from "../../../src/domain/handler/guard.ts";
import type { JsonObject } from "../../../src/domain/json.ts";
import { runAtOnce } from "../../../src/domain/fairness/pieces.ts";

const SEAT = {
  events: {
    was_added: { handler: { increment: { target: "left" } } },
    was_taken: { handler: { decrement: { target: "left" } } },
  },
};
const SPEC = { aggregate_types: { seat: SEAT } };
const TEXT = JSON.stringify([{ require: { gt: ["@.left", 0] }, message: "None is left" }]);

const ACTOR = { type: "user", id: "global" };

function eventsOf(types: readonly string[]) {
  const metadata = { actor: ACTOR, timestamp: 1 };
  return types.map((type) => ({ key: "seat:global", type, data: {}, metadata }));
}

function judge(types: readonly string[]) {
  const read = readGuards(TEXT, SPEC);
  assert.ok(read.ok, JSON.stringify(read));
  const { guards, singletons } = read;
  const handlers = compileHandlers(SEAT)!;
  const given = { handlers, guards, events: eventsOf(types), eventType: "was_taken" };
  return runAtOnce(judgeEvents(given, { singletons, pasts: new Map() }));
}

Deno.test("judgeEvents() judges each event on the state before it", () => {
  const failed = [{ index: 2, guard: 0, message: "None is left" }];
  assert.deepEqual(judge(["was_added", "was_taken", "was_taken"]), {
    judged: 2,
    failed,
    untried: 0,
  });
  assert.deepEqual(judge(["was_added", "was_taken"]), { judged: 1, failed: [], untried: 0 });
});

Deno.test("judgeEvents() judges the newest events, on the states of the whole stream", () => {
  const old = Array.from({ length: JUDGED_MAX }, () => "was_added");
  const found = judge(["was_taken", ...old, "was_taken"]);
  assert.deepEqual(found, { judged: 1, failed: [], untried: 0 });
});

Deno.test("readGuards() gives the faults that a deploy would give", () => {
  for (const text of ["{", "{}", '[{"require": {"gr": [1, 2]}, "message": "No"}]']) {
    assert.equal(readGuards(text, SPEC).ok, false, text);
  }
});

const ROOM = { events: { was_closed: { handler: { set: { target: "closed", value: true } } } } };

function roomEvent(type: string, timestamp: number, data: JsonObject = {}): StoredEvent {
  return { key: "seat:global", type, data, metadata: { actor: ACTOR, timestamp } };
}

Deno.test("guards that look at other aggregates see them as they were in the second of the event", () => {
  const text = JSON.stringify([{
    with: { room: { type: "room", id: "$.data.room" } },
    require: { not: { exists: "$.with.room.closed" } },
    message: "It is closed",
  }]);
  const read = readGuards(text, { aggregate_types: { seat: SEAT, room: ROOM } });
  assert.ok(read.ok, JSON.stringify(read));
  const rooms = ["ABCDEFGH1", "ABCDEFGH2", "no id", "ABCDEFGH1"];
  const events = rooms.map((room, index) => roomEvent("was_taken", 10 + index, { room }));
  const { guards, singletons } = read;
  const given = { handlers: compileHandlers(SEAT)!, guards, events, eventType: "was_taken" };
  const [one, other] = ["room:ABCDEFGH1", "room:ABCDEFGH2"] as const;
  const others = runAtOnce(findOthers(given, singletons));
  assert.deepEqual([...others], [[one, "room"], [other, "room"]]);
  const past = openPastStates(compileHandlers(ROOM)!, [roomEvent("was_closed", 12)]);
  const judged = runAtOnce(judgeEvents(given, { singletons, pasts: new Map([[one, past]]) }));
  const message = "It is closed";
  const failed = [{ index: 2, guard: 0, message }, { index: 3, guard: 0, message }];
  assert.deepEqual(judged, { judged: 3, failed, untried: 1 });
});
