/** Guards and preconditions that cost as much as they may, and many guarded writes at once. */

import { limits } from "../../../src/domain/limits.ts";
import type { AttackGroup, HostileRequest, Json, Step } from "../attack.ts";
import {
  ACTOR,
  collidingTexts,
  deploySpec,
  eventType,
  idOf,
  repeat,
  setEach,
  specOf,
  times,
  write,
  writeMany,
  writeRepeated,
} from "../documents.ts";

const NEEDS = "spec + write key, writes";
const ID = idOf(1);
const LONG = "a".repeat(90_000);
/** So many events of `LONG` make a state that is almost as long as guards may look at. */
const EVENTS_OF_LONG = Math.floor(limits.guardStateCharactersMax / LONG.length);
/** Aggregates with a state as long as guards may look at. */
const LONG_IDS = repeat(limits.guardOthersMax, (number) => idOf(100 + number));

const GROW = eventType({ merge: { target: "", value: "$.data" } });

interface GuardRow {
  readonly require: Json;
  readonly with?: Json;
}

function guards(count: number, row: GuardRow): Json {
  return repeat(count, () => ({ ...row, message: "No" }));
}

function guarded(list: Json, handler: Json = []): () => Json {
  return () =>
    specOf({ thing: { had_grown: GROW, was_guarded: eventType(handler, { guards: list }) } });
}

function* grow(ids: readonly string[]): Iterable<Step> {
  for (const id of ids) {
    for (let number = 0; number < EVENTS_OF_LONG; number++) {
      yield write("thing", id, "had_grown", { [`t${number}`]: LONG });
    }
  }
}

function oneOf(ids: readonly string[], data: Json = {}): (turn: number) => HostileRequest {
  return (turn) => write("thing", ids[turn % ids.length]!, "was_guarded", data);
}

/** Other texts in each turn, and an aggregate of their own. */
function keyedBatch(turn: number): HostileRequest {
  const events: Json[] = repeat(7, (event) => ({
    type: "had_keys",
    data: collidingTexts(2_800, 9_000_000 + 2_800 * (7 * turn + event)),
  }));
  events.push({ type: "was_guarded", data: {} });
  return writeMany("thing", idOf(5_000 + turn), events);
}

/** All ten long states under a name each. */
const TEN = Object.fromEntries(
  LONG_IDS.map((id, number) => [`n${number}`, { type: "thing", id }]),
);
const ALL_TEN = {
  and: LONG_IDS.map((_, number) => ({ exists: `$.with.n${number}.t0` })),
};
const EQUAL = repeat(10, () => ({ eq: ["@.t1", "@.t2"] }));
const MANY_IDS = repeat(200, (number) => idOf(1_000 + number));

function withPreconditions(id: string): HostileRequest {
  const preconditions = repeat(limits.preconditionsMax, (number) => ({
    key: `thing:${LONG_IDS[number % LONG_IDS.length]}`,
    require: { and: repeat(60, () => ({ ne: ["@.t0", "@"] })) },
  }));
  const body = JSON.stringify({ data: {}, metadata: { actor: ACTOR }, preconditions });
  return { path: `/thing/${id}/had_grown`, body };
}

/** Twenty guards with ten others each, which they find by the event. */
const MANY_OTHERS = repeat(limits.guardsMax, (guard) => ({
  with: Object.fromEntries(repeat(limits.guardOthersMax, (number) => [
    `n${number}`,
    { type: "thing", id: MANY_IDS[(guard * limits.guardOthersMax + number) % 30]! },
  ])),
  require: { ne: ["$.with.n0.t0", -1] },
  message: "No",
}));
const EMPTY_OBJECTS = repeat(30_000, () => ({}));

function* growOthers(): Iterable<Step> {
  for (const id of MANY_IDS.slice(0, 30)) {
    for (let number = 0; number < 10; number++) {
      yield write("thing", id, "had_grown", { [`t${number}`]: EMPTY_OBJECTS });
    }
  }
  yield writeMany("thing", ID, times(400, "was_guarded"));
}

/** 25 scheduled events with 20 rules each, which name 500 types. */
const RULED_TYPES = repeat(500, (number) => `was_${number}`);
const RULED = specOf({
  thing: Object.fromEntries(RULED_TYPES.map((type) => [type, eventType()])),
  loop: {
    was_late: eventType(),
    was_looped: eventType([], {
      implications: repeat(25, (schedule) => ({
        schedule: {
          delay: "1h",
          emit: { aggregate_type: "loop", id: "$.id", event_type: "was_late" },
          cancel_on: RULED_TYPES.slice(schedule * 20, schedule * 20 + 20).map((event_type) => (
            { aggregate_type: "thing", id: "$.id", event_type }
          )),
        },
      })),
    }),
  },
});

function* loopForEach(): Iterable<Step> {
  for (const id of MANY_IDS.slice(0, 20)) yield write("loop", id, "was_looped", {});
}

/** Ten aggregates, and 500 events of different types for each. */
function writeRuled(turn: number): HostileRequest {
  const events = RULED_TYPES.map((type) => ({ type }));
  const first = 10 * (turn % 4);
  const targets = MANY_IDS.slice(first, first + 10).map((id) => ({
    aggregate_type: "thing",
    id,
    events,
  }));
  const body = JSON.stringify({ targets, metadata: { actor: ACTOR } });
  return { path: "/_atomic-write", body };
}

/** Texts become keys of a map, beside a number. */
function mapOfOneHash(number: number): Json {
  const handler = [...setEach(1_500), { set: { target: "x", value: number } }];
  return specOf({ thing: { was_seen: eventType(handler) } });
}

export const GUARDS: AttackGroup = {
  title: "guards",
  attacks: [
    {
      name: "guarded writes to one stream",
      does: "64 clients write to one aggregate, each write under a small guard",
      needs: NEEDS,
      spec: guarded(guards(1, { require: { ne: ["@.n", -1] } }), { increment: { target: "n" } }),
      waves: [{ request: oneOf([ID]), clients: 64 }],
    },
    {
      name: "guards behind events with keys of one hash",
      does: "a batch whose events make 19,600 keys with one hash, before a guard looks at them",
      needs: NEEDS,
      spec: () =>
        specOf({
          thing: {
            had_keys: eventType(setEach(2_800)),
            was_guarded: eventType([], { guards: guards(1, { require: { exists: "@.map" } }) }),
          },
        }),
      waves: [{ request: keyedBatch, clients: 2 }],
    },
    {
      name: "guards that compare long texts",
      does: "twenty guards, each with ten comparisons of two texts of 90 KB, over one aggregate",
      needs: NEEDS,
      spec: guarded(guards(limits.guardsMax, { require: { and: EQUAL } })),
      prepare: () => grow([ID]),
      waves: [{ request: oneOf([ID]), clients: 16 }],
    },
    {
      name: "writes that guards refuse",
      does: "a costly guard that never holds, for 64 clients and one aggregate",
      needs: NEEDS,
      spec: guarded(guards(1, {
        require: { and: [...EQUAL, { eq: ["@.t0", 1] }] },
      })),
      prepare: () => grow([ID]),
      waves: [{ request: oneOf([ID]), clients: 64 }],
    },
    {
      name: "guards over ten long states",
      does: "each write to one of 200 aggregates looks at ten others of 500 KB",
      needs: NEEDS,
      spec: guarded(guards(1, { with: TEN, require: ALL_TEN })),
      prepare: () => grow(LONG_IDS),
      waves: [{ request: oneOf(MANY_IDS), clients: 32 }],
    },
    {
      name: "guards over other long states each",
      does: "each of 64 writes to one aggregate looks at another state of 500 KB",
      needs: NEEDS,
      spec: guarded(guards(1, {
        with: { other: { type: "thing", id: "$.data.id" } },
        require: { exists: "$.with.other.t0" },
      })),
      prepare: () => grow(MANY_IDS.slice(0, 64)),
      waves: [{
        request: (turn) => write("thing", ID, "was_guarded", { id: MANY_IDS[turn % 64]! }),
        clients: 64,
      }],
    },
    {
      name: "guarded streams of long states",
      does: "writes to 64 aggregates of 500 KB, each under a guard over its own state",
      needs: NEEDS,
      spec: guarded(guards(1, { require: { exists: "@.t0" } }), { increment: { target: "n" } }),
      prepare: () => grow(MANY_IDS.slice(0, 64)),
      waves: [{ request: oneOf(MANY_IDS.slice(0, 64)), clients: 64 }],
    },
    {
      name: "preconditions over long states",
      does: "ten preconditions that compare ten states of 500 KB, in writes to 200 aggregates",
      needs: "write key, writes",
      spec: guarded([]),
      prepare: () => grow(LONG_IDS),
      waves: [{ request: (turn) => withPreconditions(MANY_IDS[turn % 200]!), clients: 32 }],
    },
    {
      name: "stored events under guards that look at many",
      does: "dry runs with check_data: 400 events, twenty guards with ten others of 1 MB each",
      needs: "operator of one instance",
      spec: guarded([]),
      prepare: growOthers,
      waves: [{
        request: deploySpec(guarded(MANY_OTHERS)(), { dry_run: true, check_data: true }),
        clients: 2,
      }],
    },
    {
      name: "stored states of keys with one hash",
      does: "dry runs with check_data over an aggregate whose map has 6,000 such keys",
      needs: "operator of one instance",
      spec: () => mapOfOneHash(1),
      prepare: () =>
        repeat(
          4,
          (at) =>
            write("thing", idOf(1), "was_seen", collidingTexts(1_500, 9_100_000 + 1_500 * at)),
        ),
      waves: [{
        request: () => deploySpec(mapOfOneHash(2), { dry_run: true, check_data: true }),
        clients: 2,
      }],
    },
    {
      name: "events that many rules may cancel",
      does: "atomic writes of ten times 500 event types, of which each has a rule",
      needs: NEEDS,
      spec: () => RULED,
      prepare: loopForEach,
      waves: [{ request: writeRuled, clients: 2 }],
    },
    {
      name: "batch of guarded events",
      does: "10,000 events in one request, each under twenty guards with ten names of itself",
      needs: NEEDS,
      spec: guarded(guards(limits.guardsMax, {
        with: Object.fromEntries(repeat(10, (n) => [`n${n}`, { type: "thing", id: ID }])),
        require: { ne: ["$.with.n9.n", -1] },
      })),
      waves: [{
        request: writeRepeated("thing", ID, 10_000, { type: "was_guarded" }),
        clients: 4,
      }],
    },
  ],
};
