/** Projections whose rows are slow to compute, or are computed again and again. */

import type { Attack, AttackGroup, Json, Step } from "../attack.ts";
import {
  collidingTexts,
  deleteProjection,
  deployProjection,
  deploySpec,
  eventType,
  idOf,
  importEvents,
  query,
  read,
  repeat,
  setEach,
  specOf,
  untilReady,
  write,
  writeMany,
} from "../documents.ts";
import { limits } from "../../../src/domain/limits.ts";

const NEEDS = "operator of one instance";
const MERGE = eventType({ merge: { target: "", value: "$.data" } });

function plainSpec(): Json {
  return specOf({
    thing: { was_seen: MERGE },
    part: { was_seen: MERGE },
    setting: { was_seen: MERGE },
  });
}

function statesOf30MB(version: number): Json {
  const listed = eventType({ append: { target: "list", value: "$.data" } });
  const seen = eventType({ set: { target: "version", value: version } });
  return specOf({ thing: { was_listed: listed, was_seen: seen } });
}

interface View {
  readonly name: string;
  readonly does: string;
  readonly spec?: () => Json;
  readonly fill: () => Iterable<Step>;
  readonly select: () => Json;
  readonly sources?: Json;
  readonly include?: Json;
  /** The write that keeps the rows changing, beside reads that compute a row anew. */
  readonly touch: (turn: number) => ReturnType<typeof write>;
}

function definition({ sources, include, select }: View, version = 0): Json {
  return {
    name: "things",
    for_each: "thing",
    sources: { thing: "$key", ...sources },
    ...(include === undefined ? {} : { include }),
    select: { version: { $count: "$.thing.list" }, ...select(), [`v${version}`]: "$.thing.n" },
  };
}

function view(row: View): Attack {
  return {
    name: row.name,
    does: row.does,
    needs: NEEDS,
    spec: row.spec ?? plainSpec,
    *prepare(): Iterable<Step> {
      yield* row.fill();
      yield deployProjection(definition(row));
    },
    waves: [
      { request: row.touch, clients: 2, pauseMs: 50 },
      { request: read(`/_projections/things/${idOf(0)}?synchronous=true`), clients: 2 },
    ],
  };
}

function* many(count: number, make: (index: number) => Json, type = "thing"): Iterable<Step> {
  yield importEvents(repeat(count, (i) => [type, idOf(i), "was_seen", make(i)] as const));
}

/** One state of several MB: 80 keys of 90 KB each. */
function* large(make: (index: number) => Json): Iterable<Step> {
  for (let i = 0; i < 80; i++) yield write("thing", idOf(0), "was_seen", { [`t${i}`]: make(i) });
}

function numbersFrom(from: number): Json {
  return repeat(9_000, (i) => ({ n: from * 9_000 + i }));
}

/** Merges texts with one hash into the keys of a map: 6,000 of them. */
function mapOfOneHash(): Attack {
  const spec = () => specOf({ thing: { was_seen: eventType(setEach(1_500)) } });
  const texts = (at: number) => collidingTexts(1_500, 9_000_000 + 1_500 * (at % 4));
  return {
    name: "rows of keys with one hash",
    does: "a row shows a map of 6,000 keys that share a bucket; it changes, and is exported",
    needs: NEEDS,
    spec,
    *prepare(): Iterable<Step> {
      for (let at = 0; at < 4; at++) yield write("thing", idOf(0), "was_seen", texts(at));
      yield deployProjection({
        name: "things",
        for_each: "thing",
        sources: { thing: "$key" },
        select: { map: "$.thing.map" },
      });
    },
    waves: [
      {
        request: (turn) => write("thing", idOf(0), "was_seen", texts(turn)),
        clients: 1,
        pauseMs: 300,
      },
      { request: read(`/_projections/things/${idOf(0)}?synchronous=true`), clients: 2 },
      { request: read("/_projections/things/export.csv"), clients: 2 },
      { request: query("select count(*) as n from things"), clients: 2 },
    ],
  };
}

export const PROJECTIONS: AttackGroup = {
  title: "projections",
  attacks: [
    mapOfOneHash(),
    view({
      name: "view of lookups in maps",
      does: "each of 9,000 elements is looked up among 9,000 others",
      fill: () => [
        write("thing", idOf(0), "was_seen", { list: repeat(9_000, (i) => -i) }),
        write("thing", idOf(0), "was_seen", { all: numbersFrom(0) }),
      ],
      select: () => ({
        found: {
          $map: "$.thing.list",
          as: "each",
          to: { $lookup: "$.thing.all", where: { n: "$each" }, select: "$item.n" },
        },
      }),
      touch: (turn) => write("thing", idOf(0), "was_seen", { n: turn }),
    }),
    view({
      name: "view of sums in maps",
      does: "the sum of 9,000 numbers, for each of 9,000 elements",
      fill: () => [
        write("thing", idOf(0), "was_seen", { list: repeat(9_000, (i) => i) }),
        write("thing", idOf(0), "was_seen", { all: numbersFrom(0) }),
      ],
      select: () => ({ sums: { $map: "$.thing.list", to: { $sum: "$.thing.all[*].n" } } }),
      touch: (turn) => write("thing", idOf(0), "was_seen", { n: turn }),
    }),
    view({
      name: "view of 199 walks",
      does: "199 columns that each walk over 9,000 elements",
      fill: () => [write("thing", idOf(0), "was_seen", { list: numbersFrom(0) })],
      select: () =>
        Object.fromEntries(repeat(190, (i) => [`c${i}`, { $sum: "$.thing.list[*].n" }])),
      touch: (turn) => write("thing", idOf(0), "was_seen", { n: turn }),
    }),
    view({
      name: "view of a state of 7 MB",
      does: "rows of a large state, which changes all the time",
      fill: () => large((i) => `${i}${"a".repeat(90_000)}`),
      select: () => ({ a: "$.thing.t1" }),
      touch: (turn) => write("thing", idOf(0), "was_seen", { n: turn }),
    }),
    view({
      name: "view of 1000 sources",
      does: "each row shows 900 other aggregates of 10 KB",
      fill: function* () {
        yield* many(900, (i) => ({ t: `${i}${"a".repeat(10_000)}` }), "part");
        yield* many(20, () => ({ parts: repeat(900, idOf) }));
      },
      sources: { parts: { type: "part", id: "$.thing.parts", mode: "array" } },
      select: () => ({ count: { $count: "$.parts" }, n: { $sum: "$.parts[*].n" } }),
      touch: (turn) => write("part", idOf(turn % 900), "was_seen", { n: turn }),
    }),
    view({
      name: "view of parts that are not cached",
      does: "each row shows 900 aggregates of 60 KB of empty objects, which are folded anew",
      spec: () => ({ ...plainSpec(), modules: { never_cache: ["part"] } }),
      fill: function* () {
        for (let i = 0; i < 900; i++) {
          yield write("part", idOf(i), "was_seen", { v: repeat(20_000, () => ({})) });
        }
        yield* many(4, () => ({ parts: repeat(900, idOf) }));
      },
      sources: { parts: { type: "part", id: "$.thing.parts", mode: "array" } },
      select: () => ({ count: { $count: "$.parts" }, n: { $sum: "$.parts[*].n" } }),
      touch: (turn) => write("part", idOf(turn % 900), "was_seen", { n: turn }),
    }),
    view({
      name: "view that one write changes everywhere",
      does: "10,000 rows include one singleton, which is written without a pause",
      fill: function* () {
        yield write("setting", "global", "was_seen", { n: 0 });
        yield* many(10_000, (i) => ({ n: i }));
      },
      include: { setting: "setting:global" },
      select: () => ({ n: "$.setting.n" }),
      touch: (turn) => write("setting", "global", "was_seen", { n: turn }),
    }),
    view({
      name: "view of rows of 1 MB",
      does: "rows that are as large as they may be, or a little larger",
      fill: () =>
        [0, 1].flatMap((k) =>
          repeat(
            6,
            (i) => write("thing", idOf(k), "was_seen", { [`t${i}`]: `${i}${"a".repeat(95_000)}` }),
          )
        ),
      select: () => Object.fromEntries(repeat(12, (i) => [`c${i}`, `$.thing.t${i % 6}`])),
      touch: (turn) => write("thing", idOf(turn % 2), "was_seen", { n: turn }),
    }),
    {
      name: "rows of 1 MB that shrink",
      does: "128 rows of 1 MB of empty objects become short with one write, and long again",
      needs: NEEDS,
      spec: plainSpec,
      *prepare() {
        yield write("setting", "global", "was_seen", { v: repeat(1_700, () => ({})) });
        yield* many(128, (i) => ({ n: i }));
        yield deployProjection({
          name: "things",
          for_each: "thing",
          sources: { thing: "$key" },
          include: { s: "setting:global" },
          select: Object.fromEntries(repeat(198, (i) => [`c${i}`, "$.s.v"])),
        });
        yield untilReady();
      },
      waves: [{
        request: (turn) =>
          write("setting", "global", "was_seen", {
            v: repeat(turn % 2 === 0 ? 0 : 1_700, () => ({})),
          }),
        clients: 1,
        pauseMs: 3_000,
      }],
      seconds: 10,
    },
    {
      name: "projections deployed and deleted",
      does: "a projection over 5,000 rows is deployed, changed and deleted without a pause",
      needs: NEEDS,
      spec: plainSpec,
      prepare: () => many(5_000, (i) => ({ n: i, t: "a".repeat(500) })),
      waves: [
        {
          request: (turn) =>
            turn % 3 === 2 ? deleteProjection("things") : deployProjection({
              name: "things",
              for_each: "thing",
              sources: { thing: "$key" },
              select: { [`n${turn}`]: "$.thing.n" },
            }),
          clients: 2,
        },
      ],
    },
    {
      name: "100 projections built at once",
      does: "as many projections as there may be, over 2,000 rows",
      needs: NEEDS,
      spec: plainSpec,
      prepare: () => many(2_000, (i) => ({ n: i })),
      waves: [{
        request: (turn) => deployProjection(numbersOf(`things${turn}`)),
        clients: 1,
        times: 100,
      }],
      seconds: 10,
    },
    {
      name: "rebuilds after deploys",
      does: "a handler changes again and again under a projection of large states",
      needs: NEEDS,
      spec: plainSpec,
      *prepare() {
        yield* large((i) => `${i}${"a".repeat(90_000)}`);
        yield* many(2_000, (i) => ({ n: i }));
        yield deployProjection(numbersOf("things"));
        yield untilReady();
      },
      waves: [{
        request: (turn) => {
          const handler = { merge: { target: "", value: { $merge: ["$.data", { turn }] } } };
          const spec = plainSpec();
          spec.aggregate_types.thing.events.was_seen = eventType(handler);
          return deploySpec(spec);
        },
        clients: 1,
        pauseMs: 300,
      }],
    },
    {
      name: "deploys of many singletons under projections",
      does: "a spec with 50,000 singletons changes again and again under 60 projections",
      needs: NEEDS,
      spec: plainSpec,
      *prepare() {
        yield* many(20, (i) => ({ n: i }));
        for (let at = 0; at < 60; at++) {
          yield deployProjection(numbersOf(`things${at}`));
        }
        yield untilReady();
      },
      waves: [{
        request: (turn) => {
          const singletons = repeat(50_000, (i) => `single_${(i * 7_919) % 50_000}_${turn}`);
          return deploySpec({ ...plainSpec(), singletons });
        },
        clients: 1,
        pauseMs: 300,
      }],
    },
    {
      name: "rebuild of states that are slow to fold",
      does: "the projection of a state whose fold compares 320,000 keys 1,500 times",
      needs: NEEDS,
      spec: () => {
        const judged = repeat(1_500, () => ({
          if: { eq: ["@.big", { zz: 1 }] },
          then: { set: { target: "a", value: 1 } },
        }));
        const grown = eventType({ merge: { target: "big", value: "$.data" } });
        return specOf({ thing: { had_grown: grown, was_seen: eventType(judged) } });
      },
      *prepare() {
        for (let event = 0; event < 40; event++) {
          const keys = repeat(8_000, (i) => [`k${event * 8_000 + i}`, 0]);
          yield write("thing", idOf(0), "had_grown", Object.fromEntries(keys));
        }
        yield write("thing", idOf(0), "was_seen", {});
      },
      waves: [
        {
          request: deployProjection({
            name: "things",
            for_each: "thing",
            sources: { thing: "$key" },
            select: { n: "$.thing.a" },
          }),
          clients: 1,
          times: 1,
        },
        { request: write("thing", idOf(0), "was_seen", {}), clients: 1, pauseMs: 200 },
      ],
    },
    {
      name: "rebuilds of states of 30 MB",
      does:
        "a handler changes again and again over four states that are nearly as large as they may be",
      needs: NEEDS,
      spec: () => statesOf30MB(0),
      *prepare() {
        for (let at = 0; at < 20; at++) {
          const events = repeat(62, () => ({
            type: "was_listed",
            data: { v: `${at}${"a".repeat(95_000)}` },
          }));
          yield writeMany("thing", idOf(at % 4), events);
        }
      },
      waves: [
        { request: (turn) => deploySpec(statesOf30MB(turn + 1)), clients: 1, pauseMs: 1_000 },
        { request: read(`/thing/${idOf(0)}?at_length=5`), clients: 2 },
      ],
      seconds: 12,
    },
    ofOneHundred(
      "short pages of long projections",
      "300 readers of one of 100 projections of 30 KB each",
      { path: "/api/instances/{instance}/projections?environment=test&limit=1", as: "operator" },
      300,
    ),
    ofOneHundred(
      "pages of long projections",
      "100 readers of all of them",
      { path: "/api/instances/{instance}/projections?environment=test", as: "operator" },
    ),
    ofOneHundred(
      "deletes of no projection",
      "a projection that is not there is deleted by 200 clients beside 100 others",
      deleteProjection("none"),
      200,
    ),
    ofOneHundred(
      "deploys of the same projection",
      "one of 100 projections is deployed again as it is by 200 clients",
      deployProjection(long(3)),
      200,
    ),
    ofOneHundred(
      "deploys of many long projections",
      "100 projections of 30 KB are changed by as many clients",
      (turn) => deployProjection(long(turn % 100, 100 + turn % 99)),
    ),
    {
      name: "rows without a pause",
      does: "16 readers compute the same row anew, of a state of 10,000 events",
      needs: "read key",
      spec: () =>
        specOf({ thing: { was_seen: eventType({ append: { target: "list", value: 1 } }) } }),
      *prepare() {
        yield writeMany(
          "thing",
          idOf(0),
          repeat(limits.batchEventsMax, () => ({ type: "was_seen" })),
        );
        yield deployProjection({
          name: "things",
          for_each: "thing",
          sources: { thing: "$key" },
          select: { n: { $count: "$.thing.list" } },
        });
      },
      waves: [{ request: read(`/_projections/things/${idOf(0)}?synchronous=true`), clients: 16 }],
    },
  ],
};

/** A projection with a document of 30 KB; there may be 100 of them. */
function long(number: number, columns = 199): Json {
  const select = repeat(columns, (i) => [`c${i}`, `$.thing.${"abcdefghij".repeat(13)}${i}`]);
  return { ...numbersOf(`long${number}`), select: Object.fromEntries(select) };
}

/** Clients that all ask for something of one of 100 long projections. */
function ofOneHundred(
  name: string,
  does: string,
  request: Attack["waves"][number]["request"],
  clients = 100,
): Attack {
  return {
    name,
    does,
    needs: NEEDS,
    spec: plainSpec,
    prepare: () => repeat(100, (i) => deployProjection(long(i))),
    waves: [{ request, clients }],
  };
}

/** The smallest projection of things: the number in each. */
function numbersOf(name: string): Record<string, Json> {
  return {
    name,
    for_each: "thing",
    sources: { thing: "$key" },
    select: { n: "$.thing.n" },
  };
}
