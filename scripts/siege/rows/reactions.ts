/** Events that set off events: loops, storms, timers, sagas, and the work that is left of them. */

import { streamKey } from "../../../src/domain/identifier.ts";
import { sagaIdOf } from "../../../src/domain/saga/saga_id.ts";
import type { Attack, AttackGroup, HostileRequest, Json } from "../attack.ts";
import {
  ACTOR,
  eventType,
  fields,
  idOf,
  nest,
  read,
  repeat,
  specOf,
  times,
  write,
  writeMany,
} from "../documents.ts";
import { LISTENER_ATTACKS } from "./listeners.ts";

const ID = idOf(1);
const NEEDS = "spec + write key, one POST";
const START = write("loop", ID, "was_looped", { n: 1 });

function emit(type: string, event: string, id = "$.id", data: Json = "$.data") {
  return { emit: { aggregate_type: type, id, event_type: event, data } };
}

/** One POST of a type with these implications. */
function reaction(
  name: string,
  does: string,
  implications: () => Json,
  rest: Partial<Attack> = {},
) {
  return {
    name,
    does,
    needs: NEEDS,
    spec: () =>
      specOf({
        loop: { was_looped: eventType([], { implications: implications() }) },
        other: { was_looped: eventType([], { implications: [emit("loop", "was_looped")] }) },
        end: { was_met: eventType({ append: { target: "list", value: 1 } }) },
      }),
    waves: [{ request: START, clients: 1, times: 1 }],
    seconds: 10,
    ...rest,
  };
}

/** Two equal lists that take long to compare, and a condition that compares them often. */
const HALVES = { a: repeat(12_000, () => ({})), b: repeat(12_000, () => ({})) };
const COMPARED = { and: repeat(40, () => ({ eq: ["$.data.a", "$.data.b"] })) };
const PENDING = "/_admin/reactions?environment=test&instance_id={instance}";
const DISCARD: HostileRequest = {
  path: PENDING,
  body: JSON.stringify({ action: "discard", filter: { kind: "saga" } }),
  as: "operator",
};

function timerOf(delay: string): Json {
  return {
    schedule: { delay, emit: { aggregate_type: "loop", id: "$.id", event_type: "was_looped" } },
  };
}

function sagaOf(steps: Json, trigger = "was_begun"): Json {
  return { trigger: { aggregate_type: "work", event_type: trigger }, steps };
}

function step(name: string, event: string): Json {
  return { name, emit: { aggregate_type: "work", id: "$.id", event_type: event } };
}

function workSpec(sagas: Json): Json {
  const work = { was_begun: eventType(), was_done: eventType(), was_undone: eventType() };
  return specOf({ work }, { modules: { sagas } });
}

/** A saga that waits in its first step, of a definition of nearly a megabyte. */
function largeSaga(): Json {
  const large = repeat(17, (i) => ({
    name: `s${i}`,
    emit: {
      aggregate_type: "work",
      id: "$.id",
      event_type: "was_done",
      data: { $literal: { a: repeat(9_000, () => ["a"]) } },
    },
  }));
  const waiting = {
    ...step("wait", "was_done"),
    await: { aggregate_type: "work", id: "global", event_types: ["was_undone"] },
    timeout_ms: 2_592_000_000,
  };
  return workSpec({ large: sagaOf([waiting, ...large]) });
}

/** When the saga was begun whose definition is large, in Unix seconds. */
let begunAt = 0;

/** The event that began it may have been written a second later. */
function readLargeSaga(turn: number): HostileRequest {
  const place = { stream: streamKey("work", ID), index: 0 };
  const metadata = { actor: ACTOR, timestamp: begunAt + turn % 2 };
  return read(`/_sagas/${sagaIdOf("large", place, { metadata })}`);
}

/** Events of 60 KB of empty objects, which take twenty times as much in memory. */
const LARGE = writeMany(
  "loop",
  ID,
  times(12, "was_looped", { list: repeat(20_000, () => ({})) }),
);

/** Each event schedules ten more with its own data. */
function largeTimers(delay: string, rest: Readonly<Record<string, Json>> = {}): Json {
  const emit = { aggregate_type: "end", id: "$.id", event_type: "was_met", data: "$.data" };
  return specOf({
    loop: {
      was_looped: eventType([], {
        implications: repeat(10, () => ({ schedule: { delay, emit, ...rest } })),
      }),
      was_stopped: eventType(),
    },
    end: { was_met: eventType() },
  });
}

export const REACTIONS: AttackGroup = {
  title: "reactions",
  attacks: [
    reaction(
      "self-implying type of 100",
      "an event type whose 100 implications emit the same type",
      () => repeat(100, () => emit("loop", "was_looped")),
    ),
    reaction(
      "self-implying type of 10",
      "the same with 10 implications",
      () => repeat(10, () => emit("loop", "was_looped")),
    ),
    reaction(
      "self-implying type of 2",
      "the same with 2 implications, again and again",
      () => repeat(2, () => emit("loop", "was_looped")),
      { waves: [{ request: START, clients: 8 }] },
    ),
    reaction(
      "self-implying type of 1",
      "the same with one implication, again and again",
      () => [emit("loop", "was_looped")],
      { waves: [{ request: START, clients: 8 }] },
    ),
    reaction(
      "ping-pong of two types",
      "two types of 10 implications that emit each other",
      () => repeat(10, () => emit("other", "was_looped")),
    ),
    reaction(
      "self-implying type with large data",
      "ten implications that hand 90 KB on",
      () => repeat(10, () => emit("loop", "was_looped")),
      {
        waves: [{
          request: write("loop", ID, "was_looped", { t: "a".repeat(90_000) }),
          clients: 1,
          times: 1,
        }],
      },
    ),
    reaction(
      "self-implying type over many streams",
      "a map over 50 ids in the event, each of which gets the whole list",
      () => [{
        map: {
          in: "$.data.ids",
          emit: { aggregate_type: "loop", id: "$item", event_type: "was_looped", data: "$.data" },
        },
      }],
      {
        waves: [{
          request: write("loop", ID, "was_looped", { ids: repeat(50, idOf) }),
          clients: 1,
          times: 1,
        }],
      },
    ),
    reaction(
      "fan-out of 8000",
      "a map over 8,000 ids, in each of many writes",
      () => [{
        map: {
          in: "$.data.ids",
          emit: { aggregate_type: "end", id: "$item", event_type: "was_met" },
        },
      }],
      {
        waves: [{
          request: write("loop", ID, "was_looped", { ids: repeat(8_000, idOf) }),
          clients: 4,
        }],
      },
    ),
    reaction(
      "implied events of many small lists",
      "a map over 500 ids in each of seven events, with data that takes thirty times its text",
      () => [{
        map: {
          in: "$.data.ids",
          emit: {
            aggregate_type: "end",
            id: "$item",
            event_type: "was_met",
            data: { x: repeat(110, () => ["$.type"]) },
          },
        },
      }],
      {
        waves: [{
          request: writeMany("loop", ID, times(7, "was_looped", { ids: repeat(500, idOf) })),
          clients: 4,
        }],
      },
    ),
    reaction(
      "fan-out into one stream",
      "9,000 events into one stream, in each of many writes",
      () => [{
        map: {
          in: "$.data.n",
          emit: { aggregate_type: "end", id: "global", event_type: "was_met" },
        },
      }],
      {
        waves: [{
          request: write("loop", ID, "was_looped", { n: repeat(9_000, () => 1) }),
          clients: 4,
        }],
      },
    ),
    {
      name: "implied events that are slow to check",
      does: "a map over 2,000 ids, with data whose check takes all of its budget",
      needs: NEEDS,
      spec: () => {
        const twice = { allOf: [{ $ref: "#" }, { $ref: "#" }] };
        const slow = { type: "object", properties: { a: twice } };
        const map = { in: "$.data.ids", emit: emit("end", "was_met", "$item", "$.data.part").emit };
        return specOf({
          loop: { was_looped: eventType([], { implications: [{ map }] }) },
          end: { was_met: eventType([], { schema: slow }) },
        });
      },
      waves: [{
        request: write("loop", ID, "was_looped", {
          ids: repeat(2_000, idOf),
          part: nest(40, (inner) => ({ a: inner }), {}),
        }),
        clients: 1,
        times: 1,
      }],
    },
    reaction(
      "batch of events that imply",
      "batches of 100 events with 100 implications each",
      () => repeat(100, () => emit("end", "was_met", "global", { a: 1 })),
      { waves: [{ request: writeMany("loop", ID, times(100, "was_looped")), clients: 4 }] },
    ),
    reaction(
      "implications that fail",
      "100 implications to ids that are none, in each event of a batch",
      () => repeat(100, () => emit("end", "was_met", "$.data.id")),
      {
        waves: [{
          request: writeMany("loop", ID, times(100, "was_looped", { id: "no id" })),
          clients: 4,
        }],
      },
    ),
    reaction(
      "implications that compute much",
      "100 implications that copy 90 KB of data ten times each",
      () => repeat(100, () => emit("end", "was_met", "global", fields(10, () => "$.data.small"))),
      {
        waves: [{
          request: write("loop", ID, "was_looped", { small: fields(700, (i) => i) }),
          clients: 4,
        }],
      },
    ),
    reaction(
      "conditions that compare much",
      "100 implications whose conditions compare texts of 45 KB thirty times",
      () =>
        repeat(100, () => ({
          condition: { or: repeat(30, () => ({ eq: ["$.data.a", "$.data.b"] })) },
          ...emit("end", "was_met", "global"),
        })),
      {
        waves: [{
          request: write("loop", ID, "was_looped", {
            a: `${"a".repeat(45_000)}x`,
            b: `${"a".repeat(45_000)}y`,
          }),
          clients: 4,
        }],
      },
    ),
    reaction(
      "timer that sets itself again",
      "100 timers of one second, each of which sets two",
      () => [timerOf("1s"), timerOf("1s")],
      {
        seconds: 15,
        waves: [{ request: writeMany("loop", ID, times(100, "was_looped")), clients: 1, times: 1 }],
      },
    ),
    reaction(
      "many timers due at once",
      "50,000 scheduled events that are due in the same second",
      () =>
        repeat(100, () => ({
          schedule: {
            delay: "4s",
            emit: { aggregate_type: "end", id: "global", event_type: "was_met" },
          },
        })),
      {
        waves: [{ request: writeMany("loop", ID, times(50, "was_looped")), clients: 2, times: 5 }],
      },
    ),
    {
      name: "large events due at once",
      does: "1,200 scheduled events of 60 KB of empty objects, due in the same seconds",
      needs: NEEDS,
      spec: () => largeTimers("4s"),
      waves: [{ request: LARGE, clients: 2, times: 5 }],
      seconds: 12,
    },
    {
      name: "cancellations of large events",
      does: "hundreds of scheduled events of 60 KB, cancelled by one event, over and over",
      needs: NEEDS,
      spec: () =>
        largeTimers("1h", {
          cancel_on: [{ aggregate_type: "loop", id: "$.id", event_type: "was_stopped" }],
        }),
      waves: [
        { request: LARGE, clients: 2 },
        { request: write("loop", ID, "was_stopped", {}), clients: 1, pauseMs: 1_000 },
      ],
    },
    {
      name: "lists of large scheduled events",
      does: "pages of 200 scheduled events of 60 KB",
      needs: "spec + write key",
      spec: () => largeTimers("1h"),
      prepare: () => [LARGE, LARGE],
      waves: [{ request: read("/_scheduled?limit=200"), clients: 4 }],
    },
    {
      name: "many lists of large scheduled events",
      does: "200 clients ask for pages of 200 scheduled events of 60 KB of empty objects",
      needs: "spec + write key",
      spec: () => largeTimers("1h"),
      prepare: () => [LARGE, LARGE, LARGE],
      waves: [{ request: read("/_scheduled?limit=200"), clients: 200 }],
    },
    {
      name: "counts of large scheduled events",
      does: "100 clients ask what is pending: 360 scheduled events of 60 KB of empty objects",
      needs: "spec + write key + operator of one instance",
      spec: () => largeTimers("1h"),
      prepare: () => [LARGE, LARGE, LARGE],
      waves: [{ request: { path: PENDING, as: "operator" }, clients: 100 }],
    },
    {
      name: "cancellations of many timers",
      does: "20,000 scheduled events, cancelled by one event, over and over",
      needs: "spec + write key",
      spec: () =>
        specOf({
          loop: {
            was_looped: eventType([], {
              implications: repeat(20, () => ({
                schedule: {
                  delay: "1h",
                  emit: { aggregate_type: "loop", id: "$.id", event_type: "was_late" },
                  cancel_on: [{ aggregate_type: "loop", id: "$.id", event_type: "was_stopped" }],
                },
              })),
            }),
            was_late: eventType(),
            was_stopped: eventType(),
          },
        }),
      waves: [
        { request: writeMany("loop", ID, times(200, "was_looped")), clients: 2 },
        { request: write("loop", ID, "was_stopped", {}), clients: 2, pauseMs: 500 },
      ],
    },
    {
      name: "sagas that start sagas",
      does: "a saga of 50 steps, each of which starts it again",
      needs: NEEDS,
      spec: () => workSpec({ spin: sagaOf(repeat(50, (i) => step(`s${i}`, "was_begun"))) }),
      waves: [{ request: write("work", ID, "was_begun", {}), clients: 1, times: 1 }],
      seconds: 10,
    },
    {
      name: "200 sagas for one event",
      does: "200 sagas of 20 steps that one event starts, again and again",
      needs: "spec + write key",
      spec: () => workSpec(fields(200, () => sagaOf(repeat(20, (i) => step(`s${i}`, "was_done"))))),
      waves: [{ request: write("work", ID, "was_begun", {}), clients: 4 }],
      seconds: 10,
    },
    {
      name: "sagas that are undone",
      does: "sagas of 25 steps whose last one fails, so that all are compensated",
      needs: "spec + write key",
      spec: () => {
        const back = { aggregate_type: "work", id: "$.id", event_type: "was_undone" };
        const steps = repeat(25, (i) => ({ ...step(`s${i}`, "was_done"), compensate: back }));
        const last = {
          name: "last",
          emit: { aggregate_type: "work", id: "$.data.nothing?", event_type: "was_done" },
        };
        return workSpec({ back: sagaOf([...steps, last]) });
      },
      waves: [{ request: writeMany("work", ID, times(50, "was_begun")), clients: 2 }],
      seconds: 10,
    },
    {
      name: "sagas that wait for one stream",
      does: "5,000 sagas wait for the same event, which comes again and again",
      needs: "spec + write key",
      spec: () => {
        const waiting = {
          ...step("wait", "was_done"),
          await: { aggregate_type: "work", id: "global", event_types: ["was_undone"] },
          timeout_ms: 600_000,
        };
        return workSpec({
          wait: sagaOf([waiting, waiting].map((each, i) => ({ ...each, name: `s${i}` }))),
        });
      },
      prepare: () => repeat(50, (i) => writeMany("work", idOf(i), times(100, "was_begun"))),
      waves: [{ request: write("work", "global", "was_undone", {}), clients: 2 }],
      seconds: 10,
    },
    {
      ...reaction(
        "effects of large events that wait",
        "what an event has set off: 70 events of 100 KB that wait in a paused environment",
        () => [{
          map: { in: "$.data.ids", ...emit("end", "was_met", "$item", { t: "$.data.t" }) },
        }],
      ),
      prepare: () => [
        {
          path: "/_admin/reactions?environment=test&instance_id={instance}",
          body: JSON.stringify({ action: "pause" }),
          as: "operator" as const,
        },
        write("loop", ID, "was_looped", { ids: repeat(70, idOf), t: "a".repeat(99_900) }),
      ],
      waves: [{ request: read(`/loop/${ID}/events/0/effects`), clients: 8 }],
    },
    ...LISTENER_ATTACKS,
    {
      name: "conditions of 200 sagas",
      does: "one event of 72 KB for 200 sagas, each of which compares its halves 40 times",
      needs: "spec + write key",
      spec: () => {
        const trigger = { aggregate_type: "work", event_type: "was_begun", condition: COMPARED };
        return workSpec(fields(200, () => ({ trigger, steps: [step("s", "was_done")] })));
      },
      waves: [{ request: write("work", ID, "was_begun", HALVES), clients: 1, pauseMs: 500 }],
      seconds: 10,
    },
    {
      name: "50 conditions of one saga",
      does: "one event of 72 KB for a saga of 50 steps that compare its halves and are skipped",
      needs: "spec + write key",
      spec: () => {
        const skipped = repeat(50, (i) => ({
          ...step(`s${i}`, "was_done"),
          condition: { not: COMPARED },
          else: "skip",
        }));
        return workSpec({ skips: sagaOf(skipped) });
      },
      waves: [{ request: write("work", ID, "was_begun", HALVES), clients: 1, pauseMs: 500 }],
      seconds: 10,
    },
    {
      name: "sagas of 50000 singletons",
      does: "200 sagas for one event, under a spec that has very many singletons",
      needs: "spec + write key",
      spec: () => ({
        ...workSpec(fields(200, () => sagaOf([step("s", "was_done")]))) as object,
        singletons: repeat(50_000, (i) => `s${i}`),
      }),
      waves: [{ request: write("work", ID, "was_begun", {}), clients: 2 }],
      seconds: 10,
    },
    {
      name: "reads of large sagas",
      does: "150 clients ask for a saga whose definition has nearly a megabyte, 100 for all sagas",
      needs: "spec + write key",
      spec: largeSaga,
      *prepare() {
        begunAt = Math.floor(Date.now() / 1000);
        yield writeMany("work", ID, times(300, "was_begun"));
        yield { waitFor: read("/_sagas?limit=200"), holds: '"truncated":true' };
      },
      waves: [
        { request: readLargeSaga, clients: 150 },
        { request: read("/_sagas?limit=200"), clients: 100 },
      ],
      seconds: 10,
    },
    {
      name: "discard of large sagas",
      does: "sagas of a definition of nearly a megabyte are begun and discarded",
      needs: "spec, write key + token limited to one instance",
      spec: largeSaga,
      prepare: () => [writeMany("work", ID, times(300, "was_begun"))],
      waves: [
        { request: writeMany("work", ID, times(100, "was_begun")), clients: 1, pauseMs: 500 },
        { request: DISCARD, clients: 1, pauseMs: 1_000 },
      ],
      seconds: 10,
    },
  ],
};
